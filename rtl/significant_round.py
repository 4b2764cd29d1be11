"""Rounding to a number of significant bits: what a float32 register does to an integer."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .adder import PipelinedAdder
from .delay import delay

__all__ = ["SignificantRound"]


class SignificantRound(wiring.Component):
    """Rounds an integer to 24 significant bits, ties to even, or passes it on.

    With d bits too many, the result is ``(x + 2**(d-1) - 1 + bit d of x)`` without its low d bits. Where the value's
    magnitude reaches, as a thermometer code, gives the addend and the mask of all d at once: no shifter is needed.
    A negative power of two counts as one bit shorter than it is, which is harmless: it has no bits to round.

    Parameters
    ----------
    width : int
        Bits of the signed value; the result has one more.

    Members
    -------
    i : ``In(signed(width))``
    enable : ``In(1)``, with ``i``; 0 passes the value on
    o : ``Out(signed(width + 1))``, :attr:`latency` cycles later

    Latency
    -------
    :attr:`latency` cycles, one value a cycle.
    """

    #: Significant bits of a float32.
    BITS = 24

    def __init__(self, width):
        self._adder = PipelinedAdder(width, width, width + 1)
        self.latency = 3 + self._adder.latency
        super().__init__({"i": In(signed(width)), "enable": In(1), "o": Out(signed(width + 1))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.adder = adder = self._adder
        magnitude = len(self.i) - 1
        extra = max(0, magnitude - self.BITS)  # most bits too many

        # reaches[k]: the magnitude has a bit at BITS + k or above it, so that more than k bits are too many.
        flipped = Signal(magnitude, reset_less=True)
        m.d.sync += flipped.eq(self.i[:-1] ^ self.i[-1].replicate(magnitude))
        enable = delay(m, self.enable, 1, "enable")
        reaches = Signal(extra + 1, reset_less=True)
        m.d.sync += reaches.eq(Cat(flipped[self.BITS + k :].any() & enable for k in range(extra)))

        value = delay(m, self.i, 2, "value")
        even = Signal()  # bit d of the value, where d is not 0
        m.d.comb += even.eq(Cat(reaches[k] & ~reaches[k + 1] & value[k + 1] for k in range(extra)).any())
        # 2**(d-1) - 1 is a thermometer code too.
        addend = Signal(signed(len(self.i)), reset_less=True)
        m.d.sync += addend.eq((reaches[1:extra] + even) if extra else 0)
        m.d.comb += [adder.a.eq(delay(m, value, 1, "addend")), adder.b.eq(addend)]

        mask = delay(m, reaches, 1 + adder.latency, "mask")
        m.d.comb += self.o.eq(Cat(adder.o[:extra] & ~mask[:extra], adder.o[extra:]).as_signed())
        return m
