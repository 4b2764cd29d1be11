"""The row sequencer: turns a tile's command and rows of accumulators into tagged elements."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .formats import command_layout
from .tags import drain_event, element_tag, event_of

__all__ = ["RowSequencer"]


class RowSequencer(wiring.Component):
    """Admits tiles one ahead, takes their rows and shows each of them to the lanes for G cycles.

    Parameters
    ----------
    config : EngineConfig
    acc_width : int
        Bits of an accumulator.

    Members
    -------
    cmd, rows : In, streams of commands and of rows of C accumulators
    command, loaded : Out, the command of the tile to admit, and whether the next cycle has another
    may_end : ``In(1)``, that tile may be admitted; end : ``Out(1)``, it is
    acc, tag : Out, an accumulator for each lane and their ``element_tag``

    Latency
    -------
    1 cycle from a row to its first element. One row each G cycles; a tile takes at least :attr:`PERIOD` cycles.
    """

    #: Cycles to take, admit and start a command.
    PERIOD = 4

    def __init__(self, config, acc_width):
        self._config = config
        command = command_layout(config, engine=False)
        row = data.ArrayLayout(signed(acc_width), config.cols)
        super().__init__(
            {
                "cmd": In(stream.Signature(command)),
                "rows": In(stream.Signature(row)),
                "command": Out(command),
                "loaded": Out(1),
                "may_end": In(1),
                "end": Out(1),
                "acc": Out(data.ArrayLayout(signed(acc_width), config.lanes)),
                "tag": Out(element_tag(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, group = self._config, self._config.group
        following = Signal.like(self.command, name="following", reset_less=True)
        following_valid, admitted = Signal(), Signal()
        command = Signal.like(self.command, name="active_command", reset_less=True)
        active, first, final = Signal(), Signal(), Signal()
        remaining = Signal.like(command.rows, name="remaining", reset_less=True)

        held = Signal.like(self.rows.payload, name="held", reset_less=True)
        tag = Signal.like(self.tag, name="held_tag")
        free, step = Signal(), Signal()
        m.d.comb += [
            free.eq(~tag.valid | (tag.index == group - 1)),
            self.rows.ready.eq(active & free),
            step.eq(self.rows.ready & self.rows.valid),
            self.cmd.ready.eq(~following_valid),
            self.loaded.eq(self.cmd.ready & self.cmd.valid),
            self.command.eq(following),
            self.end.eq(following_valid & ~admitted & self.may_end),
        ]
        with m.If(self.cmd.ready):
            m.d.sync += [following.eq(self.cmd.payload), following_valid.eq(self.cmd.valid)]
        with m.If(self.end):
            m.d.sync += admitted.eq(1)
        with m.If(step):
            m.d.sync += [first.eq(0), remaining.eq(remaining - 1), final.eq(remaining == 1)]
        with m.If(~active | (step & final)):
            m.d.sync += [
                active.eq(admitted),
                command.eq(following),
                first.eq(1),
                remaining.eq(following.rows),
                final.eq(following.rows == 0),
            ]
            with m.If(admitted):
                m.d.sync += [admitted.eq(0), following_valid.eq(0)]

        event = Signal(drain_event(config), name="event")
        m.d.comb += event.eq(event_of(config, command, first))
        with m.If(free):
            m.d.sync += [
                held.eq(self.rows.payload),
                tag.valid.eq(step),
                tag.start.eq(step & first),
                tag.last.eq(final),
                tag.index.eq(0),
                tag.swap_bias.eq(step & event.swap_bias),
                tag.swap_scale.eq(step & event.swap_scale),
                tag.float32.eq(event.float32),
                tag.use.eq(event.use),
            ]
        with m.Else():
            m.d.sync += [tag.index.eq(tag.index + 1), tag.start.eq(0), tag.swap_bias.eq(0), tag.swap_scale.eq(0)]
        m.d.comb += self.tag.eq(tag)
        for lane in range(config.lanes):
            columns = Array(held[lane * group + index] for index in range(group))
            m.d.comb += self.acc[lane].eq(columns[tag.index] if group > 1 else held[lane])
        return m
