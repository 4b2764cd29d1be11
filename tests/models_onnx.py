"""Float ONNX models for tests, and their quantization by ``onnxruntime.quantization``."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
quantization = pytest.importorskip("onnxruntime.quantization")
helper, numpy_helper, TensorProto = onnx.helper, onnx.numpy_helper, onnx.TensorProto
QuantFormat, QuantType = quantization.QuantFormat, quantization.QuantType

__all__ = ["TensorProto", "cnn", "dynamic", "helper", "mlp", "numpy_helper", "onnx", "static"]


def _model(nodes, inputs, outputs, constants):
    graph = helper.make_graph(
        nodes,
        "made for a test",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _normal(rng, *shape):
    return (rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)


def mlp(rng, batch=7):
    """Gemm, Relu, Gemm, MatMul."""
    constants = {
        "w1": _normal(rng, 24, 16),
        "b1": _normal(rng, 24),
        "w2": _normal(rng, 24, 20),
        "b2": _normal(rng, 20),
        "w3": _normal(rng, 20, 9),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h1"], transB=1),
        helper.make_node("Relu", ["h1"], ["r1"]),
        helper.make_node("Gemm", ["r1", "w2", "b2"], ["h2"]),
        helper.make_node("MatMul", ["h2", "w3"], ["y"]),
    ]
    return _model(nodes, {"x": [batch, 16]}, {"y": [batch, 9]}, constants)


def cnn(rng, batch=2):
    """Convolutions (plain, strided, depthwise, grouped) with Relu and Clip, a residual Add, pooling, Gemm."""
    constants = {
        "w1": _normal(rng, 8, 3, 3, 3),
        "b1": _normal(rng, 8),
        "w2": _normal(rng, 8, 1, 3, 3),
        "b2": _normal(rng, 8),
        "w3": _normal(rng, 8, 8, 1, 1),
        "w4": _normal(rng, 12, 4, 3, 2),
        "b4": _normal(rng, 12),
        "w5": _normal(rng, 12, 10),
        "b5": _normal(rng, 10),
        "zero": np.float32(0),
        "six": np.float32(6),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], pads=[1, 1, 1, 1], group=8),
        helper.make_node("Clip", ["c2", "zero", "six"], ["r2"]),
        helper.make_node("Conv", ["r2", "w3"], ["c3"]),
        helper.make_node("Add", ["c3", "r1"], ["a3"]),
        helper.make_node("Conv", ["a3", "w4", "b4"], ["c4"], strides=[2, 1], group=2, auto_pad="SAME_UPPER"),
        helper.make_node("Relu", ["c4"], ["r4"]),
        helper.make_node("GlobalAveragePool", ["r4"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w5", "b5"], ["y"]),
    ]
    return _model(nodes, {"x": [batch, 3, 11, 10]}, {"y": [batch, 10]}, constants)


class _Reader(quantization.CalibrationDataReader):
    def __init__(self, model, rng, count=8):
        value = model.graph.input[0]
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        self._items = iter([{value.name: rng.standard_normal(shape).astype(np.float32)} for _ in range(count)])

    def get_next(self):
        return next(self._items, None)


def _through_files(model, quantize):
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source, target = Path(folder, "float.onnx"), Path(folder, "int8.onnx")
        onnx.save(model, source)
        quantize(str(source), str(target))
        return target.read_bytes()


def static(model, rng, *, qdq, signed, per_channel, w_signed=True, symmetric=False):
    """Bytes of the model with calibrated quantization."""
    return _through_files(
        model,
        lambda source, target: quantization.quantize_static(
            source,
            target,
            _Reader(model, rng),
            quant_format=QuantFormat.QDQ if qdq else QuantFormat.QOperator,
            activation_type=QuantType.QInt8 if signed else QuantType.QUInt8,
            weight_type=QuantType.QInt8 if w_signed else QuantType.QUInt8,
            per_channel=per_channel,
            extra_options={"ActivationSymmetric": symmetric},
        ),
    )


def dynamic(model, *, w_signed=True, per_channel=False):
    """Bytes of the model with dynamic quantization (MatMulInteger, ConvInteger)."""
    kind = QuantType.QInt8 if w_signed else QuantType.QUInt8
    return _through_files(
        model,
        lambda source, target: quantization.quantize_dynamic(source, target, weight_type=kind, per_channel=per_channel),
    )
