"""The rounding right shift: every fixed-point family from one shifter and one carry."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .delay import delay
from .numeric import Family

__all__ = ["RoundingShift"]


class RoundingShift(wiring.Component):
    """``(p + R) >> t`` for the R of any built family, without an adder as wide as ``p``.

    The shifter keeps one bit below the result (the half) and summarizes what it drops: whether any dropped bit is set,
    and, among those from bit 31 of ``p`` up, whether all are set, or all differ from the sign. With these every family
    is the floor or one more. The double rounding of ``gemmlowp`` and ``ruy`` (``t > 31``) is bit 30 of ``p`` carried,
    through dropped ones, or borrowed, through dropped zeros. A summary that no built family reads is not built.

    Parameters
    ----------
    p_width : int
        Bits of the signed product, 33 or more.
    bits : int
        Results from ``-2**bits`` to ``2**bits`` come out; of others only on which side they lie. With the bits of the
        element it ends in, no output zero point could bring such a result into range.
    families : tuple of Family
        What ``family`` indexes.

    Members
    -------
    p : ``In(signed(p_width))``
    t : ``In(6)``, with ``p``
    family : In, with the cycle :attr:`FAMILY_STAGE`
    q : ``Out(signed(bits + 2))``, the result where neither ``below`` nor ``above`` is set
    below, above : ``Out(1)``, the result lies beyond ``q``'s range

    Latency
    -------
    :attr:`LATENCY` cycles, one value a cycle.
    """

    _STEPS = (32, 16, 8, 4, 2, 1)
    LATENCY = len(_STEPS) + 2
    #: Cycles after ``p`` in which ``family`` is read.
    FAMILY_STAGE = len(_STEPS)

    def __init__(self, p_width, bits, families):
        self._families = families
        self._bits = bits
        super().__init__(
            {
                "p": In(signed(p_width)),
                "t": In(6),
                "family": In(max(1, (len(families) - 1).bit_length())),
                "q": Out(signed(bits + 2)),
                "below": Out(1),
                "above": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        kept = self._bits + 2  # a sign, the result's bits and its half
        shifting = len(self._STEPS)
        negative = delay(m, self.p[-1], shifting, "negative")
        far = self.t[5]
        # Of the bits below 31, which a shift by 32 drops, gemmlowp and ruy round by the highest.
        bit30, below30 = Signal(reset_less=True), Signal(reset_less=True)
        m.d.sync += [bit30.eq(far & self.p[30]), below30.eq(far & self.p[:30].any())]

        # Each stage shifts by one bit of t, the highest first, and keeps the bits that later ones may still bring down.
        value = Cat(0, self.p).as_signed()
        flags = {"lost": Const(0), "any_set": Const(0), "all_set": Const(1), "all_differ": Const(1)}
        for stage, step in enumerate(self._STEPS, 1):
            amount = delay(m, self.t[len(self._STEPS) - stage], stage - 1, f"t_{stage}")
            value, here = self._shift(m, stage, value, step, amount, kept + step - 1)
            if stage == 1:
                here = {"lost": here["lost"]}  # bit30 and below30 tell what it drops
            flags = {name: _JOIN[name](flag, here[name]) if name in here else flag for name, flag in flags.items()}
            if stage < len(self._STEPS):
                # What a stage loses is summed up while the next one shifts.
                held = {name: Signal(name=f"{name}_{stage}", reset_less=True) for name in flags}
                m.d.sync += [held[name].eq(flag) for name, flag in flags.items()]
                flags = held
        far = delay(m, far, shifting, "far")
        bit30, below30 = delay(m, bit30, shifting - 1, "bit30"), delay(m, below30, shifting - 1, "below30")

        # The stage behind them: whether to round up.
        half = value[0]
        sticky = flags["any_set"] | bit30 | below30
        ups = {
            Family.half_up: half,
            Family.half_away: half & (~negative | sticky),
            # The first of two roundings reaches the half where all between bit 30 and it carries, or borrows.
            Family.gemmlowp: Mux(far & (bit30 ^ negative) & flags["all_differ"], ~negative, half),
            Family.ruy: half | (far & bit30 & flags["all_set"]),
            Family.floor: 0,
            Family.to_zero: negative & (half | sticky),
            Family.half_even: half & (sticky | value[1]),
        }
        up = Signal(reset_less=True)
        with m.Switch(self.family):
            for index, family in enumerate(self._families[1:], 1):
                with m.Case(index):
                    m.d.sync += up.eq(ups[family])
            with m.Default():
                m.d.sync += up.eq(ups[self._families[0]])

        # The last stage: round.
        q = Signal.like(self.q, reset_less=True)
        below, above = (Signal(name=f"{side}_held", reset_less=True) for side in ("below", "above"))
        negative, lost = delay(m, negative, 1, "sign"), delay(m, flags["lost"], 1, "lost_all")
        m.d.sync += [
            q.eq(delay(m, value[1:].as_signed(), 1, "unrounded") + up),
            below.eq(lost & negative),
            above.eq(lost & ~negative),
        ]
        m.d.comb += [self.q.eq(q), self.below.eq(below), self.above.eq(above)]
        return m

    @staticmethod
    def _shift(m, stage, value, step, amount, width):
        """One stage: ``value``, shifted right by ``step`` where ``amount`` is set, cut to ``width`` bits a cycle later.

        Returns it with flags of the same cycle: the cut lost something; of the dropped bits one was set, all were set,
        all differed from the sign. They are formed from summaries that do not wait for ``amount``.
        """
        result = Signal(signed(width), name=f"value_{stage}", reset_less=True)
        shifted = Signal(name=f"shifted_{stage}", reset_less=True)
        m.d.sync += [result.eq(Mux(amount, value[step:].as_signed(), value)), shifted.eq(amount)]

        def held(name, flag):
            register = Signal(name=f"{name}_{stage}", reset_less=True)
            m.d.sync += register.eq(flag)
            return register

        sign, lower = value[-1], value[:step]

        def mixed(low, high):
            """Whether bits differ from the sign; few enough at a time for two levels of gates."""
            flag = Const(0)
            for start in range(low, high, 8):
                bits = value[start : min(start + 8, high)]
                flag |= held(f"mixed_{start}", (bits ^ sign.replicate(len(bits))).any())
            return flag

        # Bits that the shift brings down do not get lost by it.
        top = min(width - 1 + step, len(value))
        lost = mixed(top, len(value)) | (mixed(width - 1, top) & ~shifted)
        return result, {
            "lost": lost,
            "any_set": held("some", lower.any()) & shifted,
            "all_set": held("every", lower.all()) | ~shifted,
            "all_differ": held("differ", (lower ^ sign.replicate(step)).all()) | ~shifted,
        }


#: How a flag of the bits dropped so far and that of the bits dropped next become one.
_JOIN = {
    "lost": lambda a, b: a | b,
    "any_set": lambda a, b: a | b,
    "all_set": lambda a, b: a & b,
    "all_differ": lambda a, b: a & b,
}
