"""`plusb passes`: quantized models of both formats, its output, its errors, and damaged files."""

import json
from dataclasses import replace

import numpy as np
import pytest
from plusb.gen import cli
from plusb.gen.models import LayerSpec, ModelError
from plusb.gen.passes import examine
from plusb.gen.passes.find_quantized import find_quantized

pytest.importorskip("onnx")
pytest.importorskip("ai_edge_litert")

from . import models_onnx, models_tflite, passes_onnx
from .models_fuzz import mutate


def spec(index, **fixed):
    rng = np.random.default_rng(index)
    values = {
        "name": f"{index}:FC",
        "op": "FULLY_CONNECTED",
        "index": index,
        "input": 0,
        "output": index + 1,
        "in_shape": (4, 9),
        "out_shape": (4, 5),
        "x_dtype": np.dtype(np.int8),
        "y_dtype": np.dtype(np.int8),
        "w": rng.integers(-128, 128, (5, 1, 1, 9)).astype(np.int8),
        "w_zero": np.zeros(5, np.int64),
        "bias": rng.integers(-5000, 5000, 5),
        "s_in": np.float32(0.02),
        "s_w": np.full(1, 0.01, np.float32),
        "s_out": np.float32(0.1),
        "z_in": -128,
        "z_out": 3,
    }
    return LayerSpec(**(values | fixed))


def found(*specs):
    findings = {}
    for finding in find_quantized(specs, "tflm"):
        findings.setdefault(finding.rule, []).append(finding)
    return findings


def test_zero_point():
    (finding,) = found(spec(1))["zero-point"]
    assert finding.folds
    assert finding.why == (
        f"zero point -128: the bias goes from {finding.figures['bits_before']} to {finding.figures['bits_after']} "
        "signed bits"
    )
    (live,) = found(spec(1, z_key=7, z_in=0))["zero-point"]
    assert live.why == "the zero point is computed while the model runs: fold it then, once for each input"


def test_zero_bias():
    (bypass,) = found(spec(1, bias=None, z_in=0))["zero-bias"]
    assert bypass.folds
    (blocked,) = found(spec(1, bias=np.zeros(5, np.int64)))["zero-bias"]
    assert not blocked.folds
    assert blocked.why.startswith("the model's biases are all zero, but with zero point -128 folded ")
    (live,) = found(spec(1, bias=None, z_key=7, z_in=0))["zero-bias"]
    assert not live.folds
    assert "zero-bias" not in found(spec(1))


def test_duplicate_bias():
    a = spec(1)
    (same,) = found(a, spec(2, bias=a.bias.copy(), input=9))["duplicate-bias"]
    assert same.folds
    assert same.where == "1:FC + 2:FC"
    (other,) = found(a, spec(2, bias=a.bias.copy(), input=9, s_in=np.float32(0.01)))["duplicate-bias"]
    assert not other.folds
    assert other.why.endswith("scales differ by a factor of 0.5 are other numbers; check the converter")


def test_overflowing_bias():
    wide = np.array([0, 2**30, 1, 1, -(2**30)])
    (finding,) = found(spec(1, bias=wide))["overflowing-bias"]
    assert finding.why == "2 of 5 biases need up to 32 bits (dead channels?) and so 32-bit words"
    (finding,) = found(spec(1, bias=np.array([0, 2**31 - 9, 0, 0, 0])))["overflowing-bias"]
    assert finding.why.startswith("accumulator and bias of output channel ")
    (finding,) = found(spec(1, bias=wide * 4))["overflowing-bias"]
    assert finding.why == "bias 4294967296 of output channel 1 needs 34 bits, more than 32"
    assert "overflowing-bias" not in found(spec(1))


def test_parallel_layers():
    (merged,) = found(spec(1), spec(2), spec(3, input=5))["merge-parallel"]
    assert merged.folds
    assert merged.result.layer.n == 10
    assert merged.where == "1:FC + 2:FC"
    (blocked,) = found(spec(1), spec(2, z_out=4))["merge-parallel"]
    assert blocked.why == "the output zero point must be the same in all, not 3, 4"
    wide = spec(2, w_zero=np.full(5, 100))
    (blocked,) = found(spec(1), wide)["merge-parallel"]
    assert blocked.why.startswith("weights of more than 8 bits")
    raw = replace(spec(2), y_dtype=np.dtype(np.int32))
    (blocked,) = found(spec(1), raw)["merge-parallel"]
    assert blocked.why == "their results are of different types"


@pytest.fixture
def models(tmp_path):
    rng = np.random.default_rng(1)
    files = {
        "lite.tflite": models_tflite.fully_connected(rng, 3, 8, 5),
        "float.onnx": models_onnx.cnn(rng).SerializeToString(),
        "qdq.onnx": models_onnx.static(models_onnx.mlp(rng), rng, qdq=True, signed=True, per_channel=True),
        "dynamic.onnx": models_onnx.dynamic(models_onnx.mlp(rng)),
        "attention.onnx": passes_onnx.layer_attention(passes_onnx.attention(rng)).SerializeToString(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


@pytest.mark.parametrize("name", ["lite.tflite", "float.onnx", "qdq.onnx", "dynamic.onnx", "attention.onnx"])
def test_both_outputs_say_the_same(models, capsys, name):
    path = str(models / name)
    assert cli.main(["passes", path, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["model"] == path
    assert report["findings"]
    assert cli.main(["passes", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["pass", "folds", "where", "why"]
    assert len(lines) == len(report["findings"]) + 4
    folds = sum(finding["folds"] for finding in report["findings"])
    assert lines[-1] == f"{folds} of {len(report['findings'])} findings fold"
    for finding, line in zip(report["findings"], lines[2:], strict=False):
        assert line.startswith(finding["pass"])
        assert line.endswith(finding["why"])


def test_expected_findings(models):
    rules = {f.rule for f in examine(models / "attention.onnx")}
    assert rules == {"key-bias", "value-bias", "query-bias", "merge-parallel"}
    dynamic = [f for f in examine(models / "dynamic.onnx") if f.rule == "zero-point"]
    assert dynamic
    assert not any(f.folds for f in dynamic)
    assert all(f.folds for f in examine(models / "qdq.onnx") if f.rule == "zero-point")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("m.txt", b"x", "a model must be a .tflite or .onnx file, not 'm.txt'"),
        ("m.onnx", b"\xff" * 40, "damaged ONNX file: "),
        ("m.tflite", b"x", "not a TFLite model: the TFL3 identifier is missing"),
        ("m.onnx", None, "{path}: No such file or directory"),
    ],
)
def test_errors_are_one_line(tmp_path, capsys, name, data, message):
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    assert cli.main(["passes", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: " + message.format(path=path))
    assert err.count("\n") == 1


@pytest.mark.slow
def test_damaged_files_are_refused_or_examined(models):
    files = [path.read_bytes() for path in sorted(models.glob("*.onnx"))]
    rng = np.random.default_rng(2)
    outcomes = {"examined": 0, "refused": 0}
    for number in range(1500):
        path = models / "damaged.onnx"
        path.write_bytes(mutate(files[number % len(files)], rng, files))
        try:
            examine(path)
        except ModelError:
            outcomes["refused"] += 1
        else:
            outcomes["examined"] += 1
    assert min(outcomes.values()) > 100
