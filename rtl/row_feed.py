"""The row feed: holds rows of a side stream until the tile that claimed them takes them."""

from amaranth import *
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["RowFeed"]


class RowFeed(wiring.Component):
    """First in, first out, with a count of the rows that no tile has claimed yet.

    A tile claims its rows when its last products enter the array, many cycles before it takes them; so what it takes
    is always there, and nothing behind the array ever waits.

    Parameters
    ----------
    shape : ShapeLike
        Of a row.
    depth, rows : int
        Rows it holds, and the most that a tile claims.

    Members
    -------
    i : ``In(stream.Signature(shape))``
    count : ``Out(range(depth + 1))``, rows not claimed
    claim : ``In(range(rows + 1))``, rows that are claimed in this cycle, no more than ``count``
    take : ``In(1)``, ``o`` is done with
    o : Out, the oldest row that was not taken

    Latency
    -------
    A row can be claimed 1 and taken 2 cycles after it came. One row a cycle.
    """

    def __init__(self, shape, depth, rows):
        self._depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "count": Out(range(depth + 1)),
                "claim": In(range(rows + 1)),
                "take": In(1),
                "o": Out(shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.fifo = words = fifo.SyncFIFOBuffered(width=len(Value.cast(self.o)), depth=self._depth)
        count = Signal.like(self.count)
        m.d.comb += [
            words.w_data.eq(self.i.payload),
            words.w_en.eq(self.i.valid),
            self.i.ready.eq(words.w_rdy),
            words.r_en.eq(self.take),
            Value.cast(self.o).eq(words.r_data),
            self.count.eq(count),
        ]
        m.d.sync += count.eq(count + (self.i.valid & self.i.ready) - self.claim)
        return m
