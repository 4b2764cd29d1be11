"""`plusb run FILE`: models through the generated hardware, every layer equal to the model's own runtime."""

import itertools
import logging

import numpy as np
import pytest

from .models_tflite import convolution, fully_connected
from .run_models import NAMES, RUNTIMES, model_file, real_input, run

pytest.importorskip("tflite_micro")
pytestmark = pytest.mark.slow


def assert_equal(read):
    """Nothing differs, and every layer takes the cycles that were predicted."""
    assert [layer for layer in read["layers"] if layer["mismatches"]] == []
    assert (read["mismatches"], read["answers_differ"]) == (0, 0)
    assert [layer["cycles"] for layer in read["layers"]] == [layer["predicted_cycles"] for layer in read["layers"]]
    assert read["cycles"] == read["predicted_cycles"]


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", NAMES)
def test_real_models_on_medium(capsys, name, runtime):
    file = model_file(name)
    read = run(capsys, file, "--runtime", runtime, "--config", "medium", *real_input(name))
    assert_equal(read)
    assert len(read["layers"]) == {"hello": 3, "ad01_": 10, "kws_r": 10, "pretr": 10, "vww_9": 28}[name[:5]]
    assert ("float32" in read["families"]) == (runtime == "litert-xnnpack")
    # The limits, of the simulation itself; nowhere near, so that a busy machine passes.
    assert read["seconds"] < {"kws_ref_model": 60, "pretrainedResnet_quant": 180}.get(name, 300)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_hello_world_on_tiny(capsys, runtime):
    assert_equal(run(capsys, model_file("hello_world_int8"), "--runtime", runtime, "--config", "tiny", "--limit", 3))


OPERATORS = {
    "fc.tflite": lambda r: fully_connected(r, 5, 64, 27, per_channel=True, activation=3, s_out=12 / 51),
    "conv.tflite": lambda r: convolution(r, (9, 8), 3, 5, (3, 2), stride=(2, 1), padding=1, dilation=(1, 2)),
    "groups.tflite": lambda r: convolution(r, (7, 6), 8, 16, (3, 2), groups=4),
    "depthwise.tflite": lambda r: convolution(r, (7, 6), 4, 8, (3, 3), depthwise=True, activation=1),
}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_on_tiny(capsys, tmp_path, name, runtime):
    (tmp_path / name).write_bytes(OPERATORS[name](np.random.default_rng(3)))
    assert_equal(run(capsys, tmp_path / name, "--runtime", runtime, "--config", "tiny", "--limit", 2))


@pytest.fixture
def onnx_file(tmp_path):
    """Writes a model that ``onnxruntime.quantization`` made."""
    models_onnx = pytest.importorskip("tests.models_onnx")
    logging.disable(logging.WARNING)

    def write(make):
        (tmp_path / "m.onnx").write_bytes(make(models_onnx, np.random.default_rng(11)))
        return tmp_path / "m.onnx"

    yield write
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(("qdq", "signed", "per_channel"), list(itertools.product((False, True), repeat=3)))
@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_statically_quantized_onnx_models(capsys, onnx_file, kind, qdq, signed, per_channel):
    form = {"qdq": qdq, "signed": signed, "per_channel": per_channel}
    path = onnx_file(lambda models, rng: models.static(getattr(models, kind)(rng), rng, **form))
    read = run(capsys, path, "--config", "small", "--limit", 2)
    assert_equal(read)
    assert (read["runtime"], read["families"]) == ("ort", ["float32"])
    assert any("QDQ" in layer["op"] for layer in read["layers"]) == qdq


@pytest.mark.parametrize("w_signed", [False, True])
@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_dynamically_quantized_onnx_models(capsys, onnx_file, kind, w_signed):
    path = onnx_file(lambda models, rng: models.dynamic(getattr(models, kind)(rng), w_signed=w_signed))
    read = run(capsys, path, "--config", "small", "--limit", 2)
    assert_equal(read)
    assert "raw sums" in read["notes"][1]
