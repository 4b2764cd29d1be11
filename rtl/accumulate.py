"""The accumulation provider: an adder that can leave one addend out, on one carry chain."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .target import Target

__all__ = ["MaskedAdder"]


class MaskedAdder(wiring.Component):
    """``o = (keep ? a : 0) + b + carry``, combinational.

    Parameters
    ----------
    width : int
        Bits of ``a`` and ``b``.

    Members
    -------
    a, b : ``In(width)``
    keep, carry : ``In(1)``
    o : ``Out(width + 1)``, with the carry out as its highest bit
    """

    def __init__(self, width):
        super().__init__({"a": In(width), "b": In(width), "keep": In(1), "carry": In(1), "o": Out(width + 1)})

    def elaborate(self, platform):
        m = Module()
        if platform is Target.ecp5:
            self._ecp5_chain(m)
        else:
            # The carry enters below the least significant bit, so that one carry chain takes it in.
            m.d.comb += self.o.eq((Cat(1, Mux(self.keep, self.a, 0)) + Cat(self.carry, self.b))[1:])
        return m

    def _ecp5_chain(self, m):
        """``CCU2C`` cells whose tables do the masking too, which costs inferred adders a LUT a bit.

        A cell's table gives the sum's bit without carry; where that is 0, the low four entries, a function of A and B
        alone, give the carry. With C = keep, D = 1 and the carry equal to B the table is 0x6C (``(A & C) ^ B``) over
        0xC (``B``). The first pair adds 1 to the carry input, which turns it into a carry.
        """
        ones = Const(1)
        pad = len(self.o) % 2
        a = Cat(self.carry, self.a, Const(0, 1 + pad))
        b = Cat(Const(1, 1), self.b, Const(0, 1 + pad))
        keep = Cat(Const(1, 1), self.keep.replicate(len(a) - 1))
        total = Signal(len(a))
        carries = Signal(len(a) // 2)
        for pair in range(len(a) // 2):
            low, high = 2 * pair, 2 * pair + 1
            m.submodules[f"pair_{pair}"] = Instance(
                "CCU2C",
                p_INIT0=Const(0x6CCC, 16),
                p_INIT1=Const(0x6CCC, 16),
                p_INJECT1_0="NO",
                p_INJECT1_1="NO",
                i_CIN=carries[pair - 1] if pair else Const(0),
                i_A0=a[low],
                i_B0=b[low],
                i_C0=keep[low],
                i_D0=ones,
                i_A1=a[high],
                i_B1=b[high],
                i_C1=keep[high],
                i_D1=ones,
                o_S0=total[low],
                o_S1=total[high],
                o_COUT=carries[pair],
            )
        m.d.comb += self.o.eq(total[1:])
