"""The sequencer: turns a tile's command and its operands into tagged slots of the array."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .formats import command_layout, operand_layout
from .pe import MAC_TAG
from .tags import drain_event, event_of

__all__ = ["Sequencer"]


class Sequencer(wiring.Component):
    """Feeds the array one step k a cycle and never stalls it: a step without operands becomes an empty slot.

    Commands follow each other without a gap. Only the last step of a tile that hands out its sums waits, until its
    admission.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    cmd, a, w : In, streams of commands and operands
    command, loaded : Out, the command that is active, and whether the next cycle has another
    may_end : ``In(1)``, its tile may end in the next cycle; end : ``Out(1)``, it ends in this one
    a_step, w_step, tag : Out, a slot of the array
    event : ``Out(drain_event(config))``, with the slot that ends a tile
    issued : Out, that tile's command, with ``event``

    Latency
    -------
    1 cycle, one step a cycle; a command takes at least 2 cycles, since ``cmd.ready`` is a register, and one
    that ends a tile at least 3.
    """

    def __init__(self, config):
        self._config = config
        a = operand_layout(config.activation_type, config.rows)
        w = operand_layout(config.weight_type, config.cols)
        super().__init__(
            {
                "cmd": In(stream.Signature(command_layout(config))),
                "a": In(stream.Signature(a)),
                "w": In(stream.Signature(w)),
                "command": Out(command_layout(config)),
                "loaded": Out(1),
                "may_end": In(1),
                "end": Out(1),
                "a_step": Out(a),
                "w_step": Out(w),
                "tag": Out(MAC_TAG),
                "event": Out(drain_event(config)),
                "issued": Out(command_layout(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        command = Signal(command_layout(config), reset_less=True)
        following = Signal(command_layout(config), reset_less=True)
        following_valid = Signal()
        active = Signal()
        begin = Signal()
        near = Signal()  # the step after this one is the command's last
        final = Signal()  # this one is
        remaining = Signal.like(command.k, reset_less=True)
        step = Signal()
        end = Signal()
        emit = Signal()

        # `go`: a command is active, and if this is the step that ends its tile, it may.
        go = Signal()
        m.d.comb += [
            step.eq(go & self.a.valid & self.w.valid),
            end.eq(step & final),
            emit.eq(end & command.emit),
            self.a.ready.eq(step),
            self.w.ready.eq(step),
            self.cmd.ready.eq(~following_valid),
            self.loaded.eq(following_valid & (~active | end)),
        ]
        with m.If(self.cmd.ready):
            m.d.sync += [following.eq(self.cmd.payload), following_valid.eq(self.cmd.valid)]
        with m.If(~active | end):
            with m.If(following_valid):
                m.d.sync += following_valid.eq(0)
            m.d.sync += [
                active.eq(following_valid),
                command.eq(following),
                begin.eq(1),
                remaining.eq(following.k),
                near.eq(following.k == 1),
                final.eq(following.k == 0),
                go.eq(following_valid & ~((following.k == 0) & following.emit)),
            ]
        with m.Elif(step):
            m.d.sync += [
                begin.eq(0),
                remaining.eq(remaining - 1),
                near.eq(remaining == 2),
                final.eq(near),
                go.eq(~near | ~command.emit | self.may_end),
            ]
        with m.Else():
            m.d.sync += go.eq(~final | ~command.emit | self.may_end)

        m.d.sync += [
            self.tag.valid.eq(step),
            self.tag.first.eq(step & begin & command.clear),
            self.tag.last.eq(emit),
            self.event.eq(event_of(config, command, emit)),
            self.issued.eq(command),
        ]
        m.d.comb += [self.command.eq(command), self.end.eq(emit)]
        a_step = Signal.like(self.a_step, reset_less=True)
        w_step = Signal.like(self.w_step, reset_less=True)
        m.d.sync += [a_step.eq(self.a.payload), w_step.eq(self.w.payload)]
        m.d.comb += [self.a_step.eq(a_step), self.w_step.eq(w_step)]
        return m
