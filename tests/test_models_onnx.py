"""The golden model's layers equal ONNX Runtime on models quantized by its own tools, and on operators made by hand."""

import itertools
import logging

import numpy as np
import pytest
from plusb.gen.models import ModelError, open_model

from .models_onnx import TensorProto, cnn, dynamic, helper, mlp, numpy_helper, onnx, static

KINDS = {"mlp": mlp, "cnn": cnn}
FORMS = [f for f in itertools.product((False, True), repeat=4) if f[3] or not f[1]]  # The tool has no int8 x uint8.


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def assert_agrees(session, seeds=3):
    """Layer by layer, and from end to end with our layers feeding the rest."""
    for seed in range(seeds):
        inputs = session.random_inputs(seed)
        assert {c.layer.name: c.mismatches for c in session.check(inputs) if c.mismatches} == {}
        values = session.run(inputs)
        for key, want in zip(session.graph.outputs, session.answer(inputs), strict=True):
            assert np.array_equal(values[key], want)


@pytest.mark.parametrize(("qdq", "signed", "per_channel", "w_signed"), FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_statically_quantized_models(kind, qdq, signed, per_channel, w_signed):
    rng = np.random.default_rng(11)
    data = static(KINDS[kind](rng), rng, qdq=qdq, signed=signed, per_channel=per_channel, w_signed=w_signed)
    session = open_model(data)
    ops = [layer.op for layer in session.layers]
    if qdq:
        assert (
            ops
            == {"mlp": ["Gemm (QDQ)", "Gemm (QDQ)", "MatMul (QDQ)"], "cnn": ["Conv (QDQ)"] * 4 + ["Gemm (QDQ)"]}[kind]
        )
    else:
        assert ops == {"mlp": ["QGemm", "QGemm", "QLinearMatMul"], "cnn": ["QLinearConv"] * 4 + ["QGemm"]}[kind]
    assert not any(layer.spec.float_in_runtime for layer in session.layers)
    assert_agrees(session)


@pytest.mark.parametrize("w_signed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_dynamically_quantized_models(kind, w_signed):
    session = open_model(dynamic(KINDS[kind](np.random.default_rng(12)), w_signed=w_signed))
    assert {layer.op for layer in session.layers} <= {"MatMulInteger", "ConvInteger"}
    assert len(session.layers) == {"mlp": 3, "cnn": 5}[kind]
    assert_agrees(session)


def build(nodes, inputs, outputs, constants, opset=17):
    """Bytes of a model; ``inputs`` and ``outputs`` map names to (TensorProto type, shape)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()],
        [helper.make_tensor_value_info(n, t, s) for n, (t, s) in outputs.items()],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()],
    )
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=9).SerializeToString()


def qdq_conv(activation=None, dtype=np.int8, z_out=-128, bias="int32", **attributes):
    """Conv between DequantizeLinear and QuantizeLinear, with an activation."""
    rng = np.random.default_rng(0)
    s_w = rng.uniform(0.002, 0.01, 8).astype(np.float32)
    constants = {
        "xs": np.float32(0.05),
        "xz": dtype(3),
        "w": rng.integers(-127, 128, (8, 4, 3, 3)).astype(np.int8),
        "ws": s_w,
        "wz": np.zeros(8, np.int8),
        "b": rng.integers(-900, 900, 8).astype(np.int32),
        "bs": s_w * np.float32(0.05),
        "bf": np.ones(8, np.float32),
        "ys": np.float32(0.04),
        "yz": dtype(z_out),
        "lo": np.float32(0),
        "hi": np.float32(3),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=0),
        helper.make_node("DequantizeLinear", ["b", "bs"], ["bq"], axis=0),
        helper.make_node("Conv", ["xf", "wf", "bq" if bias == "int32" else "bf"], ["c"], name="conv", **attributes),
    ]
    if activation:
        nodes.append(helper.make_node(activation, ["c", "lo", "hi"] if activation == "Clip" else ["c"], ["a"]))
    nodes.append(helper.make_node("QuantizeLinear", ["a" if activation else "c", "ys", "yz"], ["y"]))
    kind = TensorProto.INT8 if dtype is np.int8 else TensorProto.UINT8
    return build(nodes, {"x": (kind, [1, 4, 9, 9])}, {"y": (kind, None)}, constants)


@pytest.mark.parametrize(
    "attributes", [{}, {"strides": [2, 1], "pads": [1, 0, 2, 1]}, {"dilations": [2, 3]}, {"auto_pad": "SAME_LOWER"}]
)
@pytest.mark.parametrize(("dtype", "z_out"), [(np.int8, -128), (np.uint8, 0)])
@pytest.mark.parametrize("activation", [None, "Relu"])
def test_qdq_convolutions(activation, dtype, z_out, attributes):
    session = open_model(qdq_conv(activation, dtype, z_out, **attributes))
    assert not session.layers[0].spec.float_in_runtime
    assert_agrees(session)


@pytest.mark.parametrize(("activation", "z_out"), [("Relu", 5), ("Clip", -128), ("Clip", 5)])
def test_an_activation_that_the_runtime_computes_in_float_is_marked(activation, z_out):
    """ONNX Runtime does not fuse these, so near-ties may fall differently; anything more would be a wrong clamp."""
    session = open_model(qdq_conv(activation, np.int8, z_out))
    assert session.layers[0].spec.float_in_runtime
    for seed in range(3):
        inputs = session.random_inputs(seed)
        values, trace = session.run(inputs), session.trace(inputs)
        difference = np.abs(values["y"].astype(int) - trace["y"])
        assert difference.max() <= 1
        assert np.count_nonzero(difference) <= 2
        assert values["y"].min() == trace["y"].min()
        assert values["y"].max() == trace["y"].max()


def integer(op="MatMulInteger", addend=None, activation=None, dtype=np.uint8, per_channel=True, z_out=7):
    """MatMulInteger or ConvInteger with Cast, Mul, Add, an activation and QuantizeLinear."""
    rng = np.random.default_rng(1)
    conv = op == "ConvInteger"
    tail = (6, 1, 1) if conv else (6,)
    factor = rng.uniform(0.0001, 0.0003, tail if per_channel else ()).astype(np.float32)
    w = rng.integers(-127, 128, (6, 3, 3, 3) if conv else (20, 6)).astype(np.int8)
    constants = {"w": w, "xz": dtype(9), "f": factor, "ys": np.float32(0.03), "yz": dtype(z_out), "lo": np.float32(0)}
    nodes = [
        helper.make_node(op, ["x", "w", "xz"], ["acc"], name="product"),
        helper.make_node("Cast", ["acc"], ["cast"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["cast", "f"], ["m"]),
    ]
    last = "m"
    if addend is not None:
        constants["b"] = np.broadcast_to(factor, tail) * np.asarray(addend(rng, 6), np.float32).reshape(tail)
        nodes.append(helper.make_node("Add", ["m", "b"], ["s"]))
        last = "s"
    if activation:
        nodes.append(helper.make_node(activation, [last], ["a"]))
        last = "a"
    nodes.append(helper.make_node("QuantizeLinear", [last, "ys", "yz"], ["y"]))
    kind = TensorProto.INT8 if dtype is np.int8 else TensorProto.UINT8
    return build(nodes, {"x": (kind, [1, 3, 8, 8] if conv else [30, 20])}, {"y": (kind, None)}, constants)


@pytest.mark.parametrize("op", ["MatMulInteger", "ConvInteger"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("activation", [None, "Relu"])
@pytest.mark.parametrize(
    "addend", [None, lambda rng, n: rng.integers(-3000, 3000, n), lambda rng, n: 3000 * rng.standard_normal(n)]
)
def test_static_rescales(op, dtype, activation, addend):
    """The unit computes the accumulators, the host rescales them."""
    session = open_model(integer(op, addend, activation, dtype))
    chain = ["Cast", "Mul", *(["Add"] if addend else []), *([activation] if activation else []), "QuantizeLinear"]
    assert [step.name for step in session.graph.steps] == [f"0:{op} product", "1:" + "+".join(chain)]
    assert_agrees(session)


UNSUPPORTED = {
    "float bias": (
        qdq_conv(bias="float"),
        r"operator 3:Conv conv, tensor bf: the bias must be int32 behind a DequantizeLinear",
    ),
    "not a model": (b"\x00" * 64, "damaged ONNX file|not an ONNX model"),
    "empty": (b"", "not an ONNX model: it has no operators, outputs or operator set"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_models(name):
    data, text = UNSUPPORTED[name]
    with pytest.raises(ModelError, match=text):
        open_model(data)


def edited(data, change):
    model = onnx.load_model_from_string(data)
    change(model)
    return model.SerializeToString()


def replaced(name, value):
    """An edit that gives a constant another value."""

    def change(model):
        place = [t.name for t in model.graph.initializer].index(name)
        model.graph.initializer[place].CopyFrom(numpy_helper.from_array(np.asarray(value), name))

    return change


def _dynamic_shape(model):
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"


def _external(model):
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL


EDITS = {
    "dynamic shape": (_dynamic_shape, "tensor x: shape must be static; fix the model's input dimensions"),
    "external data": (_external, "tensor xs: data outside of the file are not supported"),
    "scale of 0": (
        replaced("ys", np.float32(0)),
        "operator 4:QuantizeLinear, tensor ys: scales must be positive and finite",
    ),
    "scale of two": (
        replaced("xs", np.full(2, 0.05, np.float32)),
        "operator 0:DequantizeLinear, tensor xs: the scale must be one float32, not",
    ),
    "bias scale": (
        replaced("bs", np.full(8, 0.5, np.float32)),
        r"operator 2:DequantizeLinear, tensor bs: .* scale s_in \* s_w",
    ),
    "weight axis": (
        lambda m: m.graph.node[1].attribute[0].__setattr__("i", 1),
        "tensor w: per-channel scales must run along dimension 0",
    ),
    "int16 bias": (
        replaced("b", np.zeros(8, np.int16)),
        r"Type 'tensor\(int16\)' of input parameter \(b\) of operator \(DequantizeLinear\)",
    ),
    "few biases": (
        replaced("b", np.zeros(7, np.int32)),
        "operator 2:DequantizeLinear, tensor b: 7 biases do not fit 8 outputs",
    ),
    "groups": (
        lambda m: m.graph.node[3].attribute.append(helper.make_attribute("group", 3)),
        "operator 3:Conv conv: 3 groups do not fit 4 channels",
    ),
    "circle": (lambda m: m.graph.node[0].input.__setitem__(0, "y"), "the graph is not acyclic"),
    "unknown operator": (lambda m: m.graph.node[3].__setattr__("op_type", "Convolve"), "ONNX Runtime refuses it"),
}


@pytest.mark.parametrize("name", EDITS)
def test_broken_models(name):
    change, text = EDITS[name]
    with pytest.raises(ModelError, match=text):
        open_model(edited(qdq_conv(), change))
