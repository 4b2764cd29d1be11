"""The runtimes themselves on single-operator models: near-ties of every scale form, and every 8-bit activation.

An operator gets ``x = zx``, so that its sum is its bias: any 32-bit accumulator can be asked for. The accumulators are
those nearest to ties of the real scale, where each family and each way of forming the scale answers differently.
"""

import numpy as np
import pytest
from plusb.sim.golden import (
    RUNTIMES,
    epilogue,
    litert_lut,
    quantize_multiplier,
    requantize_16x8,
    requantize_float64,
    runtime_scale,
)

pytestmark = pytest.mark.slow

BYTES = np.arange(-128, 128)


class Lite:
    """Builds and runs TFLite models of one operator."""

    def __init__(self):
        self.schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
        self.interpreter = pytest.importorskip("ai_edge_litert.interpreter")
        self.flatbuffers = pytest.importorskip("flatbuffers")

    def model(self, op, tensors, options=None, version=1):
        """One operator. Tensors are (shape, type, scale, zero point, data, axis); the last is the output."""
        schema = self.schema
        model, graph, operator, code = schema.ModelT(), schema.SubGraphT(), schema.OperatorT(), schema.OperatorCodeT()
        model.version, model.buffers, model.subgraphs, model.operatorCodes = 3, [schema.BufferT()], [graph], [code]
        graph.tensors, graph.operators = [], [operator]
        for shape, kind, scale, zero_point, data, axis in tensors:
            tensor, quantization = schema.TensorT(), schema.QuantizationParametersT()
            tensor.name, tensor.shape, tensor.type = f"t{len(graph.tensors)}", list(shape), kind
            tensor.buffer, tensor.quantization = 0, quantization
            quantization.scale = np.atleast_1d(np.float32(scale))
            quantization.zeroPoint = np.full(len(quantization.scale), zero_point, np.int64)
            quantization.quantizedDimension = axis
            if data is not None:
                buffer = schema.BufferT()
                buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
                model.buffers.append(buffer)
                tensor.buffer = len(model.buffers) - 1
            graph.tensors.append(tensor)
        last = len(tensors) - 1
        operator.opcodeIndex, operator.inputs, operator.outputs = 0, list(range(last)), [last]
        graph.inputs, graph.outputs = [0], [last]
        if options is not None:
            operator.builtinOptions = options
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__[:-1])
        code.builtinCode = getattr(schema.BuiltinOperator, op)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), version
        builder = self.flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def run(self, runtime, model, x):
        if runtime == "tflm":
            micro = pytest.importorskip("tflite_micro").runtime.Interpreter.from_bytes(model, arena_size=1 << 20)
            micro.set_input(x, 0)
            micro.invoke()
            return micro.get_output(0)
        resolvers = self.interpreter.OpResolverType
        interpreter = self.interpreter.Interpreter(
            model_content=model,
            num_threads=1,
            experimental_op_resolver_type={
                "litert-ref": resolvers.BUILTIN_REF,
                "litert": resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
                "litert-xnnpack": resolvers.AUTO,
            }[runtime],
        )
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).copy()

    def product(self, op, s_in, s_w, s_out, zx, zy, bias):
        """A model whose accumulators are ``bias``, and its input."""
        schema, n = self.schema, len(bias)
        int8, int32 = schema.TensorType.INT8, schema.TensorType.INT32
        x_shape, w_shape, y_shape, axis, options, version = {
            "FULLY_CONNECTED": ((1, 1), (n, 1), (1, n), 0, schema.FullyConnectedOptionsT(), 4),
            "CONV_2D": ((1, 1, 1, 1), (n, 1, 1, 1), (1, 1, 1, n), 0, schema.Conv2DOptionsT(), 3),
            "DEPTHWISE_CONV_2D": ((1, 1, 1, n), (1, 1, 1, n), (1, 1, 1, n), 3, schema.DepthwiseConv2DOptionsT(), 3),
        }[op]
        if op != "FULLY_CONNECTED":
            options.strideW = options.strideH = options.dilationWFactor = options.dilationHFactor = 1
            options.padding = schema.Padding.VALID
        if op == "DEPTHWISE_CONV_2D":
            options.depthMultiplier = 1
        tensors = [
            (x_shape, int8, s_in, zx, None, 0),
            (w_shape, int8, s_w, 0, np.ones(w_shape, np.int8), axis),
            ((n,), int32, s_in * s_w, 0, bias, 0),
            (y_shape, int8, s_out, zy, None, 0),
        ]
        return self.model(op, tensors, options, version), np.full(x_shape, zx, np.int8)


@pytest.fixture(scope="module")
def lite():
    return Lite()


def near_ties(rng, per_channel):
    """Scales and the 32-bit accumulators nearest to ``n + 1/2`` of their quotient, n in -100..99."""
    n = np.concatenate([np.arange(-100, 100)] * 2) + 0.5
    s_in, s_out = (np.float32(x) for x in rng.uniform(0.01, 0.1, 2))
    s_w = (10.0 ** rng.uniform(-7, -2, len(n) if per_channel else 1) * s_out / s_in).astype(np.float32)
    v = np.rint(n / (np.float64(s_in) * np.float64(s_w) / np.float64(s_out)))
    v += np.where(rng.random(len(n)) < 0.3, rng.integers(-1, 2, len(n)), 0)
    zx, zy = (int(z) for z in rng.integers(-128, 128, 2))
    return s_in, s_w, s_out, zx, zy, np.clip(v, -(1 << 30), 1 << 30).astype(np.int32)


@pytest.mark.parametrize("per_channel", [False, True], ids=["per-tensor", "per-channel"])
@pytest.mark.parametrize(("runtime", "op"), [(r, op) for r in RUNTIMES if r != "ort" for op in RUNTIMES[r]])
def test_lite_runtimes_on_near_ties(lite, runtime, op, per_channel):
    rng = np.random.default_rng(11)
    mismatches = near_miss = total = 0
    for _ in range(25):
        *scales, zx, zy, v = near_ties(rng, per_channel)
        got = lite.run(runtime, *lite.product(op, *scales, zx, zy, v)).ravel()
        scale = runtime_scale(runtime, op, *scales)
        expected = epilogue(v[np.newaxis], **scale.parameters, zp_out=zy)[0]
        if (runtime, op) == ("litert-ref", "FULLY_CONNECTED"):
            near_miss += int((got != expected).sum())
            expected = np.clip(requantize_float64(v, scale.real) + zy, -128, 127)
        mismatches += int((got != expected).sum())
        total += v.size
    assert total == 10000
    assert mismatches == 0
    # Its double differs from the fixed-point form on a share of accumulators made to be near ties.
    assert near_miss < total / 100


@pytest.mark.parametrize("per_channel", [False, True], ids=["per-tensor", "per-channel"])
@pytest.mark.parametrize("op", ["QGemm", "QLinearConv"])
def test_onnx_runtime_on_near_ties(op, per_channel):
    """QLinearMatMul has no bias, and so no accumulator can be asked for; the next test has it."""
    onnx = pytest.importorskip("onnx")
    rng = np.random.default_rng(12)
    mismatches = 0
    for _ in range(25):
        s_in, s_w, s_out, zx, zy, v = near_ties(rng, per_channel)
        spatial = [1, 1] if op == "QLinearConv" else []
        constants = {
            "s_in": s_in,
            "zx": np.int8(zx),
            "w": np.ones((len(v), 1, *spatial) if op == "QLinearConv" else (1, len(v)), np.int8),
            "s_w": s_w if per_channel else s_w[0],
            "zw": np.zeros(s_w.shape if per_channel else (), np.int8),
            "bias": v,
            "s_out": s_out,
            "zy": np.int8(zy),
        }
        if op == "QGemm":
            inputs, domain = ["x", "s_in", "zx", "w", "s_w", "zw", "bias", "s_out", "zy"], "com.microsoft"
        else:
            inputs, domain = ["x", "s_in", "zx", "w", "s_w", "zw", "s_out", "zy", "bias"], ""
        got = run_onnx(onnx, op, domain, inputs, constants, np.full((1, 1, *spatial), zx, np.int8))
        scale = runtime_scale("ort", op, s_in, s_w, s_out)
        mismatches += int((got.ravel() != epilogue(v[np.newaxis], **scale.parameters, zp_out=zy)[0]).sum())
    assert mismatches == 0


def test_onnx_runtime_matrix_product():
    onnx = pytest.importorskip("onnx")
    rng = np.random.default_rng(13)
    for per_channel in (False, True):
        for _ in range(10):
            x, w = rng.integers(0, 256, (40, 32), np.uint8), rng.integers(-128, 128, (32, 24), np.int8)
            s_in, s_out = np.float32(rng.uniform(0.01, 0.1)), np.float32(rng.uniform(1, 8))
            s_w = rng.uniform(0.01, 0.05, 24 if per_channel else ()).astype(np.float32)
            constants = {
                "s_in": s_in,
                "zx": np.uint8(119),
                "w": w,
                "s_w": s_w,
                "zw": np.zeros(s_w.shape, np.int8),
                "s_out": s_out,
                "zy": np.uint8(131),
            }
            inputs = ["x", "s_in", "zx", "w", "s_w", "zw", "s_out", "zy"]
            got = run_onnx(onnx, "QLinearMatMul", "", inputs, constants, x)
            scale = runtime_scale("ort", "QLinearMatMul", s_in, s_w, s_out)
            acc = (x.astype(int) - 119) @ w.astype(int)
            assert got.tolist() == epilogue(acc, **scale.parameters, zp_out=131, lo=0, hi=255).tolist()


def run_onnx(onnx, op, domain, inputs, constants, x):
    ort = pytest.importorskip("onnxruntime")
    helper, kinds = onnx.helper, {np.dtype(np.int8): onnx.TensorProto.INT8, np.dtype(np.uint8): onnx.TensorProto.UINT8}
    kind = kinds[x.dtype]
    graph = helper.make_graph(
        [helper.make_node(op, inputs, ["y"], domain=domain)],
        "one",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info("y", kind, None)],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


@pytest.mark.parametrize("runtime", ["litert-ref", "litert", "tflm"])
def test_16x8_convolution_on_wide_sums(lite, runtime):
    """int64 biases reach the 48 bits the kernels allow, where int32 sums would not."""
    schema, rng = lite.schema, np.random.default_rng(14)
    for _ in range(25):
        n = 200
        s_in, s_out = (np.float32(x) for x in 10.0 ** rng.uniform(-4, -2, 2))
        s_w = (10.0 ** rng.uniform(-8, -1, n) * s_out / s_in).astype(np.float32)
        scale = np.float64(s_in) * np.float64(s_w) / np.float64(s_out)
        v = np.clip(np.rint(rng.integers(-32000, 32000, n) / scale / 2), -(1 << 46), 1 << 46).astype(np.int64)
        options = schema.Conv2DOptionsT()
        options.strideW = options.strideH = options.dilationWFactor = options.dilationHFactor = 1
        options.padding = schema.Padding.VALID
        tensors = [
            ((1, 1, 1, 1), schema.TensorType.INT16, s_in, 0, None, 0),
            ((n, 1, 1, 1), schema.TensorType.INT8, s_w, 0, np.ones((n, 1, 1, 1), np.int8), 0),
            ((n,), schema.TensorType.INT64, s_in * s_w, 0, v, 0),
            ((1, 1, 1, n), schema.TensorType.INT16, s_out, 0, None, 0),
        ]
        model = lite.model("CONV_2D", tensors, options, version=4)
        got = lite.run(runtime, model, np.zeros((1, 1, 1, 1), np.int16)).ravel()
        expected = np.clip(requantize_16x8(v, *quantize_multiplier(scale)), -32768, 32767)
        assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("runtime", ["litert-ref", "litert", "litert-xnnpack"])
@pytest.mark.parametrize("name", ["sigmoid", "tanh", "elu", "gelu", "gelu_tanh", "hardswish", "leaky_relu"])
def test_activations_equal_litert(lite, name, runtime):
    if (runtime, name) == ("litert-ref", "elu"):
        pytest.skip("the reference resolver of LiteRT has no int8 ELU")
    if (runtime, name) == ("litert-xnnpack", "leaky_relu"):
        pytest.skip("XNNPACK computes leaky ReLU by an integer formula of its own")
    schema, rng = lite.schema, np.random.default_rng(15)
    for _ in range(40):
        s_x, s_y = (float(np.float32(10.0**x)) for x in rng.uniform(-2.5, 0.3, 2))
        z_x, z_y = (int(z) for z in rng.integers(-128, 128, 2))
        s_y, z_y = {"sigmoid": (1 / 256, -128), "tanh": (1 / 128, 0)}.get(name, (s_y, z_y))
        if name == "hardswish" and not s_y / 512 <= s_x < 128 * s_y:
            continue
        op, options, version, parameters = name.upper(), None, 1, {}
        if name == "sigmoid":
            op = "LOGISTIC"
        elif name == "hardswish":
            op = "HARD_SWISH"
        elif name.startswith("gelu"):
            op, options = "GELU", schema.GeluOptionsT()
            options.approximate = name == "gelu_tanh"
        elif name == "leaky_relu":
            options, version = schema.LeakyReluOptionsT(), 2
            options.alpha = parameters["alpha"] = float(np.float32(rng.uniform(0, 1)))
        int8 = schema.TensorType.INT8
        tensors = [((1, 256), int8, s_x, z_x, None, 0), ((1, 256), int8, s_y, z_y, None, 0)]
        got = lite.run(runtime, lite.model(op, tensors, options, version), BYTES.astype(np.int8)[np.newaxis])[0]
        assert got.tolist() == litert_lut(name, s_x, z_x, s_y, z_y, **parameters)[BYTES & 255].tolist()
