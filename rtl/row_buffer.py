"""The output buffer: takes every row that comes and hands it out when the consumer is ready."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .target import UNUSED_COLLISIONS, Target

__all__ = ["RowBuffer"]

# Words of an ECP5's distributed memory.
_BANK = 16


class RowBuffer(wiring.Component):
    """First in, first out, without a way to refuse: whoever fills it has counted the room before.

    A row passes the memory, the memory's read register and an output register.

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
    3 cycles, one row a cycle.
    """

    LATENCY = 3

    def __init__(self, shape, depth):
        self._depth = depth
        super().__init__({"row": In(shape), "valid": In(1), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        write_at, read_at = Signal(range(self._depth)), Signal(range(self._depth))
        level = Signal(range(self._depth + 1))
        some = Signal()  # level is not 0
        fetched, valid = Signal(), Signal()
        fetch, move = Signal(), Signal()
        build = self._banked if platform is Target.ecp5 else self._block
        read = build(m, write_at, read_at, fetch)
        row = Signal.like(Value.cast(self.row), name="held", reset_less=True)
        m.d.comb += [
            move.eq(self.o.ready | ~valid),
            fetch.eq(some & (move | ~fetched)),
            self.o.valid.eq(valid),
            Value.cast(self.o.payload).eq(row),
        ]
        with m.If(move):
            m.d.sync += [valid.eq(fetched), row.eq(read)]
        with m.If(self.valid ^ fetch):
            m.d.sync += level.eq(level + Mux(self.valid, 1, -1))
        m.d.sync += [
            some.eq(self.valid | (level > 1) | ((level == 1) & ~fetch)),
            fetched.eq(fetch | (fetched & ~move)),
        ]
        # By enables: a carry chain behind `fetch` would be the longest path.
        with m.If(self.valid):
            m.d.sync += write_at.eq(write_at + 1)
        with m.If(fetch):
            m.d.sync += read_at.eq(read_at + 1)
        return m

    def _block(self, m, write_at, read_at, fetch):
        """One memory, whose own read register holds the row; no row is written where one is read."""
        width = len(Value.cast(self.row))
        m.submodules.memory = memory = Memory(shape=width, depth=self._depth, init=[], attrs=UNUSED_COLLISIONS)
        write, read = memory.write_port(), memory.read_port()
        m.d.comb += [
            write.addr.eq(write_at),
            write.data.eq(self.row),
            write.en.eq(self.valid),
            read.addr.eq(read_at),
            read.en.eq(fetch),
        ]
        return read.data

    def _banked(self, m, write_at, read_at, fetch):
        """Distributed memories, each with a register, since an ECP5's block memory takes 5.8 ns to answer."""
        depth = min(self._depth, _BANK)
        bits = depth.bit_length() - 1
        words = []
        for index in range(self._depth // depth):
            memory = Memory(shape=len(Value.cast(self.row)), depth=depth, init=[])
            m.submodules[f"bank_{index}"] = memory
            # Only distributed memory can be read without a clock.
            write, read = memory.write_port(), memory.read_port(domain="comb")
            word = Signal.like(read.data, name=f"word_{index}", reset_less=True)
            m.d.comb += [
                write.addr.eq(write_at[:bits]),
                write.data.eq(self.row),
                write.en.eq(self.valid & (write_at[bits:] == index)),
                read.addr.eq(read_at[:bits]),
            ]
            with m.If(fetch):
                m.d.sync += word.eq(read.data)
            words.append(word)
        chosen = Signal(range(len(words)), reset_less=True)
        with m.If(fetch):
            m.d.sync += chosen.eq(read_at[bits:])
        return Array(words)[chosen]
