"""What `plusb passes` finds in float ONNX graphs; what it would fold gives ONNX Runtime's answer for the graph."""

import numpy as np
import pytest
from plusb.gen.models import ModelError
from plusb.gen.passes import examine

from .passes_onnx import attention, build, examined, layer_attention, node, run

NEAR = {"rtol": 1e-3, "atol": 1e-4}


def conv_weights(linear):
    return np.moveaxis(linear.w, -1, 1)


def norm_constants(rng, channels, name="n"):
    values = {"g": rng.normal(size=channels), "b": rng.normal(size=channels)}
    values |= {"m": rng.normal(size=channels), "v": rng.uniform(0.5, 2, channels)}
    return {name + key: value for key, value in values.items()}


NORM = ["ng", "nb", "nm", "nv"]


@pytest.mark.parametrize("bias", [True, False])
def test_batch_norm_back(tmp_path, bias):
    rng = np.random.default_rng(1)
    constants = {"w": rng.normal(size=(6, 2, 3, 3)), "c": rng.normal(size=6)} | norm_constants(rng, 6)
    conv = node("Conv", ["x", "w", "c"] if bias else ["x", "w"], ["h"], pads=[1, 1, 1, 1], group=2)
    model = build([conv, node("BatchNormalization", ["h", *NORM], ["y"], epsilon=1e-3)], constants, {"x": [1, 4, 5, 5]})
    (finding,) = examined(model, tmp_path)["batch-norm"]
    assert finding.folds
    assert finding.why == "back into weights and bias of 6 outputs"
    assert finding.where == "0:Conv + 1:BatchNormalization"
    folded = {"w": conv_weights(finding.result), "c": finding.result.b}
    one = build([node("Conv", ["x", "w", "c"], ["y"], pads=[1, 1, 1, 1], group=2)], folded, {"x": [1, 4, 5, 5]})
    x = rng.normal(size=(1, 4, 5, 5))
    np.testing.assert_allclose(run(one, x=x)[0], run(model, x=x)[0], **NEAR)


def forward_model(rng, pads, constants=None):
    constants = constants or {"w": rng.normal(size=(6, 4, 3, 3))} | norm_constants(rng, 4)
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("BatchNormalization", ["r", *NORM], ["h"]),
        node("Conv", ["h", "w"], ["y"], pads=pads),
    ]
    return build(nodes, constants, {"x": [1, 4, 5, 5]})


def test_batch_norm_forward(tmp_path):
    rng = np.random.default_rng(2)
    model = forward_model(rng, [0, 0, 0, 0])
    (finding,) = examined(model, tmp_path)["batch-norm"]
    assert finding.folds
    assert finding.why == "forward into weights and bias behind it, over 4 inputs"
    (linear,) = finding.result
    constants = {"w": conv_weights(linear), "b": linear.b}
    one = build([node("Relu", ["x"], ["r"]), node("Conv", ["r", "w", "b"], ["y"])], constants, {"x": [1, 4, 5, 5]})
    x = rng.normal(size=(1, 4, 5, 5))
    np.testing.assert_allclose(run(one, x=x)[0], run(model, x=x)[0], **NEAR)


def test_batch_norm_forward_breaks_at_padding(tmp_path):
    (finding,) = examined(forward_model(np.random.default_rng(3), [1, 1, 1, 1]), tmp_path)["batch-norm"]
    assert not finding.folds
    assert finding.why.startswith("zero padding: ")


@pytest.mark.parametrize(
    ("nodes", "outputs", "why"),
    [
        (
            [
                node("Conv", ["x", "w"], ["h"]),
                node("BatchNormalization", ["h", *NORM], ["y"]),
                node("Relu", ["h"], ["z"]),
            ],
            ("y", "z"),
            "the result of the layer before is also read by 2:Relu",
        ),
        (
            [node("Conv", ["x", "w"], ["h"]), node("BatchNormalization", ["h", *NORM], ["y"])],
            ("y", "h"),
            "the result of the layer before is also read by an output of the model",
        ),
        (
            [
                node("Conv", ["x", "w"], ["h"]),
                node("Relu", ["h"], ["r"]),
                node("BatchNormalization", ["r", *NORM], ["n"]),
                node("Sigmoid", ["n"], ["y"]),
            ],
            ("y",),
            "neither a layer just before it, nor only layers behind it: 3:Sigmoid reads it",
        ),
        (
            [
                node("Conv", ["x", "w"], ["h"]),
                node("BatchNormalization", ["h", *NORM], ["y", "", ""], training_mode=1),
            ],
            ("y",),
            "training_mode: its statistics are those of each batch",
        ),
    ],
)
def test_batch_norm_blocked(tmp_path, nodes, outputs, why):
    rng = np.random.default_rng(4)
    constants = {"w": rng.normal(size=(4, 4, 1, 1))} | norm_constants(rng, 4)
    (finding,) = examined(build(nodes, constants, {"x": [1, 4, 5, 5]}, outputs), tmp_path)["batch-norm"]
    assert (finding.folds, finding.why) == (False, why)


def layer_norm_model(rng, extra=()):
    constants = {"g": rng.normal(size=5), "b": rng.normal(size=5), "one": np.ones(5), "w": rng.normal(size=(5, 6))}
    constants |= {"w2": rng.normal(size=(3, 5)), "b2": rng.normal(size=3)}
    nodes = [
        node("LayerNormalization", ["x", "g", "b"], ["h"]),
        node("MatMul", ["h", "w"], ["y"]),
        node("Gemm", ["h", "w2", "b2"], ["z"], transB=1),
        *extra,
    ]
    return constants, nodes


def test_layer_norm_into_all_readers(tmp_path):
    rng = np.random.default_rng(5)
    constants, nodes = layer_norm_model(rng)
    model = build(nodes, constants, {"x": [4, 5]}, ("y", "z"))
    (finding,) = examined(model, tmp_path)["layer-norm"]
    assert finding.folds
    assert finding.why == "gain and bias into 2 layers behind it; 1/sigma stays"
    first, second = finding.result
    nodes = [
        node("LayerNormalization", ["x", "one"], ["h"]),
        node("Gemm", ["h", "w", "b1"], ["y"], transB=1),
        node("Gemm", ["h", "w2", "b2"], ["z"], transB=1),
    ]
    folded = {"one": np.ones(5), "w": first.w, "b1": first.b, "w2": second.w, "b2": second.b}
    x = rng.normal(size=(4, 5))
    for a, b in zip(run(build(nodes, folded, {"x": [4, 5]}, ("y", "z")), x=x), run(model, x=x), strict=True):
        np.testing.assert_allclose(a, b, **NEAR)


def test_layer_norm_with_a_residual_is_blocked(tmp_path):
    constants, nodes = layer_norm_model(np.random.default_rng(6), [node("Add", ["h", "x"], ["r"])])
    (finding,) = examined(build(nodes, constants, {"x": [4, 5]}, ("y", "z", "r")), tmp_path)["layer-norm"]
    assert not finding.folds
    assert finding.why == "its result is also read by 3:Add, which needs gain and bias"


@pytest.mark.parametrize("mask", [True, False])
@pytest.mark.parametrize("batch", ["batch", 2])
def test_attention(tmp_path, batch, mask):
    rng = np.random.default_rng(7)
    constants = attention(rng)
    model = layer_attention(constants, batch=batch, mask=mask)
    found = examined(model, tmp_path)
    (key,), (value,), (query,), (merge,) = (
        found[n] for n in ("key-bias", "value-bias", "query-bias", "merge-parallel")
    )
    assert key.folds
    assert key.why == "the key bias of 4:MatMul cancels in the softmax: drop it"
    assert value.folds
    assert value.why.startswith("the value bias of 8:MatMul goes into that of ")
    assert not query.folds
    assert query.why == "the query bias of 0:MatMul is not redundant: b_q . k_j differs from key to key, so it stays"
    assert merge.folds
    assert merge.result.layer.outputs == 18

    layer, output, linear = value.result
    folded = constants | {key.result[0].bias_name: np.zeros(6), layer.bias_name: np.zeros(6)}
    folded[output.bias_name] = linear.b
    assert set(folded) == set(constants)
    inputs = {"x": rng.normal(size=(2, 7, 5))} | ({"mask": rng.normal(size=(2, 1, 7, 7))} if mask else {})
    want = run(model, **inputs)[0]
    np.testing.assert_allclose(run(layer_attention(folded, batch=batch, mask=mask), **inputs)[0], want, **NEAR)
    # And the query bias does matter.
    without = run(layer_attention(constants | {"bq": np.zeros(6)}, batch=batch, mask=mask), **inputs)[0]
    assert np.abs(without - want).max() > 0.01


@pytest.mark.parametrize(("between", "why"), [("rope", "RoPE or another mixing of terms"), ("norm", "QK-norm")])
def test_attention_with_rope_or_qk_norm(tmp_path, between, why):
    rng = np.random.default_rng(8)
    constants = attention(rng)
    model = layer_attention(constants, between=between)
    found = examined(model, tmp_path)
    (key,), (value,) = found["key-bias"], found["value-bias"]
    assert not key.folds
    assert key.why.startswith(why)
    assert value.folds
    layer, output, linear = value.result
    folded = constants | {layer.bias_name: np.zeros(6), output.bias_name: linear.b}
    x = rng.normal(size=(2, 7, 5))
    want = run(model, x=x)[0]
    np.testing.assert_allclose(run(layer_attention(folded, between=between), x=x)[0], want, **NEAR)
    # It is right to keep the key bias.
    assert np.abs(run(layer_attention(constants | {"bk": np.zeros(6)}, between=between), x=x)[0] - want).max() > 0.01


def test_attention_that_mixes_positions_is_blocked(tmp_path):
    """Heads are not moved back before they are flattened, so a channel of the output is of several positions."""
    model = layer_attention(attention(np.random.default_rng(9)), batch=1, transposed_late=True)
    (value,) = examined(model, tmp_path)["value-bias"]
    assert not value.folds
    assert "the channels that" in value.why or "does not fit" in value.why


def test_attention_without_biases(tmp_path):
    constants = attention(np.random.default_rng(10)) | {"bk": np.zeros(6), "bv": np.zeros(6), "bq": np.zeros(6)}
    found = examined(layer_attention(constants), tmp_path)
    assert found["key-bias"][0].why == "4:MatMul has no key bias to drop"
    assert found["value-bias"][0].why == "8:MatMul has no value bias to fold"
    assert "query-bias" not in found
    assert len(found["zero-bias"]) == 3
    assert "duplicate-bias" not in found


def test_attention_over_something_else_is_blocked(tmp_path):
    nodes = [
        node("MatMul", ["x", "w"], ["s"]),
        node("Sigmoid", ["s"], ["t"]),
        node("Softmax", ["t"], ["p"]),
        node("MatMul", ["p", "x"], ["y"]),
    ]
    found = examined(build(nodes, {"w": np.ones((5, 4))}, {"x": [4, 5]}), tmp_path)
    assert found["key-bias"][0].why == "the softmax sees 1:Sigmoid instead of Q K^T"
    nodes[2] = node("Softmax", ["t"], ["p"], axis=0)
    found = examined(build(nodes, {"w": np.ones((5, 4))}, {"x": [4, 5]}), tmp_path)
    assert found["key-bias"][0].why == "the softmax runs along axis 0, not along the keys"


def test_parallel_layers(tmp_path):
    rng = np.random.default_rng(11)
    constants = {"a": rng.normal(size=(5, 4)), "b": rng.normal(size=(3, 5)), "c": rng.normal(size=3)}
    nodes = [node("MatMul", ["x", "a"], ["y"]), node("Gemm", ["x", "b", "c"], ["z"], transB=1, alpha=2.0, beta=0.5)]
    model = build(nodes, constants, {"x": [6, 5]}, ("y", "z"))
    (finding,) = examined(model, tmp_path)["merge-parallel"]
    assert finding.why == "one product with 7 outputs and one bias vector"
    x = rng.normal(size=(6, 5))
    for a, b in zip(finding.result.split(finding.result.layer(x)), run(model, x=x), strict=True):
        np.testing.assert_allclose(a, b, **NEAR)


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (node("Conv", ["x", "w"], ["z"], strides=[2, 2]), "strides must be the same in all, not [1] and [2, 2]"),
        (node("Conv", ["x", "w"], ["z"], pads=[1, 1, 1, 1]), "pads must be the same in all, not [0] and [1, 1, 1, 1]"),
        (
            node("Conv", ["x", "v"], ["z"]),
            "inputs and kernel must be the same in all, not [1, 1, 4], [2, 2, 4]",
        ),
        (node("MatMul", ["x", "m"], ["z"]), "a convolution and a matrix product read it in different ways"),
    ],
)
def test_parallel_layers_blocked(tmp_path, second, why):
    rng = np.random.default_rng(12)
    constants = {"w": rng.normal(size=(6, 4, 1, 1)), "v": rng.normal(size=(6, 4, 2, 2)), "m": rng.normal(size=(5, 5))}
    nodes = [node("Conv", ["x", "w"], ["y"], strides=[1, 1]), second]
    (finding,) = examined(build(nodes, constants, {"x": [1, 4, 5, 5]}, ("y", "z")), tmp_path)["merge-parallel"]
    assert (finding.folds, finding.why) == (False, why)


def test_biases(tmp_path):
    rng = np.random.default_rng(13)
    b = rng.normal(size=4)
    constants = {f"w{i}": rng.normal(size=(5 if i == 0 else 4, 4)) for i in range(4)}
    constants["w2"][:, 1] = 1e-12
    constants |= {"b": b, "more": rng.normal(size=(1, 4)), "rows": rng.normal(size=(6, 4)), "zero": np.zeros(4)}
    nodes = [
        node("Gemm", ["x", "w0", "b"], ["h0"]),
        node("Add", ["h0", "more"], ["h1"]),
        node("Gemm", ["h1", "w1", "zero"], ["h2"]),
        node("Gemm", ["h2", "w2", "b"], ["h3"]),
        node("Add", ["h3", "rows"], ["h4"]),
        node("MatMul", ["h4", "w3"], ["y"]),
    ]
    model = build(nodes, constants, {"x": [6, 5]})
    found = examined(model, tmp_path)
    assert [f.where for f in found["zero-bias"]] == ["2:Gemm", "5:MatMul"]
    twice, rows, shared = found["duplicate-bias"]
    assert twice.folds
    np.testing.assert_allclose(twice.result.b, b + constants["more"][0], rtol=1e-6)
    assert (rows.folds, rows.why) == (False, "a constant of shape [6, 4] is not one number a channel")
    assert shared.where == "0:Gemm + 3:Gemm"
    assert not shared.folds
    (overflow,) = found["overflowing-bias"]
    assert overflow.where == "3:Gemm"
    assert overflow.why.startswith("the bias of output channel 1 overflows int32 unless the input's scale is at least ")
    assert overflow.as_json()["channels"] == 1


def test_refused_models(tmp_path):
    with pytest.raises(ModelError, match=r"^a model must be a .tflite or .onnx file, not 'm.txt'$"):
        examine(tmp_path / "m.txt")
    with pytest.raises(ModelError, match=r"No such file or directory$"):
        examine(tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=r"^the model has no layer with constant weights that a pass could change$"):
        examined(build([node("Relu", ["x"], ["y"])], {}, {"x": [1]}), tmp_path)
    cycle = build([node("Add", ["y", "x"], ["h"]), node("Relu", ["h"], ["y"])], {}, {"x": [1]})
    with pytest.raises(ModelError, match=r"^operator 0:Add, tensor y: read before any operator wrote it$"):
        examined(cycle, tmp_path)
    infinite = build([node("Gemm", ["x", "w"], ["y"], alpha=float("inf"))], {"w": np.ones((2, 2))}, {"x": [1, 2]})
    with pytest.raises(ModelError, match=r"^a layer's constants cannot be used: w must be finite$"):
        examined(infinite, tmp_path)
