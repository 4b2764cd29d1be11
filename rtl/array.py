"""The systolic array: R x C processing elements, their operand skew and a row selector a column."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .delay import delay
from .formats import operand_layout
from .multiplier import Multiplier
from .pe import MAC_TAG, ProcessingElement
from .selector import RowSelector

__all__ = ["SystolicArray"]


class SystolicArray(wiring.Component):
    """Output-stationary R x C array without a clock enable: it never stalls, empty slots pass through it.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    a, w : In, one operand a row and one a column, all of the same step k
    tag : ``In(MAC_TAG)``, of the same step
    acc : Out, C signed accumulators; column j shows row i ``latency + i + j`` cycles after a step with ``tag.last``
    row_sum : Out, the sum of row i's activations, together with column 0; only where there are weight zero points

    Latency
    -------
    :attr:`latency` cycles to row 0 of column 0. One step a cycle; the ends of two sums lie at least R cycles apart.
    """

    def __init__(self, config):
        self._config = config
        self._acc_width = config.acc_range.signed_width
        selector_latency = (config.rows - 1).bit_length()
        #: Operands reach the product, the tag the accumulator's halves, the halves meet behind the selectors.
        self._sums = config.epilogue is not None and config.epilogue.weight_zero_point
        self.latency = Multiplier.LATENCY + 2 + selector_latency + self._sums
        members = {
            "a": In(operand_layout(config.activation_type, config.rows)),
            "w": In(operand_layout(config.weight_type, config.cols)),
            "tag": In(MAC_TAG),
            "acc": Out(data.ArrayLayout(signed(self._acc_width), config.cols)),
        }
        if self._sums:
            members["row_sum"] = Out(signed(config.row_sum_range.signed_width))
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        rows, cols, sums = self._config.rows, self._config.cols, self._sums
        # A column of ones stands before the others, so that row sums are there when column 0 is.
        grid = [[ProcessingElement(self._config) for _ in range(cols + sums)] for _ in range(rows)]
        tag = delay(m, self.tag, Multiplier.LATENCY, "tag", reset_less=False)
        for i in range(rows):
            tag = delay(m, tag, 1 if i else 0, f"tag_row{i}", reset_less=False)
            a = delay(m, self.a[i], i, f"a{i}")
            for j, pe in enumerate(grid[i], -sums):
                m.submodules[f"pe_{i}_{j}" if j >= 0 else f"sum_{i}"] = pe
                if j < 0:
                    w = Const(1)
                elif i:
                    w = grid[i - 1][j + sums].w_out
                else:
                    w = delay(m, self.w[j], j + sums, f"w{j}")
                left = grid[i][j + sums - 1] if j + sums else None
                m.d.comb += [
                    pe.a.eq(left.a_out if left is not None else a),
                    pe.w.eq(w),
                    pe.tag.eq(left.tag_out if left is not None else tag),
                ]
        for j in range(cols):
            m.d.comb += self.acc[j].eq(self._column(m, str(j), [row[j + sums] for row in grid]))
        if sums:
            row_sum = self._column(m, "sum", [row[0] for row in grid])
            m.d.comb += self.row_sum.eq(delay(m, row_sum, 1, "row_sum"))
        return m

    def _column(self, m, name, column):
        """The column's accumulators, one row a cycle; the lower halves wait a cycle for the upper ones."""
        rows, low_width = len(column), column[0].low_width
        low, high = RowSelector(rows, low_width), RowSelector(rows, self._acc_width - low_width)
        m.submodules[f"low_{name}"], m.submodules[f"high_{name}"] = low, high
        done = Cat(pe.tag_out.last for pe in column)
        m.d.comb += [
            Cat(low.rows).eq(Cat(pe.low for pe in column)),
            Cat(high.rows).eq(Cat(pe.high for pe in column)),
            low.select.eq(done),
            high.select.eq(delay(m, done, 1, f"done_{name}", reset_less=False)),
        ]
        return Cat(delay(m, low.o, 1, f"low_{name}"), high.o).as_signed()
