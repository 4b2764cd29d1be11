"""The engine: a systolic array whose accumulators flow through a bias epilogue into a stream of rows."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .array import SystolicArray
from .collector import ColumnCollector
from .delay import delay
from .drain import DrainTagger
from .epilogue import EpilogueRow
from .fields import width
from .formats import bias_fields, command_layout, operand_layout, row_layout, scale_fields
from .row_buffer import RowBuffer
from .sequencer import Sequencer
from .stream_buffer import StreamBuffer

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
    bias, scale : In, streams of records, one a column, C for each swap; only with an epilogue
    out : ``Out(stream.Signature(row_layout(config)))``, the valid rows of the tiles, in order

    Latency
    -------
    :attr:`latency` cycles from the last operands of a tile to its first row at ``out``.

    Throughput
    ----------
    One step a cycle; a tile takes ``max(K, config.tile_period)`` cycles. Back-pressure at ``out`` and missing operands
    delay, but never lose, repeat or change anything.
    """

    def __init__(self, config):
        self._config = config
        self._array = SystolicArray(config)
        self._collected = ColumnCollector.LATENCY if config.group > 1 else 0
        #: Cycles from a tile's event to the tag of its first element at the first lane.
        lead = self._array.latency + self._collected
        self._tag_delay = lead - DrainTagger.LATENCY
        self._epilogue = EpilogueRow(config, skew=config.group, lead=lead)
        # Input buffers and sequencer before it, output buffer behind it.
        self.latency = 2 + lead + self._epilogue.latency + RowBuffer.LATENCY
        # Room for the rows of all tiles on their way at full speed, so that waiting for room costs no cycle.
        self.out_depth = 1 << (config.rows * (2 + self.latency // config.tile_period) - 1).bit_length()
        members = {
            "cmd": In(stream.Signature(command_layout(config))),
            "a": In(stream.Signature(operand_layout(config.activation_type, config.rows))),
            "w": In(stream.Signature(operand_layout(config.weight_type, config.cols))),
            "out": Out(stream.Signature(row_layout(config))),
        }
        if config.epilogue is not None:
            members["bias"] = In(stream.Signature(width(bias_fields(config.epilogue))))
            members["scale"] = In(stream.Signature(width(scale_fields(config.epilogue))))
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.sequencer = sequencer = Sequencer(config, self.out_depth)
        m.submodules.array = array = self._array
        m.submodules.drain = drain = DrainTagger(config)
        m.submodules.epilogue = epilogue = self._epilogue

        def buffered(name):
            port = getattr(self, name)
            m.submodules[f"{name}_buffer"] = buffer = StreamBuffer(port.payload.shape())
            wiring.connect(m, wiring.flipped(port), buffer.i)
            return buffer.o

        wiring.connect(m, wiring.flipped(self.cmd), sequencer.cmd)
        for name in ("a", "w"):
            wiring.connect(m, buffered(name), getattr(sequencer, name))
        m.d.comb += [
            array.a.eq(sequencer.a_step),
            array.w.eq(sequencer.w_step),
            array.tag.eq(sequencer.tag),
            drain.event.eq(sequencer.event),
            epilogue.push.eq(sequencer.event.valid),
            epilogue.output_mode.cols.eq(sequencer.issued.cols),
        ]
        if config.epilogue is not None:
            for name in ("bias", "scale"):
                wiring.connect(m, buffered(name), getattr(epilogue, name))
                # A claim is seen one cycle later than it is made, which a tile that ends in the next cycle must know.
                claim = getattr(sequencer.event, f"swap_{name}")
                m.d.comb += [
                    getattr(sequencer, f"{name}_available").eq(getattr(epilogue, f"{name}_available") & ~claim),
                    getattr(epilogue, f"{name}_claim").eq(claim),
                ]
            m.d.comb += [getattr(epilogue.output_mode, name).eq(getattr(sequencer.issued, name)) for name in ("zp", "lo", "hi")]
            m.d.comb += epilogue.round_mode.family.eq(sequencer.issued.family)

        if config.group == 1:
            m.d.comb += epilogue.acc.eq(array.acc)
        else:
            self._collect(m, array.acc, sequencer.event.valid)
        m.d.comb += epilogue.tag.eq(delay(m, drain.tag, self._tag_delay, "tag", reset_less=False))

        m.submodules.out_buffer = out = RowBuffer(row_layout(config), self.out_depth)
        m.d.comb += [
            out.row.eq(epilogue.row),
            out.valid.eq(epilogue.row_valid),
            sequencer.row_taken.eq(self.out.valid & self.out.ready),
        ]
        wiring.connect(m, out.o, wiring.flipped(self.out))
        return m

    def _collect(self, m, columns, event):
        config = self._config
        start = delay(m, event, self._array.latency, "collect", reset_less=False)
        for lane in range(config.lanes):
            collector = ColumnCollector(config.rows, config.group, config.acc_range.signed_width)
            m.submodules[f"collector_{lane}"] = collector
            m.d.comb += [
                Cat(collector.acc).eq(Cat(columns[lane * config.group + c] for c in range(config.group))),
                collector.start.eq(start),
                self._epilogue.acc[lane].eq(collector.o),
            ]
            start = delay(m, start, config.group, f"collect_{lane}", reset_less=False)
