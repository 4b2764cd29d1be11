"""`plusb run FILE`: its options, what it prints, and one line for everything that is wrong."""

from pathlib import Path

import numpy as np
import pytest
from plusb.gen import cli
from plusb.gen.commands import model_run
from plusb.gen.commands.model_report import layer_sizes, pick_layers
from plusb.gen.cost import cycles
from plusb.gen.models import open_model, run_layer
from plusb.sim.model_layers import LayerResult, ModelUnit

from .models_tflite import fully_connected
from .run_models import NAMES, RUNTIMES, fails, model_file, real_input, run

pytest.importorskip("tflite_micro")

KEYS = [
    *("model", "runtime", "golden", "families", "config", "inputs", "accuracy", "layers", "outputs", "mismatches"),
    *("answers_differ", "cycles", "predicted_cycles", "cycles_epilogue_off", "seconds", "cycles_per_second", "notes"),
]
LAYER_KEYS = [
    *("name", "op", "m", "k", "n", "products", "macs", "cycles", "predicted_cycles", "ideal_cycles", "utilization"),
    *("outputs", "mismatches", "seconds"),
]


class Golden:
    """Stands in for the hardware; adds ``error`` to the first output of the layer called ``wrong``."""

    wrong, error, late = "", 0, 0

    def run(self, layer, x, *, progress=None):
        y = run_layer(layer, x)
        y.reshape(-1)[0] += self.error * (layer.name == self.wrong)
        progress(1)
        predicted = cycles(self.config, layer_sizes(layer)) + self.late
        return LayerResult(y=y, cycles=predicted, predicted_cycles=predicted, seconds=0.5)

    def __call__(self, config, *, waves):
        self.config = config
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def hardware(monkeypatch):
    golden = Golden()
    monkeypatch.setattr(model_run, "open_model_unit", golden)
    return golden


@pytest.fixture
def two_layers(tmp_path):
    (tmp_path / "fc.tflite").write_bytes(fully_connected(np.random.default_rng(0), 2, 8, 6))
    return tmp_path / "fc.tflite"


def test_json(capsys, hardware, two_layers):
    read = run(capsys, two_layers, "--runtime", "tflm", "--limit", 3)
    assert list(read) == KEYS
    assert [list(layer) for layer in read["layers"]] == [LAYER_KEYS] * len(read["layers"])
    (layer,) = read["layers"]
    assert [layer[key] for key in ("m", "k", "n", "macs", "outputs")] == [2, 8, 6, 288, 36]
    assert read["cycles"] == read["predicted_cycles"] == layer["cycles"] > read["cycles_epilogue_off"]
    assert (read["inputs"], read["seconds"], read["accuracy"]) == (3, 1.5, None)
    assert read["cycles_per_second"] == round(read["cycles"] / 1.5)
    assert read["notes"] == ["inputs are random (seed 0); --input FILE takes real ones"]


def test_a_mismatch_fails_the_run(capsys, hardware, two_layers):
    hardware.wrong, hardware.error = "0:FULLY_CONNECTED", 1
    assert cli.main(["run", str(two_layers), "--runtime", "tflm"]) == 1
    out = capsys.readouterr().out
    assert "compared    12 outputs with tflm, 1 mismatches" in out
    assert "answers     1 of 1 differ from the untouched model's" in out
    assert "note        0:FULLY_CONNECTED: 1 outputs differ from the golden model of the unit" in out


def test_other_cycles_than_predicted_are_told(capsys, hardware, two_layers):
    hardware.late = 1
    read = run(capsys, two_layers, "--runtime", "tflm")
    assert read["notes"][1] == f"0:FULLY_CONNECTED: the unit took {read['cycles']} cycles and not the predicted ones"
    assert read["predicted_cycles"] == read["cycles"] - 1


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_golden(capsys, two_layers, runtime):
    read = run(capsys, two_layers, "--runtime", runtime, "--golden", "--limit", 4)
    assert (read["outputs"], read["mismatches"], read["cycles"]) == (48, 0, None)
    assert read["predicted_cycles"] > 0
    assert any("small is assumed with rounding float32 in place of" in n for n in read["notes"]) == (
        runtime == "litert-xnnpack"
    )


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("vww")])
def test_golden_model_on_real_models(capsys, name, runtime):
    read = run(capsys, model_file(name), "--runtime", runtime, "--golden", *real_input(name))
    assert (read["mismatches"], read["answers_differ"]) == (0, 0)


def test_golden_is_that_of_the_unit(capsys, monkeypatch, two_layers):
    """A unit that stores less than the model has gives other results, and the golden model tells it."""
    monkeypatch.chdir(two_layers.parent)
    Path("narrow.toml").write_text("[epilogue]\nmultiplier_width = 8\nbias_width = 8\n", encoding="utf-8")
    read = run(capsys, two_layers, "--runtime", "tflm", "--golden", "--config", "narrow.toml", code=1)
    assert read["mismatches"] > 0


def test_table(capsys, hardware, two_layers):
    np.save(two_layers.parent / "x.npy", np.zeros((2, 2, 8), np.int8))
    assert cli.main(["run", str(two_layers), "--runtime", "litert", "--input", str(two_layers.parent / "x.npy")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{two_layers}, 2 inputs, on small: 4x4 array, 4 epilogue lanes"
    assert lines[1] == f"note        inputs: {two_layers.parent / 'x.npy'}, int8 as it is"
    assert lines[2].split() == "layer operator M x K x N MACs cycles predicted utilization outputs mismatches".split()
    assert "answers     equal to the untouched model's" in lines


def test_layers_are_picked():
    session = open_model(model_file("kws_ref_model"), "litert")

    def picked(text):
        return [layer.spec.index for layer in pick_layers(session.layers, text)]

    assert picked(None) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 11]
    assert picked("11,2..4, 0:CONV_2D") == [0, 2, 3, 4, 11]
    assert picked("8..99") == [8, 11]


def test_some_layers(capsys, hardware):
    read = run(capsys, model_file("kws_ref_model"), "--runtime", "litert", "--layers", "0,11")
    assert [layer["name"] for layer in read["layers"]] == ["0:CONV_2D", "11:FULLY_CONNECTED"]
    assert read["answers_differ"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layers", "1"], "argument --layers: must name layers of 0:FULLY_CONNECTED, not '1'"),
        (["--layers", "0,"], "argument --layers: must name layers of 0:FULLY_CONNECTED, not ''"),
        (["--runtime", "ort"], "{model}: the runtime of a .tflite file must be one of litert-ref, litert, "),
        (["--runtime", "x"], "argument --runtime: invalid choice: 'x'"),
        (["--input", "no.npy"], "no.npy: No such file or directory"),
        (["--raw"], "argument --raw: there is no --input FILE to read so"),
        (["--hop", "2"], "argument --hop: there is no --input FILE to read so"),
        (["--golden", "--waves", "w.vcd"], "argument --waves: --golden runs no hardware that could be traced"),
        (["--waves", "no/w.vcd"], "no/w.vcd: No such file or directory"),
        (["--board", "x", "--waves", "w.vcd"], "argument --waves: a board at --board shows no waveform"),
        (["--board", "x", "--golden"], "argument --golden: it takes the place of the hardware, which --board asks for"),
        (["--board", "/dev/nowhere", "--runtime", "tflm"], "cannot open /dev/nowhere: No such file or directory; "),
        (["--board", "x"], "{model} on litert-xnnpack needs small with rounding float32 in place of gemmlowp, ruy, "),
        (["--config", "short.toml"], "{model}: 0:FULLY_CONNECTED: K must be in 1..4 (max_k of the unit), not 8"),
        (["--config", "uint8.toml"], "{model}: 0:FULLY_CONNECTED: x must be uint8, not in "),
    ],
)
def test_bad_arguments(capsys, hardware, monkeypatch, two_layers, arguments, message):
    monkeypatch.chdir(two_layers.parent)
    monkeypatch.setattr(hardware, "run", lambda layer, x, progress: ModelUnit(hardware.config, None).run(layer, x))
    Path("short.toml").write_text("rows = 1\ncols = 1\nmax_k = 4\n", encoding="utf-8")
    Path("uint8.toml").write_text('rows = 1\ncols = 1\nactivation = "uint8"\n', encoding="utf-8")
    assert fails(capsys, "fc.tflite", *arguments).startswith(message.format(model="fc.tflite"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("no.tflite", None, "no.tflite: No such file or directory"),
        ("m.tflite", b"", "m.tflite: "),
        ("m.onnx", b"no model", "m.onnx: damaged ONNX file"),
    ],
)
def test_bad_models(capsys, monkeypatch, tmp_path, name, content, message):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(name).write_bytes(content)
    assert fails(capsys, name).startswith(message)


@pytest.mark.parametrize("option", [["--golden"], ["--raw"], ["--layers", "1"], ["--input", "x.npy"]])
def test_options_that_digits_do_not_have(capsys, option):
    message = fails(capsys, "digits", *option)
    assert message == f"argument {option[0]}: digits come with their images and runtime; it is for model files"
