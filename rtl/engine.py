"""The engine: a systolic array whose accumulators flow through a bias epilogue into a stream of rows."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .admission import Admission
from .array import SystolicArray
from .collector import ColumnCollector
from .delay import delay
from .drain import DrainTagger
from .epilogue import EpilogueRow, side_streams
from .fields import layout
from .formats import command_layout, operand_layout, row_layout, statistics_fields
from .plumbing import connect_admission, connect_modes, connect_output
from .row_buffer import RowBuffer
from .sequencer import Sequencer
from .stream_buffer import StreamBuffer
from .weight_replay import WeightReplay

__all__ = ["Engine"]


class Engine(wiring.Component):
    """GEMM unit: ``out = epilogue(a @ w)`` tile by tile, as the commands say.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    cmd : ``In(stream.Signature(command_layout(config)))``, one command a tile
    a, w : In, streams of operands: for each step k of a tile a column of R activations and a row of C weights
    bias, scale : In, streams of records, one a column, C for each swap
    row, aux : In, streams of what a tile's valid rows bring with them, for tiles that use it
    table, lut : In, streams of writes into the tables of the relative bias and of the activation
    out : ``Out(stream.Signature(row_layout(config)))``, the valid rows of the tiles, in order
    statistics : Out, stream of each tile's statistics

    All but ``cmd``, ``a``, ``w`` and ``out`` exist only where the configuration builds their feature.

    Latency
    -------
    :attr:`latency` cycles from the last operands of a tile to its first row at ``out``.

    Throughput
    ----------
    One step a cycle; a tile takes ``max(K, config.tile_period)`` cycles. Back-pressure and missing operands delay, but
    never lose, repeat or change anything.
    """

    def __init__(self, config):
        self.config = config
        self._array = SystolicArray(config)
        collected = ColumnCollector.LATENCY if config.group > 1 else 0
        #: Cycles from a tile's event to the tag of its first element at the first lane.
        lead = self._array.latency + collected
        self._tag_delay = lead - DrainTagger.LATENCY
        self._epilogue = EpilogueRow(config, config.acc_range, skew=config.group, lead=lead, period=config.tile_period)
        # An input buffer and the sequencer before it, the output buffer behind it.
        self.latency = 2 + lead + self._epilogue.latency + RowBuffer.LATENCY
        # Room for the rows of all tiles on their way at full speed, so that waiting for room costs no cycle.
        self.out_depth = 1 << (config.rows * (2 + self.latency // config.tile_period) - 1).bit_length()
        self._streams = side_streams(config)
        members = {
            "cmd": In(stream.Signature(command_layout(config))),
            "a": In(stream.Signature(operand_layout(config.activation_type, config.rows))),
            "w": In(stream.Signature(operand_layout(config.weight_type, config.cols))),
            "out": Out(stream.Signature(row_layout(config))),
        }
        members |= {name: In(stream.Signature(shape)) for name, shape in self._streams.items()}
        if config.epilogue is not None and config.epilogue.statistics:
            members["statistics"] = Out(stream.Signature(layout(statistics_fields(config))))
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.sequencer = sequencer = Sequencer(config)
        m.submodules.array = array = self._array
        m.submodules.drain = drain = DrainTagger(config)
        m.submodules.epilogue = epilogue = self._epilogue
        m.submodules.admission = admission = Admission(
            config,
            period=config.tile_period,
            room=self.out_depth,
            streams=self._streams,
            feed_depth=epilogue.feed_depth,
        )

        wiring.connect(m, self._buffered(m, "a"), sequencer.a)
        self._connect_commands(m, sequencer)
        for name in self._streams:
            wiring.connect(m, self._buffered(m, name), getattr(epilogue, name))
        m.d.comb += [
            array.a.eq(sequencer.a_step),
            array.w.eq(sequencer.w_step),
            array.tag.eq(sequencer.tag),
            drain.event.eq(sequencer.event),
            epilogue.push.eq(sequencer.event.valid),
            epilogue.tag.eq(delay(m, drain.tag, self._tag_delay, "tag", reset_less=False)),
            admission.command.eq(sequencer.command),
            admission.loaded.eq(sequencer.loaded),
            admission.end.eq(sequencer.end),
            sequencer.may_end.eq(admission.may_end),
        ]
        connect_admission(m, admission, epilogue)
        connect_modes(m, config, sequencer.issued, epilogue)
        self._collect(m, array, sequencer.event.valid)
        connect_output(m, self, epilogue, admission, self.out_depth)
        return m

    def _connect_commands(self, m, sequencer):
        """Commands and weights; where weights are kept, both go through the unit that keeps them."""
        weights = self._buffered(m, "w")
        if not self.config.replay_depth:
            wiring.connect(m, wiring.flipped(self.cmd), sequencer.cmd)
            wiring.connect(m, weights, sequencer.w)
            return
        m.submodules.replay = replay = WeightReplay(self.config)
        wiring.connect(m, weights, replay.i)
        wiring.connect(m, replay.o, sequencer.w)
        # Both take the same commands, each when it is ready.
        takers = {"sequencer": sequencer.cmd, "replay": replay.cmd}
        done = {name: Signal(name=f"{name}_has_command") for name in takers}
        ready = [done[name] | taker.ready for name, taker in takers.items()]
        m.d.comb += self.cmd.ready.eq(Cat(ready).all())
        for name, taker in takers.items():
            m.d.comb += [taker.payload.eq(self.cmd.payload), taker.valid.eq(self.cmd.valid & ~done[name])]
            m.d.sync += done[name].eq(self.cmd.valid & ~self.cmd.ready & (done[name] | taker.ready))

    def _buffered(self, m, name):
        port = getattr(self, name)
        m.submodules[f"{name}_buffer"] = buffer = StreamBuffer(port.payload.shape())
        wiring.connect(m, wiring.flipped(port), buffer.i)
        return buffer.o

    def _collect(self, m, array, event):
        """Brings the columns to the lanes, and row sums to the first."""
        config, epilogue = self.config, self._epilogue
        start = delay(m, event, array.latency, "collect", reset_less=False)
        has_sums = hasattr(epilogue, "row_sum")
        if config.group == 1:
            m.d.comb += epilogue.acc.eq(array.acc)
            if has_sums:
                m.d.comb += epilogue.row_sum.eq(array.row_sum)
            return
        if has_sums:
            width = len(array.row_sum)
            m.submodules.collector_sum = collector = ColumnCollector(config.rows, 1, width, spacing=config.group)
            m.d.comb += [
                collector.acc[0].eq(array.row_sum),
                collector.start.eq(start),
                epilogue.row_sum.eq(collector.o),
            ]
        for lane in range(config.lanes):
            collector = ColumnCollector(config.rows, config.group, config.acc_range.signed_width)
            m.submodules[f"collector_{lane}"] = collector
            m.d.comb += [
                Cat(collector.acc).eq(Cat(array.acc[lane * config.group + c] for c in range(config.group))),
                collector.start.eq(start),
                epilogue.acc[lane].eq(collector.o),
            ]
            start = delay(m, start, config.group, f"collect_{lane}", reset_less=False)
