"""The rounding right shift: every fixed-point family from one shifter and a two-bit addend."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .delay import delay
from .numeric import Family

__all__ = ["RoundingShift"]


class RoundingShift(wiring.Component):
    """``(p + R) >> t`` saturated, for the R of any built family, without an adder as wide as ``p``.

    The shifter keeps one bit below the result (the half) and summarizes what it drops: whether any dropped bit is set,
    and, among those from bit 31 of ``p`` up, whether all are set. That decides a number 0, 1 or 2 to add to the result
    and its half: with ``s = p*2 >> t`` every family is ``(s + addend) >> 1``. The double rounding of ``gemmlowp`` and
    ``ruy`` (``t > 31``) is bit 30 of ``p`` carried, through dropped ones, or borrowed, through dropped zeros.

    Parameters
    ----------
    p_width : int
        Bits of the signed product, 33 or more.
    bits : int
        The result saturates at ``-2**bits`` and ``2**bits``: one bit more than the element it ends in, so that an
        output zero point cannot bring a saturated result back into range.
    families : tuple of Family
        What ``family`` indexes.

    Members
    -------
    p : ``In(signed(p_width))``
    t : ``In(6)``, with ``p``
    family : In, with the cycle :attr:`FAMILY_STAGE`
    q : ``Out(signed(bits + 2))``

    Latency
    -------
    :attr:`LATENCY` cycles, one value a cycle.
    """

    LATENCY = 5
    #: Cycles after ``p`` in which ``family`` is read.
    FAMILY_STAGE = 4

    def __init__(self, p_width, bits, families):
        self._families = families
        self._bits = bits
        super().__init__(
            {
                "p": In(signed(p_width)),
                "t": In(6),
                "family": In(max(1, (len(families) - 1).bit_length())),
                "q": Out(signed(bits + 2)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        kept = self._bits + 2  # a sign, the result's bits and its half

        def fit(name, value, width):
            """The low ``width`` bits of ``value``, and whether that loses something."""
            short = Signal(signed(width), name=name, reset_less=True)
            lost = Signal(name=f"{name}_lost", reset_less=True)
            rest = value[width - 1 :]
            m.d.sync += [short.eq(value), lost.eq(rest.any() & ~rest.all() if width < len(value) else 0)]
            return short, lost

        # Stage 1: by 32 where t > 31. Bit 30 of p is where gemmlowp and ruy round first.
        far = self.t[5]
        doubled = Cat(0, self.p).as_signed()
        s1, lost1 = fit("s1", Mux(far, doubled[32:].as_signed(), doubled), kept + 31)
        far1, bit30, below30 = (Signal(name=n, reset_less=True) for n in ("far1", "bit30", "below30"))
        m.d.sync += [far1.eq(far), bit30.eq(far & self.p[30]), below30.eq(far & self.p[:30].any())]

        # Stages 2 to 4: by 0, 8, 16 or 24; by 0, 2, 4 or 6; by 0 or 1.
        value, lost, any_set, all_set = s1, lost1, Const(0), Const(1)
        for stage, (step, count, amount) in enumerate(((8, 4, self.t[3:5]), (2, 4, self.t[1:3]), (1, 2, self.t[0])), 2):
            amount = delay(m, amount, stage - 1, f"t_stage{stage}")
            choices = Array(value[index * step :].as_signed() for index in range(count))
            width = kept + step - 1
            ones = Array(value[: index * step].all() if index else Const(1) for index in range(count))
            some = Array(value[: index * step].any() if index else Const(0) for index in range(count))
            was_lost, was_any, was_all = lost, any_set, all_set
            shifted = Signal.like(value, name=f"shifted{stage}")
            m.d.comb += shifted.eq(choices[amount])
            value, lost_here = fit(f"s{stage}", shifted, width)
            lost, any_set, all_set = (
                Signal(name=f"{n}{stage}", reset_less=True) for n in ("lost_before", "any_set", "all_set")
            )
            m.d.sync += [lost.eq(was_lost), any_set.eq(was_any | some[amount]), all_set.eq(was_all & ones[amount])]
            lost = lost | lost_here
        negative = delay(m, self.p[-1], 4, "negative")
        far, bit30, below30 = (delay(m, x, 3, n) for x, n in ((far1, "far"), (bit30, "bit30"), (below30, "below30")))

        # Stage 5: round.
        sticky = any_set | bit30 | below30
        up = far & ~negative & bit30 & all_set
        addends = {
            Family.half_up: 1,
            Family.half_away: ~(negative & ~sticky),
            Family.gemmlowp: Mux(up, 2, ~(far & negative & ~bit30 & ~any_set)),
            Family.ruy: Mux(far & bit30 & all_set, 2, 1),
            Family.floor: 0,
            Family.to_zero: Mux(negative, Mux(sticky, 2, 1), 0),
            Family.half_even: sticky | value[1],
        }
        addend = Signal(2)
        with m.Switch(self.family):
            for index, family in enumerate(self._families[1:], 1):
                with m.Case(index):
                    m.d.comb += addend.eq(addends[family])
            with m.Default():
                m.d.comb += addend.eq(addends[self._families[0]])
        q = Signal.like(self.q, reset_less=True)
        extreme = Mux(negative, -1 << self._bits, 1 << self._bits)
        m.d.sync += q.eq(Mux(lost, extreme, (value + addend) >> 1))
        m.d.comb += self.q.eq(q)
        return m
