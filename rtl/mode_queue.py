"""The mode queue: what a tile's command says to a later stage, until the tile gets there."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .target import memory_attributes

__all__ = ["ModeQueue"]


class ModeQueue(wiring.Component):
    """First in, first out, without flow control: never empty when it is taken from, and never full.

    Parameters
    ----------
    shape : ShapeLike
        Of a mode.
    depth : int
        Most modes that it holds at a time.

    Members
    -------
    i : In, a mode
    push : ``In(1)``, ``i`` is the latest tile's
    take : ``In(1)``, ``o`` is done with; at the earliest :attr:`LATENCY` cycles after its push
    o : Out, the oldest mode that was not taken

    Latency
    -------
    :attr:`LATENCY` cycles from ``push`` to ``o``. One mode a cycle.
    """

    LATENCY = 2

    def __init__(self, shape, depth):
        self._depth = 1 << max(depth - 1, 1).bit_length()
        super().__init__({"i": In(shape), "push": In(1), "take": In(1), "o": Out(shape)})

    def elaborate(self, platform):
        m = Module()
        width, attributes = len(Value.cast(self.i)), memory_attributes(platform)
        m.submodules.memory = memory = Memory(shape=width, depth=self._depth, init=[], attrs=attributes)
        write, read = memory.write_port(), memory.read_port()
        write_at, oldest = Signal(range(self._depth)), Signal(range(self._depth))
        m.d.comb += [
            write.addr.eq(write_at),
            write.data.eq(self.i),
            write.en.eq(self.push),
            read.addr.eq(oldest + self.take),
            read.en.eq(1),
            Value.cast(self.o).eq(read.data),
        ]
        m.d.sync += [write_at.eq(write_at + self.push), oldest.eq(read.addr)]
        return m
