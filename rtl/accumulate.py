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
    carry_in, carry_out : bool
        Whether there is a carry input, else 0, and whether the sum has one bit more than ``a`` and ``b``.

    Members
    -------
    a, b : ``In(width)``
    keep : ``In(1)``
    carry : ``In(1)``, where there is one
    o : ``Out(width + carry_out)``
    """

    def __init__(self, width, *, carry_in=True, carry_out=True):
        members = {"a": In(width), "b": In(width), "keep": In(1), "o": Out(width + carry_out)}
        if carry_in:
            members["carry"] = In(1)
        super().__init__(members)
        self._carry_in = carry_in

    def elaborate(self, platform):
        m = Module()
        if platform is Target.ecp5:
            self._ecp5_chain(m)
        else:
            kept = Mux(self.keep, self.a, 0)
            # The carry enters below the least significant bit, so that one carry chain takes it in.
            total = (Cat(1, kept) + Cat(self.carry, self.b))[1:] if self._carry_in else kept + self.b
            m.d.comb += self.o.eq(total)
        return m

    def _ecp5_chain(self, m):
        """``CCU2C`` cells whose tables do the masking too, which costs inferred adders a LUT a bit.

        A cell's table gives the sum's bit without carry; where that is 0, the low four entries, a function of A and B
        alone, give the carry. With C = keep, D = 1 and the carry equal to B the table is 0x6C (``(A & C) ^ B``) over
        0xC (``B``). Adding 1 to the carry input turns it into a carry.
        """
        ones = Const(1)
        width = len(self.o)
        a, b, keep = Signal(width), Signal(width), self.keep.replicate(width)
        m.d.comb += [a.eq(self.a), b.eq(self.b)]
        if self._carry_in:
            a, b, keep = Cat(self.carry, a), Cat(Const(1, 1), b), Cat(Const(1, 1), keep)
        if len(a) % 2:
            a, b, keep = (Cat(bits, Const(0, 1)) for bits in (a, b, keep))
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
        m.d.comb += self.o.eq(total[1:] if self._carry_in else total)
