"""Products and networks on virtual boards, and the command line around boards."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager
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
from plusb.gen.lower import lower
from plusb.gen.reference import reference
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.engine import Engine
from plusb.rtl.numeric import Family
from plusb.rtl.presets import PRESETS
from plusb.rtl.toml import dumps

from .run_models import fails, model_file, run

# Each strip of weights crosses the line once, and activations less often than with fewer columns.
REPLAY = PRESETS["medium"].replace(replay_depth=128)
FEATURES = EngineConfig(
    rows=3,
    cols=2,
    lanes=1,
    max_k=256,
    epilogue=EpilogueConfig(families=("half_up",), bias=("channel", "row"), raw=True, weight_zero_point=True),
)


def virtual(config, **options):
    # The clock is that of `plusb fpga emulate ulx3s_85f`, so that both are one build.
    return emulate(Engine(config), config_hash=bytes.fromhex(config.config_hash), engine_hz=100e6, **options)


def few_digits():
    net = network.load()
    return replace(net, images=net.images[:4], labels=net.labels[:4])


@pytest.mark.slow
def test_all_digits():
    """The whole test set, on a board that other hosts left in the middle of a layer."""
    net, shares = network.load(), []
    golden = net.quantize_input(net.images)
    for layer in net.layers:
        golden = reference(REPLAY, layer, golden).out
    with virtual(REPLAY) as running:
        for _ in range(2):
            with Board(running.port, config=REPLAY) as board:
                board.transfer({"a": bytes(300), "w": bytes(133)})
        with Board(running.port, config=REPLAY) as board:
            layers, scores = run_layers(board, REPLAY, net, progress=lambda *share: shares.append(share))
            assert board.read(0) == b""
    assert [(layer.m, layer.mismatches) for layer in layers] == [(360, 0)] * 3
    assert sum(layer.outputs for layer in layers) == 72_720
    assert np.array_equal(scores, golden)
    assert f"{net.accuracy(scores):.2%}" == "98.61%"
    assert all(0 <= share <= 1 for _, share in shares)
    assert shares[-1] == ("fc3", 1)


@pytest.mark.slow
def test_digits_over_a_noisy_line():
    noise = Noise(drop=2e-4, flip=2e-4, garbage=2e-4)
    with virtual(REPLAY, noise=noise) as running, Board(running.port, config=REPLAY) as board:
        layers, _ = run_layers(board, REPLAY, few_digits())
        assert [layer.mismatches for layer in layers] == [0, 0, 0]
        assert board.counters.retries > 0
        assert board.read(0) == b""


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
        other = FEATURES.replace(max_k=128)
        with pytest.raises(
            ValueError, match=f"^program must be of the board's configuration, not of '{other.config_hash}'$"
        ):
            board.run_program(lower(other, gemm, x))
    with virtual(FEATURES) as running, Board(running.port) as board:
        with pytest.raises(ValueError, match=r"^config must be given to the board for it to run a product, not None$"):
            board.run(gemm, x)


@contextmanager
def emulated(folder, config):
    """The port of ``plusb fpga emulate``, and the options with which ``plusb run`` finds it."""
    path = folder / "unit.toml"
    path.write_text(dumps(config))
    command = [sys.executable, "-m", "plusb.gen.cli", "fpga", "emulate", "ulx3s_85f", "--config", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip()
            assert "a virtual ULX3S 85F with unit" in process.stdout.readline()
            yield port, ["--config", path, "--board", port]
        finally:
            process.kill()


@pytest.mark.slow
def test_commands(tmp_path, capsys):
    with emulated(tmp_path, REPLAY) as (port, options):
        assert re.match("/dev/", port)
        assert cli.main(["fpga", "selftest", port]) == 0
        assert "engine at 100 MHz\nself-test passed\n" in capsys.readouterr().out
        result = run(capsys, "digits", *options, "--limit", 4)
        assert (result["mismatches"], result["clock_hz"], len(result["layers"])) == (0, 100_000_000, 3)
        assert cli.main(["run", "digits", *map(str, options), "--limit", "2"]) == 0
        assert "compared    404 outputs, 0 mismatches" in capsys.readouterr().out
        message = fails(capsys, "digits", "--board", port, "--config", "tiny")
        assert f"not {PRESETS['tiny'].config_hash}: build and load" in message


@pytest.mark.slow
def test_models(tmp_path, capsys):
    pytest.importorskip("tflite_micro")
    hello, keywords = model_file("hello_world_int8"), model_file("kws_ref_model")
    with emulated(tmp_path, REPLAY) as (port, options):
        read = run(capsys, hello, *options, "--runtime", "tflm", "--limit", 3)
        assert (read["inputs"], read["outputs"], read["mismatches"], read["answers_differ"]) == (3, 99, 0, 0)
        assert (read["clock_hz"], read["cycles"], read["cycles_per_second"]) == (100_000_000, None, None)
        assert all(layer["seconds"] > 0 for layer in read["layers"])
        assert read["line"]["frames"] > 9
        # A depthwise and a fully connected layer.
        assert cli.main(["run", str(keywords), *map(str, options), "--runtime", "litert", "--layers", "1,11"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"{keywords}, 1 input, on the board at {port}: 8x8 array at 100 MHz"
        assert lines[2].split() == "layer operator M x K x N MACs seconds outputs mismatches".split()
        assert "compared    8,012 outputs with litert, 0 mismatches" in lines
        assert re.fullmatch(r"line        \d+\.\d\d s, [\d,]+ frames, \d+ sent again", lines[-1])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["fpga"], "the following arguments are required: action (see plusb fpga --help)"),
        (["fpga", "build"], "the following arguments are required: BOARD (see plusb fpga build --help)"),
        (["fpga", "build", "icestick"], f"board must be one of {', '.join(BOARDS)}, not 'icestick'"),
        (["fpga", "build", "icebreaker", "--config", "huge"], "config must be one of tiny, up5k, hx8k, "),
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
    assert {"icebreaker", "ulx3s_85f", "tang_nano_9k"} <= {board for board, _ in figures.load()}
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
