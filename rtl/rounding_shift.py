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

    LATENCY = 6
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
        negative = delay(m, self.p[-1], 4, "negative")
        far = self.t[5]
        # Of the bits below 31, which a shift by 32 drops, gemmlowp and ruy round by the highest.
        bit30, below30 = Signal(reset_less=True), Signal(reset_less=True)
        m.d.sync += [bit30.eq(far & self.p[30]), below30.eq(far & self.p[:30].any())]

        # Stages 1 to 4 shift, the largest steps first, and keep the bits that later steps may still bring down.
        value = Cat(0, self.p).as_signed()
        lost, any_set, all_set = Const(0), Const(0), Const(1)
        steps = ((32, 2, far), (8, 4, self.t[3:5]), (2, 4, self.t[1:3]), (1, 2, self.t[0]))
        for stage, (step, count, amount) in enumerate(steps, 1):
            amount = delay(m, amount, stage - 1, f"t_{stage}")
            value, lost_here, any_here, all_here = self._shift(m, stage, value, step, count, amount, kept + step - 1)
            if stage == 1:
                any_here, all_here = Const(0), Const(1)  # told apart by bit30 and below30
            if stage < len(steps):
                # What a stage loses is summed up while the next one shifts.
                lost, any_set, all_set = lost | lost_here, any_set | any_here, all_set & all_here
                held = [Signal(name=f"{name}_{stage}", reset_less=True) for name in ("lost", "any_set", "all_set")]
                m.d.sync += [register.eq(flag) for register, flag in zip(held, (lost, any_set, all_set), strict=True)]
                lost, any_set, all_set = held
            else:
                lost, any_set, all_set = lost | lost_here, any_set | any_here, all_set & all_here
        far, bit30, below30 = (
            delay(m, flag, cycles, name)
            for flag, cycles, name in ((far, 4, "far"), (bit30, 3, "bit30"), (below30, 3, "below30"))
        )

        # Stage 5: what to add.
        sticky = any_set | bit30 | below30
        addends = {
            Family.half_up: 1,
            Family.half_away: ~(negative & ~sticky),
            Family.gemmlowp: Mux(far & ~negative & bit30 & all_set, 2, ~(far & negative & ~bit30 & ~any_set)),
            Family.ruy: Mux(far & bit30 & all_set, 2, 1),
            Family.floor: 0,
            Family.to_zero: Mux(negative, Mux(sticky, 2, 1), 0),
            Family.half_even: sticky | value[1],
        }
        addend = Signal(2, reset_less=True)
        with m.Switch(self.family):
            for index, family in enumerate(self._families[1:], 1):
                with m.Case(index):
                    m.d.sync += addend.eq(addends[family])
            with m.Default():
                m.d.sync += addend.eq(addends[self._families[0]])

        # Stage 6: add it.
        negative, lost, value = (
            delay(m, x, 1, name) for x, name in ((negative, "sign"), (lost, "lost_all"), (value, "unrounded"))
        )
        q = Signal.like(self.q, reset_less=True)
        extreme = Mux(negative, -1 << self._bits, 1 << self._bits)
        m.d.sync += q.eq(Mux(lost, extreme, (value + addend) >> 1))
        m.d.comb += self.q.eq(q)
        return m

    @staticmethod
    def _shift(m, stage, value, step, count, amount, width):
        """One stage: ``value`` shifted right by ``step * amount`` and cut to ``width`` bits, in the next cycle.

        Returns it with three flags of the same cycle: the cut lost something, a dropped bit was set, all were. They
        are formed from summaries of ``step`` bits each, so that the amount meets few of them.
        """
        shifted = Signal.like(value, name=f"shifted_{stage}")
        m.d.comb += shifted.eq(Array(value[index * step :].as_signed() for index in range(count))[amount])
        result = Signal(signed(width), name=f"value_{stage}", reset_less=True)
        chosen = Signal(range(count), name=f"amount_{stage}", reset_less=True)
        m.d.sync += [result.eq(shifted), chosen.eq(amount)]
        lost, any_set, all_set = Const(0), Const(0), Const(1)
        for group in range(count):
            upper_end = len(value) if group == count - 1 else width - 1 + (group + 1) * step
            upper = value[width - 1 + group * step : upper_end]
            lower = value[group * step : (group + 1) * step]
            mixed, some, every = (
                Signal(name=f"{name}_{stage}_{group}", reset_less=True) for name in ("mixed", "some", "every")
            )
            m.d.sync += [
                mixed.eq((upper ^ value[-1].replicate(len(upper))).any() if len(upper) else 0),
                some.eq(lower.any()),
                every.eq(lower.all()),
            ]
            lost |= mixed & (chosen <= group)
            if group < count - 1:
                any_set |= some & (chosen > group)
                all_set &= every | (chosen <= group)
        return result, lost, any_set, all_set
