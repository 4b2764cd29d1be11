"""Pipelined adder: wide sums without a wide carry chain."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .accumulate import MaskedAdder
from .delay import delay

__all__ = ["PipelinedAdder"]


class PipelinedAdder(wiring.Component):
    """Signed adder whose carry chain is cut into chunks, one chunk a cycle.

    Parameters
    ----------
    a_width, b_width, width : int
        Bits of the two signed addends and of the signed sum, which the caller derives from their ranges.
    chunk : int
        Longest carry chain in bits.

    Members
    -------
    a, b : In
    keep : ``In(1)``, whether ``b`` is added; 1 where it is not connected
    o : ``Out(signed(width))``, :attr:`latency` cycles later

    Latency
    -------
    One cycle a chunk, one sum a cycle.
    """

    def __init__(self, a_width, b_width, width, *, chunk=18):
        self.latency = -(-width // chunk)
        # Chunks of equal size beat full ones and a rest.
        self._chunk = -(-width // self.latency)
        super().__init__(
            {
                "a": In(signed(a_width)),
                "b": In(signed(b_width)),
                "keep": In(1, init=1),
                "o": Out(signed(width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        a = Signal.like(self.o)
        b = Signal.like(self.o)
        m.d.comb += [a.eq(self.a), b.eq(self.b)]
        carry = None
        parts = []
        for index in range(self.latency):
            bits = slice(index * self._chunk, (index + 1) * self._chunk)
            size, is_last = len(self.o[bits]), index == self.latency - 1
            chunk = MaskedAdder(size, carry_in=index > 0, carry_out=not is_last)
            m.submodules[f"chunk_{index}"] = chunk
            total = Signal.like(chunk.o, name=f"sum_{index}", reset_less=True)
            m.d.comb += [
                chunk.a.eq(delay(m, b[bits], index, f"b_{index}")),
                chunk.b.eq(delay(m, a[bits], index, f"a_{index}")),
                chunk.keep.eq(delay(m, self.keep, index, f"keep_{index}")),
            ]
            if index:
                m.d.comb += chunk.carry.eq(carry)
            m.d.sync += total.eq(chunk.o)
            carry = total[-1]
            parts.append(delay(m, total[:size], self.latency - 1 - index, f"sum_{index}"))
        m.d.comb += self.o.eq(Cat(parts))
        return m
