"""The multiplier provider: the one place that knows a device's multipliers."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .target import Target

__all__ = ["Multiplier"]


class Multiplier(wiring.Component):
    """Signed multiplier with input, product and two output registers, none of which is reset.

    The last register lies in the fabric: multiplier blocks stand far from the adders that follow them.

    Parameters
    ----------
    a_width, b_width : int
        Bits of the two signed factors.

    Members
    -------
    a, b : ``In(signed(a_width))``, ``In(signed(b_width))``
    p : ``Out(signed(a_width + b_width))``

    Latency
    -------
    4 cycles, one product a cycle: the depth at which a device's multiplier block runs at its full speed.
    """

    LATENCY = 4

    def __init__(self, a_width, b_width):
        super().__init__({"a": In(signed(a_width)), "b": In(signed(b_width)), "p": Out(signed(a_width + b_width))})

    def elaborate(self, platform):
        m = Module()
        output = Signal.like(self.p)
        fabric = Signal.like(self.p, reset_less=True)
        m.d.sync += fabric.eq(output)
        m.d.comb += self.p.eq(fabric)
        if platform is Target.ecp5 and max(len(self.a), len(self.b)) <= 18:
            m.submodules.block = self._ecp5_block(m, output)
        else:
            self._portable(m, output)
        return m

    def _portable(self, m, output):
        a = Signal.like(self.a, reset_less=True)
        b = Signal.like(self.b, reset_less=True)
        product = Signal.like(self.p, reset_less=True)
        registered = Signal.like(self.p, reset_less=True)
        m.d.sync += [a.eq(self.a), b.eq(self.b), product.eq(a * b), registered.eq(product)]
        m.d.comb += output.eq(registered)

    def _ecp5_block(self, m, output):
        """An ``MULT18X18D`` with all its registers: inferred ones use none and reach half the clock."""
        a, b, p = Signal(signed(18)), Signal(signed(18)), Signal(36)
        m.d.comb += [a.eq(self.a), b.eq(self.b), output.eq(p)]
        registers = {f"p_REG_{name}_CLK": "CLK0" for name in ("INPUTA", "INPUTB", "PIPELINE", "OUTPUT")}
        return Instance(
            "MULT18X18D",
            **registers,
            p_GSR="DISABLED",
            p_SOURCEB_MODE="B_INPUT",
            i_CLK0=ClockSignal(),
            i_CE0=Const(1),
            i_RST0=Const(0),
            i_SIGNEDA=Const(1),
            i_SIGNEDB=Const(1),
            i_SOURCEA=Const(0),
            i_SOURCEB=Const(0),
            **{f"i_A{index}": a[index] for index in range(18)},
            **{f"i_B{index}": b[index] for index in range(18)},
            **{f"i_C{index}": Const(0) for index in range(18)},
            **{f"o_P{index}": p[index] for index in range(36)},
        )
