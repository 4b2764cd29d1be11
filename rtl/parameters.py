"""Parameter records: loaded for the next tiles while the present ones work, swapped on a tile's tag."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .target import memory_attributes

__all__ = ["ParameterLoader", "ParameterStore", "write_signature"]


def write_signature(width, cols):
    """A write of one column's record into the bank that is not in use."""
    return wiring.Signature({"en": Out(1), "col": Out(range(max(cols, 2))), "bank": Out(1), "data": Out(width)})


class ParameterLoader(wiring.Component):
    """Spreads a stream of records, one a column, over the lanes' stores.

    A set of C records is taken as soon as the bank that is not in use is free; then the stream waits until a tile has
    claimed the set (``claim``, when it is issued) and the first lane has swapped (``release``). Lanes swap one after
    the other no slower than records arrive, so that none is overwritten before its lane has swapped.

    Parameters
    ----------
    width, cols : int
        Bits of a record, number of columns.

    Members
    -------
    i : ``In(stream.Signature(width))``
    write : Out, to every store
    available : ``Out(1)``, a complete set waits to be claimed
    claim, release : ``In(1)``, strobes

    Throughput
    ----------
    One record a cycle.
    """

    def __init__(self, width, cols):
        self._cols = cols
        super().__init__(
            {
                "i": In(stream.Signature(width)),
                "write": Out(write_signature(width, cols)),
                "available": Out(1),
                "claim": In(1),
                "release": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        col = Signal(range(max(self._cols, 2)))
        bank = Signal(init=1)  # the stores begin with bank 0 in use
        complete = Signal()
        claimed = Signal()
        write = Signal.like(self.write.en)
        record = Signal.like(self.write.data, reset_less=True)
        at = Signal.like(self.write.col, reset_less=True)
        into = Signal.like(self.write.bank, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(~complete),
            self.available.eq(complete & ~claimed),
            self.write.en.eq(write),
            self.write.data.eq(record),
            self.write.col.eq(at),
            self.write.bank.eq(into),
        ]
        m.d.sync += [write.eq(self.i.valid & self.i.ready), record.eq(self.i.payload), at.eq(col), into.eq(bank)]
        with m.If(self.claim):
            m.d.sync += claimed.eq(1)
        with m.If(self.release):
            m.d.sync += [complete.eq(0), claimed.eq(0)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += col.eq(col + 1)
            with m.If(col == self._cols - 1):
                m.d.sync += [col.eq(0), bank.eq(~bank), complete.eq(1)]
        return m


class ParameterStore(wiring.Component):
    """One lane's records: of the columns it serves, the set in use and the set that follows.

    Parameters
    ----------
    width, cols, first, count : int
        Bits of a record, columns of the unit, first column of the lane and how many it serves.

    Members
    -------
    write : In, from the loader
    swap : ``In(1)``, with the first element of a tile that brings new records
    index : In, which of the lane's columns the element belongs to
    o : ``Out(width)``, the record, one cycle after ``index``

    Latency
    -------
    1 cycle, one record a cycle. Before the first swap the records are not defined where ``count > 1``, else 0.
    """

    def __init__(self, width, cols, first, count):
        self._first, self._count = first, count
        super().__init__(
            {
                "write": In(write_signature(width, cols)),
                "swap": In(1),
                "index": In(range(max(count, 2))),
                "o": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if self._count == 1:
            # Two registers: cheaper than a memory of two words, and nothing to select.
            following = Signal.like(self.o, reset_less=True)
            current = Signal.like(self.o)
            with m.If(self.write.en & (self.write.col == self._first)):
                m.d.sync += following.eq(self.write.data)
            with m.If(self.swap):
                m.d.sync += current.eq(following)
            m.d.comb += self.o.eq(current)
            return m
        half = 1 << (self._count - 1).bit_length()
        attributes = memory_attributes(platform)
        m.submodules.memory = memory = Memory(shape=len(self.o), depth=2 * half, init=[], attrs=attributes)
        write, read = memory.write_port(), memory.read_port()
        bank = Signal()
        present = Signal()
        m.d.comb += [
            present.eq(bank ^ self.swap),
            read.addr.eq(Cat(self.index, present)),
            read.en.eq(1),
            self.o.eq(read.data),
            write.addr.eq(Cat((self.write.col - self._first)[: len(self.index)], self.write.bank)),
            write.data.eq(self.write.data),
            write.en.eq(self.write.en & (self.write.col >= self._first) & (self.write.col < self._first + self._count)),
        ]
        m.d.sync += bank.eq(present)
        return m
