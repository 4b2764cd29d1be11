"""The multiplier provider: the one place that knows a device's multipliers."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Multiplier"]


class Multiplier(wiring.Component):
    """Signed multiplier with input, product and output registers, none of which is reset.

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
    3 cycles, one product a cycle: the depth at which a device's multiplier block runs at its full speed.
    """

    LATENCY = 3

    def __init__(self, a_width, b_width):
        super().__init__({"a": In(signed(a_width)), "b": In(signed(b_width)), "p": Out(signed(a_width + b_width))})

    def elaborate(self, platform):
        m = Module()
        a = Signal.like(self.a, reset_less=True)
        b = Signal.like(self.b, reset_less=True)
        product = Signal.like(self.p, reset_less=True)
        output = Signal.like(self.p, reset_less=True)
        m.d.sync += [a.eq(self.a), b.eq(self.b), product.eq(a * b), output.eq(product)]
        m.d.comb += self.p.eq(output)
        return m
