"""Products and networks on virtual boards, and the command line around boards."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from plusb.fpga import figures
from plusb.fpga.boards import BOARDS
from plusb.fpga.emulate import Noise, emulate
from plusb.fpga.host import Board
from plusb.gen import cli
from plusb.gen.commands.run_board import run_layers
from plusb.gen.digits import network
from plusb.gen.gemm import Gemm
from plusb.gen.reference import reference
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.engine import Engine
from plusb.rtl.numeric import Family
from plusb.rtl.presets import PRESETS
from plusb.rtl.toml import dumps

SMALL = PRESETS["small"]
FEATURES = EngineConfig(
    rows=3,
    cols=2,
    lanes=1,
    max_k=256,
    epilogue=EpilogueConfig(families=("half_up",), bias=("channel", "row"), raw=True, weight_zero_point=True),
)


def virtual(config, **options):
    return emulate(Engine(config), config_hash=bytes.fromhex(config.config_hash), **options)


def digits(count):
    net = network.load()
    return replace(net, images=net.images[:count], labels=net.labels[:count])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "noise"), [(16, None), (4, Noise(drop=2e-4, flip=2e-4, garbage=2e-4))], ids=["clean", "noise"]
)
def test_digits(count, noise):
    net = digits(count)
    shares = []
    with virtual(SMALL, noise=noise) as running, Board(running.port, config=SMALL) as board:
        layers, scores = run_layers(board, SMALL, net, progress=lambda name, share: shares.append((name, share)))
        assert [layer.mismatches for layer in layers] == [0, 0, 0]
        assert sum(layer.outputs for layer in layers) == count * (128 + 64 + 10)
        assert net.accuracy(scores) >= 0.7
        # On a busy machine there are time-outs without any noise.
        assert board.counters.retries > 0 or noise is None
        assert board.read(0) == b""
    assert all(0 <= share <= 1 for _, share in shares)
    assert shares[-1] == ("fc3", 1)


@pytest.mark.slow
def test_host_that_starts_over():
    """In the middle of a layer, twice; then digits of every kind."""
    net = digits(40)
    with virtual(SMALL) as running:
        for _ in range(2):
            with Board(running.port, config=SMALL) as board:
                board.transfer({"a": bytes(300), "w": bytes(133)})
        with Board(running.port, config=SMALL) as board:
            layers, scores = run_layers(board, SMALL, net)
    assert [layer.mismatches for layer in layers] == [0, 0, 0]
    assert net.accuracy(scores) >= 0.95


@pytest.mark.slow
def test_products():
    rng = np.random.default_rng(3)
    w, x = rng.integers(-128, 128, (20, 5)), rng.integers(-128, 128, (7, 20))
    gemm = Gemm(
        name="t",
        op="t",
        w=w,
        bias=rng.integers(-900, 900, 5),
        family=Family.half_up,
        multiplier=rng.integers(2**30, 2**31, 5),
        shift=np.full(5, -8),
        zp_out=3,
        zw=rng.integers(-8, 8, 5),
    )
    with virtual(FEATURES) as running, Board(running.port, config=FEATURES) as board:
        assert np.array_equal(board.run(gemm, x), reference(FEATURES, gemm, x).out)
        raw = replace(gemm, raw=True)
        assert np.array_equal(board.run(raw, x), reference(FEATURES, raw, x).out)
        got = board.gemm(x, w, multiplier=1 << 30, shift=-8, family="half_up", zp_out=-1)
        plain = replace(gemm, bias=np.zeros(5, np.int64), multiplier=np.full(5, 1 << 30), zp_out=-1, zw=None)
        assert np.array_equal(got, reference(FEATURES, plain, x).out)
        with pytest.raises(ValueError, match=r"^K must be in 1\.\.256"):
            board.gemm(np.zeros((1, 300), int), np.zeros((300, 1), int), multiplier=1 << 30, shift=0, family="half_up")
        with pytest.raises(ValueError, match=r"^w must be of shape \(K, N\), not \(3,\)$"):
            board.gemm(x, [1, 2, 3])
    with virtual(FEATURES) as running, Board(running.port) as board:
        with pytest.raises(ValueError, match=r"^config must be given to the board for it to run a product, not None$"):
            board.run(gemm, x)


@pytest.mark.slow
def test_commands(tmp_path, capsys):
    path = tmp_path / "features.toml"
    path.write_text(dumps(FEATURES))
    command = [sys.executable, "-m", "plusb.gen.cli", "fpga", "emulate", "ulx3s_85f", "--config", "small"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip()
            assert re.match("/dev/", port)
            assert "a virtual ULX3S 85F with small" in process.stdout.readline()
            assert cli.main(["fpga", "selftest", port]) == 0
            assert "engine at 100 MHz\nself-test passed\n" in capsys.readouterr().out
            assert cli.main(["run", "digits", "--board", port, "--limit", "4", "--json"]) == 0
            result = json.loads(capsys.readouterr().out)
            assert (result["mismatches"], result["clock_hz"], len(result["layers"])) == (0, 100_000_000, 3)
            assert cli.main(["run", "digits", "--board", port, "--limit", "2"]) == 0
            assert "compared    404 outputs, 0 mismatches" in capsys.readouterr().out
            assert cli.main(["run", "digits", "--board", port, "--config", "tiny"]) == 2
            assert f"not {PRESETS['tiny'].config_hash}: build and load" in capsys.readouterr().err
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["fpga"], "the following arguments are required: action (see plusb fpga --help)"),
        (["fpga", "build"], "the following arguments are required: BOARD (see plusb fpga build --help)"),
        (["fpga", "build", "icestick"], f"board must be one of {', '.join(BOARDS)}, not 'icestick'"),
        (["fpga", "build", "icebreaker", "--config", "huge"], "config must be one of tiny, up5k, small, "),
        (["fpga", "build", "icebreaker", "--freq", "x"], "argument --freq: invalid frequency in MHz value: 'x'"),
        (["fpga", "build", "icebreaker", "--freq", "1"], "1 MHz"),
        (["fpga", "build", "icebreaker", "--baud", "9000000"], "9000000"),
        (["fpga", "emulate", "icebreaker", "--drop", "2"], "argument --drop: invalid chance value: '2'"),
        (
            ["fpga", "selftest", "/dev/nowhere"],
            "cannot open /dev/nowhere: No such file or directory; serial ports found: ",
        ),
        (["run", "digits", "--board", "/dev/nowhere"], "cannot open /dev/nowhere: No such file or directory; serial"),
        (
            ["run", "digits", "--board", "x", "--waves", "y.vcd"],
            "argument --waves: a board at --board shows no waveform",
        ),
    ],
)
def test_errors(argv, message, capsys):
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


def test_statistics_are_refused(tmp_path, capsys):
    path = tmp_path / "stats.toml"
    path.write_text(dumps(EngineConfig(rows=1, cols=1, epilogue=EpilogueConfig(statistics=True))))
    assert cli.main(["fpga", "build", "icebreaker", "--config", str(path)]) == 2
    assert capsys.readouterr().err == "error: the boards have no stream for statistics, and stats builds them\n"


def test_boards_and_committed_figures(capsys):
    assert cli.main(["fpga", "boards"]) == 0
    out = capsys.readouterr().out
    for name, board in BOARDS.items():
        assert name in out
        assert board.preset in PRESETS
    assert cli.main(["fpga", "boards", "--json"]) == 0
    assert [entry["board"] for entry in json.loads(capsys.readouterr().out)] == list(BOARDS)
    # Without any figures it says how to get some.
    assert cli.main(["fpga", "report"]) == (0 if figures.load() else 2)
    assert "plusb fpga build " in "".join(capsys.readouterr())
    for entry in figures.load().values():
        assert entry.fmax_mhz >= 0.995 * entry.freq_mhz
        assert entry.command.startswith(f"plusb fpga build {entry.board} ")
        device = BOARDS[entry.board].device
        assert entry.luts <= device.luts
        assert entry.dsps <= max(device.dsps, 4 * device.dsps * (device.family == "gowin"))


def test_records_replace_each_other(tmp_path):
    path = tmp_path / "figures.toml"
    assert figures.load(path) == {}
    entry = figures.Figures(
        board="ulx3s_85f",
        config="small",
        command="x",
        macs=16,
        luts=1,
        ffs=2,
        dsps=3,
        brams=4,
        freq_mhz=100.0,
        fmax_mhz=101.0,
        gops=3.2,
        tools=("yosys",),
    )
    first = replace(entry, board="icebreaker")
    for item in (entry, first, replace(entry, luts=9)):
        figures.record(item, path)
    assert list(figures.load(path).values()) == [first, replace(entry, luts=9)]
