"""Small .tflite models made for tests: one quantized operator with any shape, scale and activation."""

import numpy as np
import pytest

flatbuffers = pytest.importorskip("flatbuffers")
schema = pytest.importorskip("ai_edge_litert.schema_py_generated")

__all__ = ["convolution", "fully_connected", "make_model", "schema", "tensor"]


def tensor(shape, dtype=np.int8, scale=None, zero=None, data=None, axis=0):
    """A ``TensorT`` and its constant data."""
    t = schema.TensorT()
    t.shape = np.array(shape, np.int32)
    t.type = {np.int8: 9, np.int32: 2, np.int64: 4, np.float32: 0, np.int16: 7, np.uint8: 3}[dtype]
    if scale is not None:
        q = schema.QuantizationParametersT()
        q.scale = np.atleast_1d(np.array(scale, np.float32))
        q.zeroPoint = np.broadcast_to(np.array(0 if zero is None else zero, np.int64), q.scale.shape).copy()
        q.quantizedDimension = axis
        t.quantization = q
    return t, None if data is None else np.ascontiguousarray(data, dtype)


def make_model(tensors, op, options_type, options, inputs, outputs, n_inputs=1, version=3):
    """Bytes of a model of one operator on ``tensors``, whose first ``n_inputs`` are its inputs."""
    model, graph, operator, code = schema.ModelT(), schema.SubGraphT(), schema.OperatorT(), schema.OperatorCodeT()
    model.version, model.description = 3, b"made for a test"
    model.buffers = [schema.BufferT()]
    graph.tensors, graph.name = [], b"main"
    for i, (t, data) in enumerate(tensors):
        t.name, t.buffer = f"t{i}".encode(), 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(data.tobytes(), np.uint8)
            model.buffers.append(buffer)
            t.buffer = len(model.buffers) - 1
        graph.tensors.append(t)
    code.builtinCode, code.version = getattr(schema.BuiltinOperator, op), version
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    operator.opcodeIndex, operator.inputs, operator.outputs = 0, np.array(inputs, np.int32), np.array(outputs, np.int32)
    operator.builtinOptionsType = getattr(schema.BuiltinOptions, options_type)
    operator.builtinOptions = options
    graph.operators, model.operatorCodes, model.subgraphs = [operator], [code], [graph]
    graph.inputs, graph.outputs = np.arange(n_inputs, dtype=np.int32), np.array(outputs, np.int32)
    builder = flatbuffers.Builder(1 << 14)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def fully_connected(
    rng, m, k, n, *, per_channel=False, bias=True, activation=0, s_out=0.05, z_out=3, bias_dtype=np.int32
):
    """FULLY_CONNECTED with random weights and scales."""
    s_in = np.float32(rng.uniform(0.01, 0.1))
    s_w = rng.uniform(0.001, 0.01, n if per_channel else 1).astype(np.float32)
    options = schema.FullyConnectedOptionsT()
    options.fusedActivationFunction = activation
    tensors = [
        tensor((m, k), scale=s_in, zero=int(rng.integers(-128, 128))),
        tensor((n, k), scale=s_w, data=rng.integers(-127, 128, (n, k))),
        tensor((n,), bias_dtype, scale=s_in * s_w, data=rng.integers(-3000, 3000, n)),
        tensor((m, n), scale=s_out, zero=z_out),
    ]
    return make_model(
        tensors,
        "FULLY_CONNECTED",
        "FullyConnectedOptions",
        options,
        [0, 1, 2 if bias else -1],
        [3],
        version=12 if per_channel else 4,
    )


def convolution(
    rng,
    size,
    channels,
    outputs,
    kernel,
    *,
    depthwise=False,
    groups=1,
    stride=(1, 1),
    dilation=(1, 1),
    padding=0,
    per_channel=True,
    bias=True,
    activation=0,
    s_out=0.05,
    z_out=3,
    batch=1,
    w_scale=(0.001, 0.01),
):
    """CONV_2D, or DEPTHWISE_CONV_2D with ``outputs`` output channels, with random weights and scales."""
    s_in = np.float32(rng.uniform(0.01, 0.1))
    s_w = rng.uniform(*w_scale, outputs if per_channel else 1).astype(np.float32)
    options = schema.DepthwiseConv2DOptionsT() if depthwise else schema.Conv2DOptionsT()
    options.padding, options.fusedActivationFunction = padding, activation
    options.strideH, options.strideW = stride
    options.dilationHFactor, options.dilationWFactor = dilation
    shape, axis = ((1, *kernel, outputs), 3) if depthwise else ((outputs, *kernel, channels // groups), 0)
    if depthwise:
        options.depthMultiplier = outputs // channels
    reach = [(kernel[d] - 1) * dilation[d] + 1 for d in (0, 1)]
    out = [-(-size[d] // stride[d]) if padding == 0 else (size[d] - reach[d]) // stride[d] + 1 for d in (0, 1)]
    tensors = [
        tensor((batch, *size, channels), scale=s_in, zero=int(rng.integers(-128, 128))),
        tensor(shape, scale=s_w, data=rng.integers(-127, 128, shape), axis=axis),
        tensor((outputs,), np.int32, scale=s_in * s_w, data=rng.integers(-3000, 3000, outputs)),
        tensor((batch, *out, outputs), scale=s_out, zero=z_out),
    ]
    op, kind = ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions") if depthwise else ("CONV_2D", "Conv2DOptions")
    return make_model(tensors, op, kind, options, [0, 1, 2] if bias else [0, 1], [3])
