"""The drain tagger: numbers a tile's finished elements in the order in which an epilogue lane sees them."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .tags import drain_event, element_tag

__all__ = ["DrainTagger"]


class DrainTagger(wiring.Component):
    """Follows each event with R x G element tags, row by row, G columns of the lane in each.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    event : ``In(drain_event(config))``; events are at least ``config.tile_period`` cycles apart
    tag : ``Out(element_tag(config))``, from the cycle after the event on

    Latency
    -------
    1 cycle, one element a cycle.
    """

    LATENCY = 1

    def __init__(self, config):
        self._config = config
        super().__init__({"event": In(drain_event(config)), "tag": Out(element_tag(config))})

    def elaborate(self, platform):
        m = Module()
        rows, group = self._config.rows, self._config.group
        active = Signal()
        row = Signal(range(max(rows, 2)))
        index = Signal(range(max(group, 2)))
        tile = Signal(drain_event(self._config), reset_less=True)
        start = Signal()
        m.d.comb += [
            self.tag.valid.eq(active & (row <= tile.rows)),
            self.tag.last.eq(row == tile.rows),
            self.tag.start.eq(start),
            self.tag.index.eq(index),
            self.tag.swap_bias.eq(start & tile.swap_bias),
            self.tag.swap_scale.eq(start & tile.swap_scale),
            self.tag.float32.eq(tile.float32),
            self.tag.use.eq(tile.use),
        ]
        m.d.sync += [start.eq(self.event.valid), index.eq(index + 1)]
        with m.If(index == group - 1):
            m.d.sync += [index.eq(0), row.eq(row + 1)]
            with m.If(row == rows - 1):
                m.d.sync += active.eq(0)
        with m.If(self.event.valid):
            m.d.sync += [tile.eq(self.event), active.eq(1), row.eq(0), index.eq(0)]
        return m
