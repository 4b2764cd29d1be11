"""Sum times multiplier: a product wider than one multiplier block."""

import math

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .adder import PipelinedAdder
from .delay import delay
from .multiplier import Multiplier

__all__ = ["WideMultiplier"]

# Registers from the blocks to the adders: an array of processing elements takes the blocks nearby, and half a chip of
# wire takes longer than anything else in a lane.
_WAY = 1


def _limbs(v_width, m_width, limb):
    """How many limbs of a length either factor has."""
    return [-(-max(width - sign, 1) // limb) for width, sign in ((v_width, 1), (m_width, 0))]


class WideMultiplier(wiring.Component):
    """Exact product of a signed value and an unsigned multiplier, from multiplier blocks of 16 x 16 or 18 x 18 bits.

    Both factors are cut at :attr:`limb` bits, which with a sign bit fill a block. Products of limbs that do not overlap
    lie side by side in one row, so that for two limbs by two limbs, of four products, two additions are left. What lies
    below the overlap of two rows passes the addition by.

    Parameters
    ----------
    v_width : int
        Bits of the signed value, 2 or more.
    m_width : int
        Bits of the unsigned multiplier, 1 or more.

    Members
    -------
    v : ``In(signed(v_width))``
    m : ``In(m_width)``
    p : ``Out(signed(v_width + m_width))``, :attr:`latency` cycles later

    Latency
    -------
    :attr:`latency` cycles, one product a cycle.
    """

    #: Bits of a limb in a block of 16 x 16 bits, as an iCE40 has, and of 18 x 18.
    LIMBS = (15, 17)

    def __init__(self, v_width, m_width):
        #: Bits of a limb: the fewest of :attr:`LIMBS` that need no more blocks than the most.
        self.limb = min(self.LIMBS, key=lambda limb: (math.prod(_limbs(v_width, m_width, limb)), limb))
        super().__init__({"v": In(signed(v_width)), "m": In(m_width), "p": Out(signed(v_width + m_width))})
        self._rows = self._plan(v_width, m_width)
        # The lowest row joins last: it is the longest, and the others' sum is short until then.
        self._order = [*self._rows[1:], self._rows[0]]
        self._adders = []
        offset, width = self._extent(self._order[0])
        for row in self._order[1:]:
            row_offset, row_width = self._extent(row)
            low = min(offset, row_offset)
            top = max(offset + width, row_offset + row_width)
            shared = min(top + 1, v_width + m_width) - max(offset, row_offset)
            self._adders.append(PipelinedAdder(shared, shared, shared))
            offset, width = low, max(offset, row_offset) + shared - low
        self.latency = Multiplier.LATENCY + _WAY + sum(adder.latency for adder in self._adders)

    def _extent(self, row):
        """Offset and width of a row as a signed number."""
        offset, (last, i, j) = row[0][0], row[-1]
        signed_top = (i + 1) * self.limb >= len(self.v) - 1
        v_bits = len(self.v) - i * self.limb if signed_top else self.limb + 1
        m_bits = min(self.limb, len(self.m) - j * self.limb)
        return offset, last - offset + v_bits + m_bits

    def _plan(self, v_width, m_width):
        """Rows of products ``(offset, v limb, m limb)`` that do not overlap, in the order in which they are added."""
        limbs = _limbs(v_width, m_width, self.limb)
        products = sorted(((i + j) * self.limb, i, j) for i in range(limbs[0]) for j in range(limbs[1]))
        rows = []
        while products:
            row = [products.pop(0)]
            # A product of the highest limb of v is signed and reaches up to the top, so nothing can follow it.
            while row[-1][1] < limbs[0] - 1:
                end = row[-1][0] + 2 * self.limb
                following = next((product for product in products if product[0] == end), None)
                if following is None:
                    break
                products.remove(following)
                row.append(following)
            rows.append(row)
        return rows

    def elaborate(self, platform):
        m = Module()
        (total, offset), age = self._row(m, self._order[0]), 0
        for number, (row, adder) in enumerate(zip(self._order[1:], self._adders, strict=True)):
            value, row_offset = self._row(m, row)
            value = delay(m, value, age, f"row_{number}")
            lower, upper = ((value, row_offset), (total, offset))
            if row_offset > offset:
                lower, upper = upper, lower
            free = upper[1] - lower[1]  # bits of the lower one that nothing is added to
            m.submodules[f"adder_{number}"] = adder
            m.d.comb += [adder.a.eq(lower[0][free:].as_signed()), adder.b.eq(upper[0])]
            total = Cat(delay(m, lower[0][:free], adder.latency, f"free_{number}"), adder.o).as_signed()
            offset = lower[1]
            age += adder.latency
        m.d.comb += self.p.eq(total)
        return m

    def _row(self, m, row):
        """The products of a row side by side, as one signed number, and its offset."""
        parts = []
        for _, i, j in row:
            v = self.v[i * self.limb : (i + 1) * self.limb]
            last = (i + 1) * self.limb >= len(self.v) - 1
            if last:
                v = self.v[i * self.limb :].as_signed()
            multiplier = self.m[j * self.limb : (j + 1) * self.limb]
            m.submodules[f"product_{i}_{j}"] = unit = Multiplier(len(v) + (not last), len(multiplier) + 1)
            m.d.comb += [unit.a.eq(v), unit.b.eq(multiplier)]
            parts.append(delay(m, unit.p, _WAY, f"product_{i}_{j}"))
        width = self._extent(row)[1]
        value = Signal(signed(width), name=f"products_{row[0][1]}_{row[0][2]}")
        whole = [Cat(p, Const(0, 2 * self.limb))[: 2 * self.limb] for p in parts[:-1]]
        m.d.comb += value.eq(Cat(*whole, parts[-1]).as_signed())
        return value, row[0][0]
