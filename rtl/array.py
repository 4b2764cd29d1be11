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

    Latency
    -------
    :attr:`latency` cycles to row 0 of column 0. One step a cycle; the ends of two sums lie at least R cycles apart.
    """

    def __init__(self, config):
        self._config = config
        self._acc_width = config.acc_range.signed_width
        selector_latency = (config.rows - 1).bit_length()
        #: Operands reach the product, the tag the accumulator's halves, the halves meet behind the selectors.
        self.latency = Multiplier.LATENCY + 2 + selector_latency
        super().__init__(
            {
                "a": In(operand_layout(config.activation_type, config.rows)),
                "w": In(operand_layout(config.weight_type, config.cols)),
                "tag": In(MAC_TAG),
                "acc": Out(data.ArrayLayout(signed(self._acc_width), config.cols)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows, cols = self._config.rows, self._config.cols
        grid = [[ProcessingElement(self._config) for _ in range(cols)] for _ in range(rows)]
        tag = delay(m, self.tag, Multiplier.LATENCY, "tag", reset_less=False)
        for i in range(rows):
            tag = delay(m, tag, 1 if i else 0, f"tag_row{i}", reset_less=False)
            a = delay(m, self.a[i], i, f"a{i}")
            for j, pe in enumerate(grid[i]):
                m.submodules[f"pe_{i}_{j}"] = pe
                w = grid[i - 1][j].w_out if i else delay(m, self.w[j], j, f"w{j}")
                left = grid[i][j - 1] if j else None
                m.d.comb += [
                    pe.a.eq(left.a_out if left is not None else a),
                    pe.w.eq(w),
                    pe.tag.eq(left.tag_out if left is not None else tag),
                ]
        for j in range(cols):
            column = [grid[i][j] for i in range(rows)]
            low_width = column[0].low_width
            low = RowSelector(rows, low_width)
            high = RowSelector(rows, self._acc_width - low_width)
            m.submodules[f"low_{j}"], m.submodules[f"high_{j}"] = low, high
            done = Cat(pe.tag_out.last for pe in column)
            m.d.comb += [
                Cat(low.rows).eq(Cat(pe.low for pe in column)),
                Cat(high.rows).eq(Cat(pe.high for pe in column)),
                low.select.eq(done),
                high.select.eq(delay(m, done, 1, f"done_{j}", reset_less=False)),
                self.acc[j].eq(Cat(delay(m, low.o, 1, f"low_{j}"), high.o)),
            ]
        return m
