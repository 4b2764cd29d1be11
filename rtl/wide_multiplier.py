"""Accumulator times multiplier: a product wider than one multiplier block."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .adder import PipelinedAdder
from .delay import delay
from .multiplier import Multiplier

__all__ = ["WideMultiplier"]


class WideMultiplier(wiring.Component):
    """Exact product of a signed value and an unsigned multiplier of up to two limbs each.

    Both factors are cut at :attr:`LIMB` bits, which with a sign bit fills an 18-bit multiplier block. The product of
    the two low limbs is shorter than two limbs, so its upper half joins the product of the two high limbs without an
    adder: two additions are left.

    Parameters
    ----------
    v_width : int
        Bits of the signed value, at most 35.
    m_width : int
        Bits of the unsigned multiplier, at most 34.

    Members
    -------
    v : ``In(signed(v_width))``
    m : ``In(m_width)``
    p : ``Out(signed(v_width + m_width))``, :attr:`latency` cycles later

    Latency
    -------
    :attr:`latency` cycles, one product a cycle.
    """

    #: Bits of a limb.
    LIMB = 17

    def __init__(self, v_width, m_width):
        limb = self.LIMB
        if not limb < v_width <= 2 * limb + 1:
            raise ValueError(f"v_width must be in {limb + 1}..{2 * limb + 1}, not {v_width!r}")
        if not 1 <= m_width <= 2 * limb:
            raise ValueError(f"m_width must be in 1..{2 * limb}, not {m_width!r}")
        self._v_high = v_width - limb
        self._m_low, self._m_high = min(m_width, limb), max(0, m_width - limb)
        width = v_width + m_width
        self._cross = PipelinedAdder(limb + 1 + self._m_high + 1, self._v_high + self._m_low + 1, v_width + 3)
        self._final = PipelinedAdder(width - limb, v_width + 3, width - limb)
        self.latency = Multiplier.LATENCY + self._cross.latency + self._final.latency
        super().__init__({"v": In(signed(v_width)), "m": In(m_width), "p": Out(signed(width))})

    def elaborate(self, platform):
        m = Module()
        limb = self.LIMB
        m.submodules.cross, m.submodules.final = cross, final = self._cross, self._final
        v_low, v_high = self.v[:limb], self.v[limb:].as_signed()
        m_low, m_high = self.m[:limb], self.m[limb:]

        def product(name, v, multiplier):
            m.submodules[name] = unit = Multiplier(len(v) + (not v.shape().signed), len(multiplier) + 1)
            m.d.comb += [unit.a.eq(v), unit.b.eq(multiplier)]
            return unit.p

        low_low = product("low_low", v_low, m_low)
        high_low = product("high_low", v_high, m_low)
        if self._m_high:
            m.d.comb += [cross.a.eq(product("low_high", v_low, m_high)), cross.b.eq(high_low)]
            high_high = product("high_high", v_high, m_high)
        else:
            m.d.comb += cross.b.eq(high_low)
            high_high = Const(0, 1)
        upper = Signal(signed(len(final.a)))
        # Both factors of low_low are below 2**limb, so its bits from limb to 2*limb are all that is left of it.
        m.d.comb += upper.eq(Cat(low_low[limb : 2 * limb], high_high).as_signed())
        m.d.comb += [final.a.eq(delay(m, upper, cross.latency, "upper")), final.b.eq(cross.o)]
        lowest = delay(m, low_low[:limb], cross.latency + final.latency, "lowest")
        m.d.comb += self.p.eq(Cat(lowest, final.o))
        return m
