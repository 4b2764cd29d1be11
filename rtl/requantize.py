"""The requantizer: a sum, a multiplier and a shift become a small integer, by any rounding family."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .delay import delay
from .numeric import Family
from .rounding_shift import RoundingShift
from .significant_round import SignificantRound
from .wide_multiplier import WideMultiplier

__all__ = ["Requantizer"]


class Requantizer(wiring.Component):
    """``(v*m + R) >> t`` by the family of the tile.

    ``float32`` is the same with the sum and the product each rounded to 24 significant bits, ties to even, and the
    shift too: a float32 scale is its significand m and a shift.

    Parameters
    ----------
    config : EngineConfig
    v_width : int
        Bits of the signed sum.

    Members
    -------
    v, float32 : In, the sum and whether its family is ``float32`` (only where that is built)
    multiplier : In, with the cycle :attr:`multiplier_stage`
    t : In, with the cycle :attr:`shift_stage`
    family : In, with the cycle :attr:`family_stage`
    q, below, above : Out, as those of :class:`RoundingShift`, :attr:`latency` cycles after ``v``

    Latency
    -------
    :attr:`latency` cycles, one value a cycle.
    """

    def __init__(self, config, v_width):
        epilogue = config.epilogue
        self._unused = 31 - epilogue.multiplier_width  # low bits of the Q0.31 multiplier that are not stored
        self._floats = Family.float32 in epilogue.families
        self._round_v = self._round_p = None
        self.multiplier_stage = 0
        if self._floats:
            self._round_v = SignificantRound(v_width)
            self.multiplier_stage = self._round_v.latency
            v_width += 1
        self._multiplier = WideMultiplier(v_width, epilogue.multiplier_width)
        p_width = v_width + epilogue.multiplier_width
        self.shift_stage = self.multiplier_stage + self._multiplier.latency
        if self._floats:
            self._round_p = SignificantRound(p_width)
            self.shift_stage += self._round_p.latency
            p_width += 1
        families = [Family.half_even if family is Family.float32 else family for family in epilogue.families]
        self._shift = RoundingShift(max(p_width + self._unused, 33), config.output_type.width, families)
        self.family_stage = self.shift_stage + RoundingShift.FAMILY_STAGE
        self.latency = self.shift_stage + RoundingShift.LATENCY
        members = {
            "v": In(self._round_v.i.shape() if self._floats else self._multiplier.v.shape()),
            "multiplier": In(epilogue.multiplier_width),
            "t": In(epilogue.SHIFT_WIDTH),
            "family": In(self._shift.family.shape()),
            "q": Out(self._shift.q.shape()),
            "below": Out(1),
            "above": Out(1),
        }
        if self._floats:
            members["float32"] = In(1)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.wide_multiplier, m.submodules.shift = self._multiplier, self._shift
        v, p = self.v, self._multiplier.p
        unused = self._unused
        if self._floats:
            m.submodules.round_v, m.submodules.round_p = self._round_v, self._round_p
            late = delay(m, self.float32, self.multiplier_stage + self._multiplier.latency, "float32")
            m.d.comb += [
                self._round_v.i.eq(v),
                self._round_v.enable.eq(self.float32),
                self._round_p.i.eq(p),
                self._round_p.enable.eq(late),
            ]
            v, p = self._round_v.o, self._round_p.o
        aligned = Cat(Const(0, unused), p).as_signed() if unused else p
        if self._floats and unused:
            # A significand is a whole number, not the high bits of a Q0.31 multiplier.
            is_float = delay(m, late, self._round_p.latency, "is_float32")
            aligned = Mux(is_float, p, aligned)
        m.d.comb += [
            self._multiplier.v.eq(v),
            self._multiplier.m.eq(self.multiplier),
            self._shift.p.eq(aligned),
            self._shift.t.eq(self.t),
            self._shift.family.eq(self.family),
            self.q.eq(self._shift.q),
            self.below.eq(self._shift.below),
            self.above.eq(self._shift.above),
        ]
        return m
