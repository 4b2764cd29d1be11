"""The golden model's layers equal every runtime of .tflite files, on real models and on operators made for this."""

from pathlib import Path

import numpy as np
import pytest
from plusb.gen.models import ModelError, open_model, run_layer

from .models_tflite import convolution, fully_connected

pytest.importorskip("tflite_micro")

MODELS = Path(__file__).resolve().parents[2] / "shared" / "models"
RUNTIMES = ("litert-ref", "litert", "litert-xnnpack", "tflm")
NAMES = {
    "hello_world_int8": "tflm",
    "ad01_int8": "mlperf_tiny",
    "kws_ref_model": "mlperf_tiny",
    "pretrainedResnet_quant": "mlperf_tiny",
    "vww_96_int8": "mlperf_tiny",
}


def model_file(name):
    path = MODELS / NAMES[name] / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return path


def real_inputs(name, session):
    """Inputs out of ``inputs/``, or seeded ones."""
    tensor = session.graph.tensors[session.graph.inputs[0]]
    if name == "vww_96_int8":
        for file in ("person.bmp", "no_person.bmp"):
            raw = np.frombuffer((MODELS / "inputs" / file).read_bytes()[-96 * 96 :], np.int8).reshape(96, 96)
            yield [np.repeat(raw[None, ::-1, :, None], 3, axis=3)]
    elif name == "ad01_int8":
        raw = np.fromfile(MODELS / "inputs" / "ad01_normal_id_01_00000000_hist_librosa.bin", np.float32).reshape(
            200, 128
        )
        scale, zero = tensor.quantization.scale[0], tensor.quantization.zero_point[0]
        for frame in range(0, 196, 28):
            x = np.rint(raw[frame : frame + 5].reshape(1, 640) / scale) + zero
            yield [np.clip(x, -128, 127).astype(np.int8)]
    else:
        for seed in range(3):
            yield session.random_inputs(seed)


def assert_agrees(session, inputs):
    """Layer by layer, and from end to end with our layers feeding the rest. Returns the number of outputs."""
    checks = session.check(inputs)
    assert {c.layer.name: c.mismatches for c in checks if c.mismatches} == {}
    values = session.run(inputs)
    for key, want in zip(session.graph.outputs, session.answer(inputs), strict=True):
        assert np.array_equal(values[key], want)
    return sum(c.outputs for c in checks)


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n.startswith("vww") else n for n in NAMES])
def test_real_models(name, runtime):
    session = open_model(model_file(name), runtime)
    for inputs in real_inputs(name, session):
        assert assert_agrees(session, inputs)


@pytest.mark.parametrize("name", NAMES)
def test_committed_answers_of_the_reference_kernels(name):
    path = MODELS / "golden" / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    session, golden = open_model(model_file(name), "litert-ref"), np.load(path)
    assert {key.split("_")[0] for key in golden} == {f"L{layer.spec.index}" for layer in session.layers}
    for layer in session.layers:
        i = layer.spec.index
        for x, y in zip(golden[f"L{i}_x"], golden[f"L{i}_y"], strict=True):
            got = run_layer(layer, x.reshape(layer.spec.in_shape))
            assert np.array_equal(got, y.reshape(layer.spec.out_shape)), layer.name


OPERATORS = {
    "fc": lambda r: fully_connected(r, 5, 64, 60, s_out=0.01),
    "fc per channel": lambda r: fully_connected(r, 5, 64, 60, per_channel=True, s_out=0.01),
    "fc without bias": lambda r: fully_connected(r, 1, 64, 60, bias=False, activation=1),
    "fc relu6 on a tie": lambda r: fully_connected(r, 9, 64, 60, activation=3, s_out=12 / 51),
    "fc relu_n1_to_1 on a tie": lambda r: fully_connected(r, 9, 64, 60, activation=2, s_out=2 / 31),
    "conv": lambda r: convolution(r, (12, 12), 5, 16, (3, 3), batch=2),
    "conv per tensor": lambda r: convolution(r, (12, 12), 5, 16, (3, 3), per_channel=False),
    "conv valid, strides": lambda r: convolution(r, (13, 12), 5, 16, (3, 2), stride=(2, 3), padding=1),
    "conv dilated": lambda r: convolution(r, (13, 12), 5, 16, (3, 2), dilation=(2, 3)),
    "conv with groups": lambda r: convolution(r, (13, 12), 8, 16, (3, 2), groups=4),
    "conv without bias": lambda r: convolution(r, (13, 12), 8, 16, (3, 2), bias=False, activation=3, s_out=12 / 41),
    "conv scale above 1": lambda r: convolution(r, (12, 12), 2, 16, (1, 1), s_out=0.0001),
    "depthwise": lambda r: convolution(r, (12, 12), 16, 16, (3, 3), depthwise=True),
    "depthwise per tensor": lambda r: convolution(r, (12, 12), 16, 16, (3, 3), depthwise=True, per_channel=False),
    "depthwise strides": lambda r: convolution(
        r, (13, 13), 16, 16, (3, 3), depthwise=True, stride=(2, 2), activation=1
    ),
    "depthwise multiplier": lambda r: convolution(r, (12, 12), 8, 16, (5, 3), depthwise=True, padding=1),
    "depthwise dilated": lambda r: convolution(r, (12, 12), 8, 8, (3, 3), depthwise=True, dilation=(2, 2)),
    "depthwise without bias": lambda r: convolution(r, (12, 12), 8, 8, (3, 3), depthwise=True, bias=False),
}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name, runtime):
    for seed in range(4):
        session = open_model(OPERATORS[name](np.random.default_rng(seed)), runtime)
        assert assert_agrees(session, session.random_inputs(seed))


def test_the_families_do_differ_where_the_runtimes_do():
    """Without this the comparisons above might all be blind to rounding."""
    data = convolution(np.random.default_rng(0), (24, 24), 8, 32, (3, 3))
    sessions = {runtime: open_model(data, runtime) for runtime in RUNTIMES}
    inputs = sessions["tflm"].random_inputs(0)
    layer = sessions["litert-ref"].layers[0]
    results = {r: run_layer(s.layers[0], inputs[0]) for r, s in sessions.items()}
    assert np.array_equal(results["litert-ref"], results["tflm"])
    assert layer.groups[0].gemm.family == "gemmlowp"
    for a, b in (("litert-ref", "litert"), ("litert-ref", "litert-xnnpack"), ("litert", "litert-xnnpack")):
        assert np.count_nonzero(results[a] != results[b]) > 0


def test_inputs_are_checked():
    session = open_model(fully_connected(np.random.default_rng(0), 2, 3, 4), "tflm")
    with pytest.raises(ModelError, match=r"tensor t0: the input must be int8 of shape \[2, 3\], not int8 of \[3, 2\]"):
        session.check([np.zeros((3, 2), np.int8)])
    with pytest.raises(ModelError, match="the model has 1 inputs, not 2"):
        session.run([np.zeros((2, 3), np.int8)] * 2)
