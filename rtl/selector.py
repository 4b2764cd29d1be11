"""The row selector: brings a column's finished sums, which appear one row a cycle, onto one bus."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["RowSelector"]


class RowSelector(wiring.Component):
    """Pipelined R-to-1 selector with one select bit a row.

    A tree of two-to-one selectors with a register behind each. Every row takes the same time through it, so rows that
    finish one cycle apart leave one cycle apart, in order.

    Parameters
    ----------
    rows, width : int

    Members
    -------
    rows : In, ``rows`` values of ``width`` bits
    select : ``In(rows)``, bit i is set in the one cycle in which row i is to be taken; at most one bit at a time
    o : ``Out(width)``, the row that was selected :attr:`latency` cycles ago

    Latency
    -------
    ``ceil(log2(rows))`` cycles, one row a cycle.
    """

    def __init__(self, rows, width):
        self.latency = (rows - 1).bit_length()
        super().__init__({"rows": In(data.ArrayLayout(width, rows)), "select": In(rows), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        level = [(self.rows[i], self.select[i]) for i in range(len(self.select))]
        for depth in range(self.latency):
            following = []
            for index in range(0, len(level), 2):
                pair = level[index : index + 2]
                value = Signal(self.o.shape(), name=f"value_{depth}_{index // 2}", reset_less=True)
                select = Signal(name=f"select_{depth}_{index // 2}", reset_less=True)
                m.d.sync += [
                    value.eq(pair[0][0] if len(pair) == 1 else Mux(pair[1][1], pair[1][0], pair[0][0])),
                    select.eq(Cat(flag for _, flag in pair).any()),
                ]
                following.append((value, select))
            level = following
        m.d.comb += self.o.eq(level[0][0])
        return m
