"""The column collector: holds the finished rows of a few columns until their shared lane takes them."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .delay import delay
from .target import memory_attributes

__all__ = ["ColumnCollector"]


class ColumnCollector(wiring.Component):
    """Turns G columns that each bring one row a cycle into one stream of elements, row by row.

    A memory of two banks of R words a column, which tiles use in turn, so that no word is read while it is written. A
    tile's words are read before the tile after the next, at least 2 x R x G cycles later, writes there.

    Parameters
    ----------
    rows, group, width : int
        R, G and bits of an accumulator.
    spacing : int or None
        Cycles for each row, 2 or more; G where it is ``None``. Where it is more, the last column is repeated.

    Members
    -------
    acc : In, the columns; column c shows row i ``i + c`` cycles after ``start``
    start : ``In(1)``, with row 0 of the first column
    o : ``Out(signed(width))``, column c of row i ``LATENCY + i*spacing + c`` cycles after ``start``

    Latency
    -------
    2 cycles, one element a cycle.
    """

    LATENCY = 2

    def __init__(self, rows, group, width, *, spacing=None):
        self._rows, self._group, self._spacing = rows, group, spacing or group
        super().__init__({"acc": In(data.ArrayLayout(signed(width), group)), "start": In(1), "o": Out(signed(width))})

    def elaborate(self, platform):
        m = Module()
        rows, group = self._rows, self._group
        start = delay(m, self.start, 1, "start", reset_less=False)
        row = Signal(range(max(rows, 2)))
        index = Signal(range(self._spacing))
        bank = Signal()
        read_row = Signal.like(row)
        read_index = Signal.like(index)
        read_bank = Signal()
        m.d.comb += [
            read_row.eq(Mux(start, 0, row)),
            read_index.eq(Mux(start, 0, index)),
            read_bank.eq(bank ^ start),
        ]
        m.d.sync += [index.eq(read_index + 1), row.eq(read_row), bank.eq(read_bank)]
        with m.If(read_index == self._spacing - 1):
            m.d.sync += [index.eq(0), row.eq(Mux(read_row == rows - 1, 0, read_row + 1))]
        words = []
        for c in range(group):
            depth = 2 << len(row)
            memory = Memory(shape=signed(len(self.o)), depth=depth, init=[], attrs=memory_attributes(platform))
            m.submodules[f"column_{c}"] = memory
            write, read = memory.write_port(), memory.read_port()
            begin = delay(m, self.start, c, f"start_{c}", reset_less=False)
            following = Signal.like(row, name=f"write_row_{c}")
            present = Signal.like(row, name=f"write_row_now_{c}")
            write_bank = Signal(name=f"write_bank_{c}")
            active = Signal(name=f"active_{c}")
            m.d.comb += [
                present.eq(Mux(begin, 0, following)),
                write.addr.eq(Cat(present, write_bank ^ begin)),
                write.data.eq(self.acc[c]),
                write.en.eq(begin | active),
                read.addr.eq(Cat(read_row, read_bank)),
                read.en.eq(1),
            ]
            m.d.sync += write_bank.eq(write_bank ^ begin)
            with m.If(begin | active):
                m.d.sync += [following.eq(present + 1), active.eq(present != rows - 1)]
            words.append(read.data)
        words += words[-1:] * (self._spacing - group)
        m.d.comb += self.o.eq(Array(words)[delay(m, read_index, 1, "selected")])
        return m
