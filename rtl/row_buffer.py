"""The output buffer: takes every row that comes and hands it out when the consumer is ready."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .target import Target

__all__ = ["RowBuffer"]


class RowBuffer(wiring.Component):
    """First in, first out, without a way to refuse: whoever fills it has counted the room before.

    Parameters
    ----------
    shape : ShapeLike
        Of a row.
    depth : int
        Rows it holds, a power of two.

    Members
    -------
    row, valid : In, a row that is taken
    o : ``Out(stream.Signature(shape))``

    Latency
    -------
    2 cycles, one row a cycle.
    """

    LATENCY = 2

    def __init__(self, shape, depth):
        self._depth = depth
        super().__init__({"row": In(shape), "valid": In(1), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=len(Value.cast(self.row)), depth=self._depth, init=[])
        write, fetch = memory.write_port(), Signal()
        write_at, read_at = Signal(range(self._depth)), Signal(range(self._depth))
        if platform is Target.ecp5:
            # A block memory takes 5.8 ns to answer. Only distributed memory can be read without a clock.
            read = memory.read_port(domain="comb")
            word = Signal.like(read.data, reset_less=True)
            with m.If(fetch):
                m.d.sync += word.eq(read.data)
        else:
            # The memory's own read register is the output register.
            read = memory.read_port()
            word = read.data
            m.d.comb += read.en.eq(fetch)
        level = Signal(range(self._depth + 1))
        some = Signal()  # level is not 0
        valid = Signal()
        m.d.comb += [
            write.addr.eq(write_at),
            write.data.eq(self.row),
            write.en.eq(self.valid),
            read.addr.eq(read_at),
            fetch.eq(some & (self.o.ready | ~valid)),
            self.o.valid.eq(valid),
            Value.cast(self.o.payload).eq(word),
        ]
        m.d.sync += [
            level.eq(level + self.valid - fetch),
            some.eq(self.valid | (level > 1) | ((level == 1) & ~fetch)),
            valid.eq(fetch | (valid & ~self.o.ready)),
            write_at.eq(write_at + self.valid),
            read_at.eq(read_at + fetch),
        ]
        return m
