"""The sequencer: turns a tile's command and its operands into tagged slots of the array."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .drain import drain_event
from .formats import command_layout, operand_layout
from .pe import MAC_TAG

__all__ = ["Sequencer"]


class Sequencer(wiring.Component):
    """Feeds the array one step k a cycle and never stalls it: a step without operands becomes an empty slot.

    Commands follow each other without a gap. Only the last step of a tile that hands out its sums waits, until

    * ``tile_period`` cycles have passed since the last such step (the epilogue's lanes are free),
    * the output buffer has room for all rows of a tile (so nothing behind the array ever has to stop), and
    * the records that the tile swaps in are complete.

    Parameters
    ----------
    config : EngineConfig
    room : int
        Rows that the output buffer holds.

    Members
    -------
    cmd, a, w : In, streams of commands and operands
    row_taken : ``In(1)``, a row has left the output buffer
    bias_available, scale_available : ``In(1)``; only with an epilogue
    a_step, w_step, tag : Out, a slot of the array
    event : ``Out(drain_event(config))``, with the slot that ends a tile
    issued : Out, that tile's command, with ``event``

    Latency
    -------
    1 cycle, one step a cycle; a command takes at least 2 cycles, since ``cmd.ready`` is a register.
    """

    def __init__(self, config, room):
        self._config, self._room = config, room
        a = operand_layout(config.activation_type, config.rows)
        w = operand_layout(config.weight_type, config.cols)
        members = {
            "cmd": In(stream.Signature(command_layout(config))),
            "a": In(stream.Signature(a)),
            "w": In(stream.Signature(w)),
            "row_taken": In(1),
            "a_step": Out(a),
            "w_step": Out(w),
            "tag": Out(MAC_TAG),
            "event": Out(drain_event(config)),
            "issued": Out(command_layout(config)),
        }
        if config.epilogue is not None:
            members |= {"bias_available": In(1), "scale_available": In(1)}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        config = self._config
        command = Signal(command_layout(config), reset_less=True)
        following = Signal(command_layout(config), reset_less=True)
        following_valid = Signal()
        active = Signal()
        begin = Signal()
        final = Signal()
        remaining = Signal.like(command.k, reset_less=True)
        step = Signal()
        end = Signal()
        emit = Signal()

        # Everything that an ending tile waits for is found out a cycle ahead, so that few gates decide on a step.
        wait = Signal(range(config.tile_period))
        room = Signal(range(self._room + 1), init=self._room)
        swap_bias, swap_scale = Const(0), Const(0)
        records = Const(1)
        if config.epilogue is not None:
            swap_bias, swap_scale = command.swap_bias, command.swap_scale
            records = (~swap_bias | self.bias_available) & (~swap_scale | self.scale_available)
        may_end = Signal()
        m.d.comb += may_end.eq((wait == 0) & (room >= config.rows) & records)
        with m.If(emit):
            m.d.sync += wait.eq(config.tile_period - 2)
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        m.d.sync += room.eq(room - Mux(emit, command.rows + 1, 0) + self.row_taken)

        # `go`: a command is active, and if this is the step that ends its tile, it may.
        go = Signal()
        m.d.comb += [
            step.eq(go & self.a.valid & self.w.valid),
            end.eq(step & final),
            emit.eq(end & command.emit),
            self.a.ready.eq(step),
            self.w.ready.eq(step),
            self.cmd.ready.eq(~following_valid),
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
                final.eq(following.k == 0),
                go.eq(following_valid & ~((following.k == 0) & following.emit)),
            ]
        with m.Elif(step):
            m.d.sync += [
                begin.eq(0),
                remaining.eq(remaining - 1),
                final.eq(remaining == 1),
                go.eq((remaining != 1) | ~command.emit | may_end),
            ]
        with m.Else():
            m.d.sync += go.eq(~final | ~command.emit | may_end)

        m.d.sync += [
            self.tag.valid.eq(step),
            self.tag.first.eq(step & begin & command.clear),
            self.tag.last.eq(emit),
            self.event.valid.eq(emit),
            self.event.rows.eq(command.rows),
            self.event.swap_bias.eq(emit & swap_bias),
            self.event.swap_scale.eq(emit & swap_scale),
            self.issued.eq(command),
        ]
        a_step = Signal.like(self.a_step, reset_less=True)
        w_step = Signal.like(self.w_step, reset_less=True)
        m.d.sync += [a_step.eq(self.a.payload), w_step.eq(self.w.payload)]
        m.d.comb += [self.a_step.eq(a_step), self.w_step.eq(w_step)]
        return m
