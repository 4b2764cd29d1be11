"""The epilogue alone: accumulator rows of anybody's array in, finished rows out."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .admission import Admission
from .epilogue import EpilogueRow, side_streams
from .fields import layout
from .formats import command_layout, row_layout, statistics_fields
from .interval import Interval
from .plumbing import connect_admission, connect_modes, connect_output
from .row_buffer import RowBuffer
from .row_sequencer import RowSequencer
from .stream_buffer import StreamBuffer

__all__ = ["EpilogueUnit"]


class EpilogueUnit(wiring.Component):
    """``out = epilogue(acc)``, row by row, tile by tile.

    Parameters
    ----------
    config : EngineConfig
        ``rows`` is the most rows of a tile; ``cols`` and ``lanes`` are the width of a row and the number of lanes;
        ``activation``, ``weight`` and ``max_k`` bound row and column sums. The epilogue must be built.

    Members
    -------
    cmd : ``In(stream.Signature(command_layout(config, engine=False)))``, one command a tile
    acc : In, stream of rows of C signed accumulators, any value of 32 bits (48 for int16 activations)
    bias, scale, row, aux, table, lut : In, as in :class:`~plusb.rtl.engine.Engine`; row sums come with ``row``
    out, statistics : Out, as in :class:`~plusb.rtl.engine.Engine`

    Latency
    -------
    :attr:`latency` cycles from a row to the finished row.

    Throughput
    ----------
    One row each ``config.group`` cycles, and no gap between tiles of :attr:`RowSequencer.PERIOD` cycles or more.

    Raises
    ------
    ValueError
        If the configuration has no epilogue.
    """

    def __init__(self, config):
        if config.epilogue is None:
            raise ValueError("epilogue must be built for a unit of the epilogue alone, not None")
        self.config = config
        self._acc_range = Interval.signed(config.raw_width)
        self._epilogue = EpilogueRow(
            config, self._acc_range, skew=0, lead=RowSequencer.PERIOD, period=RowSequencer.PERIOD, engine=False
        )
        # An input buffer and the row sequencer before it, the output buffer behind it.
        self.latency = 2 + self._epilogue.latency + RowBuffer.LATENCY
        self.out_depth = 1 << (2 * config.rows + self.latency // config.group).bit_length()
        self._streams = side_streams(config, engine=False)
        members = {
            "cmd": In(stream.Signature(command_layout(config, engine=False))),
            "acc": In(stream.Signature(data.ArrayLayout(signed(config.raw_width), config.cols))),
            "out": Out(stream.Signature(row_layout(config))),
        }
        members |= {name: In(stream.Signature(shape)) for name, shape in self._streams.items()}
        if config.epilogue.statistics:
            members["statistics"] = Out(stream.Signature(layout(statistics_fields(config))))
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.sequencer = sequencer = RowSequencer(config, config.raw_width)
        m.submodules.epilogue = epilogue = self._epilogue
        m.submodules.admission = admission = Admission(
            config,
            period=3,
            room=self.out_depth,
            streams=self._streams,
            feed_depth=epilogue.feed_depth,
            engine=False,
        )
        wiring.connect(m, wiring.flipped(self.cmd), sequencer.cmd)
        for name, inner in (("acc", sequencer.rows), *((name, getattr(epilogue, name)) for name in self._streams)):
            port = getattr(self, name)
            m.submodules[f"{name}_buffer"] = buffer = StreamBuffer(port.payload.shape())
            wiring.connect(m, wiring.flipped(port), buffer.i)
            wiring.connect(m, buffer.o, inner)
        pushed = Signal()
        m.d.sync += pushed.eq(sequencer.end)
        m.d.comb += [
            epilogue.acc.eq(sequencer.acc),
            epilogue.tag.eq(sequencer.tag),
            epilogue.push.eq(pushed),
            admission.command.eq(sequencer.command),
            admission.loaded.eq(sequencer.loaded),
            admission.end.eq(sequencer.end),
            sequencer.may_end.eq(admission.may_end),
        ]
        connect_admission(m, admission, epilogue)
        connect_modes(m, config, sequencer.command, epilogue)
        connect_output(m, self, epilogue, admission, self.out_depth)
        return m
