"""Statistics of a tile: what its rows look like, found while they pass."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .delay import delay
from .fields import layout
from .formats import row_layout, statistics_fields

__all__ = ["TileStatistics"]


class TileStatistics(wiring.Component):
    """Minimum, maximum, largest magnitude, saturation and zero count of each tile's valid elements.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    row, saturated, valid : In, an assembled row
    o : ``Out(layout(statistics_fields(config)))``
    o_valid : ``Out(1)``, ``o`` is complete; in one cycle, it must be taken

    Latency
    -------
    :attr:`latency` cycles from a tile's last row. One row a cycle, so that nothing ever waits for it.
    """

    def __init__(self, config):
        self._config = config
        self.latency = (config.cols - 1).bit_length() + 2
        super().__init__(
            {
                "row": In(row_layout(config)),
                "saturated": In(config.cols),
                "valid": In(1),
                "o": Out(layout(statistics_fields(config))),
                "o_valid": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        row = self._reduce(m)
        wait = self.latency - 1
        valid = delay(m, self.valid, wait, "valid", reset_less=False)
        last = delay(m, self.row.last, wait, "last")
        first = Signal(init=1)
        tile = {name: Signal.like(self.o[name], name=f"tile_{name}", reset_less=True) for name in row}
        done = Signal()
        m.d.sync += done.eq(valid & last)
        with m.If(valid):
            m.d.sync += first.eq(last)
            for name, value in tile.items():
                so_far = Mux(first, row[name], _COMBINE[name](value, row[name]))
                m.d.sync += value.eq(so_far)
        m.d.comb += [self.o[name].eq(value) for name, value in tile.items()]
        m.d.comb += [self.o.largest_magnitude.eq(_largest(self.o)), self.o_valid.eq(done)]
        return m

    def _reduce(self, m):
        """The row's figures, by a tree with a register behind each level."""
        elements = self._config.element_type
        level = []
        for column in range(self._config.cols):
            value, keep = self.row.data[column], self.row.keep[column]
            figures = {
                "minimum": (Mux(keep, value, elements.max), self.o.minimum.shape()),
                "maximum": (Mux(keep, value, elements.min), self.o.maximum.shape()),
                "saturated": (keep & self.saturated[column], self.o.saturated.shape()),
                "zeros": (keep & (value == 0), self.o.zeros.shape()),
            }
            level.append({name: _held(m, value, shape, f"{name}_{column}") for name, (value, shape) in figures.items()})
        depth = 0
        while len(level) > 1:
            depth += 1
            following = []
            for index in range(0, len(level), 2):
                pair = level[index : index + 2]
                following.append(
                    {
                        name: _held(
                            m,
                            pair[0][name] if len(pair) == 1 else _COMBINE[name](pair[0][name], pair[1][name]),
                            self.o[name].shape(),
                            f"{name}_{depth}_{index}",
                        )
                        for name in _COMBINE
                    }
                )
            level = following
        return level[0]


#: How two parts' figures become those of the whole.
_COMBINE = {
    "minimum": lambda a, b: Mux(a < b, a, b),
    "maximum": lambda a, b: Mux(a > b, a, b),
    "saturated": lambda a, b: a + b,
    "zeros": lambda a, b: a + b,
}


def _held(m, value, shape, name):
    register = Signal(shape, name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register


def _largest(figures):
    negated = -figures.minimum
    return Mux(negated > figures.maximum, negated, figures.maximum)
