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
        widest = max(len(self.a), len(self.b))
        if platform is Target.ice40 and 8 < widest <= 16:
            m.submodules.block = self._ice40_block(m, self.p)
            return m
        output = Signal.like(self.p)
        fabric = Signal.like(self.p, reset_less=True)
        m.d.sync += fabric.eq(output)
        m.d.comb += self.p.eq(fabric)
        if platform is Target.ecp5 and widest <= 18:
            m.submodules.block = self._ecp5_block(m, output)
        elif platform is Target.ice40 and widest <= 8:
            m.submodules.block = self._ice40_block(m, output)
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

    def _ice40_block(self, m, output):
        """An ``SB_MAC16`` with all its registers; its adder adds 0, for the sake of the register behind it.

        For factors of up to 8 bits it is the lower half of a block, with three registers; the flow joins two of them.
        Otherwise it is a whole one, which has the fourth register too: logic cells are what an UP5K runs out of.
        """
        half = max(len(self.a), len(self.b)) <= 8
        a, b, p = Signal(signed(16)), Signal(signed(16)), Signal(32)
        width = 8 if half else 16
        m.d.comb += [a[:width].eq(self.a), b[:width].eq(self.b), output.eq(p)]
        registers = ("A_REG", "B_REG", "TOP_8x8_MULT_REG", "BOT_8x8_MULT_REG")
        wide = {f"p_PIPELINE_16x16_MULT_REG{number}": Const(not half, 1) for number in (1, 2)}
        idle = (
            "AHOLD",
            "BHOLD",
            "CHOLD",
            "DHOLD",
            "IRSTTOP",
            "IRSTBOT",
            "ORSTTOP",
            "ORSTBOT",
            "OLOADTOP",
            "OLOADBOT",
            "ADDSUBTOP",
            "ADDSUBBOT",
            "OHOLDTOP",
            "OHOLDBOT",
            "CI",
            "ACCUMCI",
            "SIGNEXTIN",
        )
        # The adders take the products and the constants C and D, and give what their registers hold.
        adders = {
            "OUTPUT_SELECT": Const(1, 2),
            "ADDSUB_LOWERINPUT": Const(1 if half else 2, 2),
            "ADDSUB_UPPERINPUT": Const(1, 1),
            "ADDSUB_CARRYSELECT": Const(0, 2),
        }
        return Instance(
            "SB_MAC16",
            **{f"p_{name}": Const(1, 1) for name in (*registers, "A_SIGNED", "B_SIGNED")},
            **wide,
            **{f"p_{side}{name}": value for side in ("TOP", "BOT") for name, value in adders.items()},
            **{f"p_{name}": Const(0, 1) for name in ("NEG_TRIGGER", "C_REG", "D_REG")},
            p_MODE_8x8=Const(half, 1),
            **{f"i_{name}": Const(0) for name in idle},
            i_CLK=ClockSignal(),
            i_CE=Const(1),
            i_A=a,
            i_B=b,
            i_C=Const(0, 16),
            i_D=Const(0, 16),
            o_O=p,
        )
