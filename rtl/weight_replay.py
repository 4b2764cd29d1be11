"""The weight replay: keeps a strip of weights, so that all tiles of a block of columns load it once."""

from amaranth import *
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .formats import command_layout, operand_layout

__all__ = ["WeightReplay"]


class WeightReplay(wiring.Component):
    """Gives each command its K rows of weights: from the stream, which it may keep, or the rows that were kept.

    It reads the commands on its own, up to two ahead of the sequencer, so that neither a change between commands nor
    the memory's read costs a cycle.

    Parameters
    ----------
    config : EngineConfig
        ``replay_depth`` words are kept, of C weights each.

    Members
    -------
    cmd : In, stream of commands, of which ``k``, ``store_w`` and ``replay_w`` matter
    i, o : In and Out, streams of weights

    Latency
    -------
    2 cycles, one word a cycle.
    """

    LATENCY = 2

    def __init__(self, config):
        self._config = config
        word = operand_layout(config.weight_type, config.cols)
        super().__init__(
            {
                "cmd": In(stream.Signature(command_layout(config))),
                "i": In(stream.Signature(word)),
                "o": Out(stream.Signature(word)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth = self._config.replay_depth
        width = len(Value.cast(self.i.payload))
        following = Signal.like(self.cmd.payload, name="following", reset_less=True)
        following_valid, active, final = Signal(), Signal(), Signal()
        store, replay = Signal(), Signal()
        remaining = Signal.like(following.k, name="remaining", reset_less=True)
        at = Signal(range(depth), reset_less=True)

        m.submodules.memory = memory = Memory(shape=width, depth=depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        # Room for the words between the decision to take one and the consumer.
        m.submodules.words = words = fifo.SyncFIFO(width=width, depth=4)
        taken, from_memory = Signal(), Signal()
        held = Signal(width, reset_less=True)
        take, end = Signal(), Signal()
        m.d.comb += [
            take.eq(active & (replay | self.i.valid) & (words.level + taken < 3)),
            end.eq(take & final),
            self.i.ready.eq(active & ~replay & (words.level + taken < 3)),
            self.cmd.ready.eq(~following_valid),
            write.addr.eq(at),
            write.data.eq(self.i.payload),
            write.en.eq(take & store & ~replay),
            read.addr.eq(at),
            read.en.eq(1),
            words.w_data.eq(Mux(from_memory, read.data, held)),
            words.w_en.eq(taken),
            self.o.valid.eq(words.r_rdy),
            Value.cast(self.o.payload).eq(words.r_data),
            words.r_en.eq(self.o.ready),
        ]
        m.d.sync += [taken.eq(take), from_memory.eq(replay), held.eq(self.i.payload)]
        with m.If(self.cmd.ready):
            m.d.sync += [following.eq(self.cmd.payload), following_valid.eq(self.cmd.valid)]
        with m.If(take):
            m.d.sync += [at.eq(at + 1), remaining.eq(remaining - 1), final.eq(remaining == 1)]
        with m.If(~active | end):
            m.d.sync += [
                active.eq(following_valid),
                at.eq(0),
                remaining.eq(following.k),
                final.eq(following.k == 0),
                store.eq(following.store_w),
                replay.eq(following.replay_w),
            ]
            with m.If(following_valid):
                m.d.sync += following_valid.eq(0)
        return m
