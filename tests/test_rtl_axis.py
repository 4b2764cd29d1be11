from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from plusb.rtl.axis import AxisTop
from plusb.rtl.config import EngineConfig
from plusb.rtl.formats import row_layout

from .rtl_sim import play

_CONFIG = EngineConfig(rows=1, cols=2, epilogue=None)


class _Inner(wiring.Component):
    """Hands words on as rows: bits 0 and 1 as ``keep``, bit 2 as ``last``, and itself as data."""

    def __init__(self):
        super().__init__({"word": In(stream.Signature(11)), "out": Out(stream.Signature(row_layout(_CONFIG)))})

    def elaborate(self, platform):
        m = Module()
        word = self.word.payload
        m.d.comb += [
            self.out.payload.data[0].eq(word),
            self.out.payload.data[1].eq(~word),
            self.out.payload.keep.eq(word[:2]),
            self.out.payload.last.eq(word[2]),
            self.out.valid.eq(self.word.valid),
            self.word.ready.eq(self.out.ready),
        ]
        return m


def test_streams_become_flat_ports():
    top = AxisTop(_Inner())
    ports = {name: (member.flow, member.shape) for name, member in top.signature.members.items()}
    want = {
        "s_axis_word_tdata": (In, 16),
        "s_axis_word_tvalid": (In, 1),
        "s_axis_word_tready": (Out, 1),
        "m_axis_out_tdata": (Out, 64),
        "m_axis_out_tkeep": (Out, 8),
        "m_axis_out_tlast": (Out, 1),
        "m_axis_out_tvalid": (Out, 1),
        "m_axis_out_tready": (In, 1),
    }
    assert list(ports.items()) == list(want.items())  # AXI4-Stream's order too
    inputs = {
        "s_axis_word_tdata": [0b001, 0b110, 0xF800 | 0b011],  # the padding above bit 10 is ignored
        "s_axis_word_tvalid": [1, 0, 1],
        "m_axis_out_tready": [0, 1, 1],
    }
    outputs = [f"m_axis_out_t{part}" for part in ("data", "keep", "last", "valid")]
    data, keep, last, valid, ready = play(top, inputs, [*outputs, "s_axis_word_tready"], combinational=True)
    assert data == [0x7FE_00000001, 0x7F9_00000006, 0x7FC_00000003]
    assert keep == [0x0F, 0xF0, 0xFF]
    assert last == [0, 1, 0]
    assert valid == [1, 0, 1]
    assert ready == [0, 1, 1]
