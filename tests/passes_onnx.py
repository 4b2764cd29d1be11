"""Float ONNX graphs for the tests of `plusb passes`: norms, attention blocks, parallel layers, odd biases."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
helper = onnx.helper

__all__ = ["attention", "build", "examined", "layer_attention", "node", "run"]

node = helper.make_node


def build(nodes, constants, inputs, outputs=("y",), opset=17):
    """A ``ModelProto``; ``inputs`` maps names to shapes, whose dimensions may be names."""
    graph = helper.make_graph(
        nodes,
        "made for a test",
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs],
        [
            onnx.numpy_helper.from_array(
                np.asarray(v, np.float32) if np.asarray(v).dtype.kind == "f" else np.asarray(v, np.int64), n
            )
            for n, v in constants.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def run(model, **inputs):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {name: np.asarray(x, np.float32) for name, x in inputs.items()})


def examined(model, folder):
    """The findings for a model: a dict of pass to list of Finding."""
    from plusb.gen.passes import examine

    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    found = {}
    for finding in examine(path):
        found.setdefault(finding.rule, []).append(finding)
    return found


def attention(rng, heads=2, d=3, inputs=5):
    """Constants of an attention block with biases everywhere."""
    width = heads * d
    constants = {f"w{p}": rng.normal(size=(inputs, width)) for p in "qkv"} | {"wo": rng.normal(size=(width, 4))}
    constants |= {f"b{p}": rng.normal(size=width) for p in "qkv"} | {"bo": rng.normal(size=4)}
    constants |= {"heads": [0, 0, heads, d], "flat": [0, 0, width], "scale": 1 / np.sqrt(d), "gain": rng.normal(size=d)}
    return constants | {"cos": rng.normal(size=(7, 1, d)), "sin": rng.normal(size=(7, 1, d))}


def layer_attention(constants, *, between="", batch="batch", transposed_late=False, mask=False, gemm=False):
    """The block as exporters write it; ``between`` is ``rope`` or ``norm`` on queries and keys."""
    nodes = []
    for p in "qkv":
        nodes += [node("MatMul", ["x", f"w{p}"], [f"{p}0"]), node("Add", [f"b{p}", f"{p}0"], [f"{p}1"])]
        nodes.append(node("Reshape", [f"{p}1", "heads"], [f"{p}2"]))
        last = f"{p}2"
        if between == "rope" and p in "qk":
            nodes += [
                node("Mul", [last, "cos"], [f"{p}c"]),
                node("Neg", [last], [f"{p}n"]),
                node("Mul", [f"{p}n", "sin"], [f"{p}s"]),
                node("Add", [f"{p}c", f"{p}s"], [f"{p}3"]),
            ]
            last = f"{p}3"
        if between == "norm" and p in "qk":
            nodes.append(node("LayerNormalization", [last, "gain"], [f"{p}3"]))
            last = f"{p}3"
        perm = [0, 2, 3, 1] if p == "k" else [0, 2, 1, 3]
        nodes.append(node("Transpose", [last], [f"{p}t"], perm=perm))
    nodes.append(node("Mul", ["qt", "scale"], ["scaled"]))
    nodes.append(node("MatMul", ["scaled", "kt"], ["s0"]))
    scores = "s0"
    if mask:
        nodes.append(node("Add", ["s0", "mask"], ["s1"]))
        scores = "s1"
    nodes += [
        node("Softmax", [scores], ["p"], axis=-1),
        node("MatMul", ["p", "vt"], ["c"]),
        node("Transpose", ["c"], ["ct"], perm=[0, 1, 2, 3] if transposed_late else [0, 2, 1, 3]),
        node("Reshape", ["ct", "flat"], ["cf"]),
        node("MatMul", ["cf", "wo"], ["o"]),
        node("Add", ["o", "bo"], ["y"]),
    ]
    inputs = {"x": [batch, 7, constants["wq"].shape[0]]}
    if mask:
        inputs["mask"] = [batch, 1, 7, 7]
    return build(nodes, constants, inputs)
