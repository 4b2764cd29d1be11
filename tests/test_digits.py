"""The committed digits network: its files, its arithmetic, its accuracy, and that it can be trained again."""

import sys
from pathlib import Path

import numpy as np
import pytest
from plusb.gen.digits import network, train
from plusb.rtl.numeric import Family
from plusb.sim.golden import gemm_epilogue, quantize_multiplier

FOLDER = Path(network.__file__).parent


@pytest.fixture(scope="module")
def net():
    return network.load()


@pytest.fixture(scope="module")
def model():
    with np.load(FOLDER / "model.npz", allow_pickle=False) as archive:
        return dict(archive)


def epilogue_by_gemmlowp(v, multiplier, shift, zp_out, lo, hi):
    """The two roundings as gemmlowp's own source has them, on Python integers; only shifts to the right."""
    product = int(v) * int(multiplier)
    nudged = product + (1 << 30 if product >= 0 else 1 - (1 << 30))
    high = abs(nudged) >> 31  # C's division truncates towards zero.
    high = high if nudged >= 0 else -high
    mask = (1 << -shift) - 1
    threshold = (mask >> 1) + (high < 0)
    q = (high >> -shift) + ((high & mask) > threshold)
    return min(max(q + zp_out, lo), hi)


def infer_by_gemmlowp(net):
    x = net.quantize_input(net.images)
    for layer in net.layers:
        acc = x.astype(np.int64) @ layer.w.astype(np.int64) + layer.bias
        y = np.empty(acc.shape, np.int8)
        for i, j in np.ndindex(acc.shape):
            y[i, j] = epilogue_by_gemmlowp(
                acc[i, j], layer.multiplier[j], int(layer.shift[j]), layer.zp_out, layer.lo, layer.hi
            )
        x = y
    return x


def infer_by_golden(net):
    x = net.quantize_input(net.images)
    for layer in net.layers:
        x = gemm_epilogue(
            x,
            layer.w,
            bias=layer.bias,
            family=layer.family,
            multiplier=layer.multiplier,
            shift=layer.shift,
            zp_out=layer.zp_out,
            lo=layer.lo,
            hi=layer.hi,
        )
    return x


def test_layers(net):
    assert [(layer.name, layer.k, layer.n) for layer in net.layers] == [
        ("fc1", 64, 128),
        ("fc2", 128, 64),
        ("fc3", 64, 10),
    ]
    for layer in net.layers:
        assert layer.op == "FULLY_CONNECTED"
        assert layer.family is Family.gemmlowp
        assert layer.w.dtype == np.int8
        assert layer.w.min() >= -127, "symmetric weights leave -128 unused"
        assert {layer.bias.dtype, layer.multiplier.dtype, layer.shift.dtype} == {np.dtype(np.int64)}
        assert layer.bias.shape == layer.multiplier.shape == layer.shift.shape == (layer.n,)
        assert np.abs(layer.bias).max() < 2**31
        assert layer.multiplier.min() >= 2**30
        assert layer.multiplier.max() < 2**31
        assert layer.shift.min() >= -31
        assert layer.shift.max() <= 0
        assert -128 <= layer.lo < layer.hi == 127
    assert [layer.lo == layer.zp_out for layer in net.layers] == [True, True, False], "ReLU in all but the last"


def test_images(net):
    assert net.images.dtype == net.labels.dtype == np.uint8
    assert net.images.shape == (360, 64)
    assert (net.images.min(), net.images.max()) == (0, 16)
    assert np.bincount(net.labels).tolist() == [36] * 10


def test_quantize_input(net):
    x = net.quantize_input(net.images)
    assert x.dtype == np.int8
    # Exact: the real value of every code is the pixel again.
    real = (x.astype(int) - network.INPUT_ZERO_POINT) * float(network.INPUT_SCALE)
    np.testing.assert_allclose(real, net.images / 16, rtol=1e-7)
    assert np.array_equal(net.quantize_input(net.images.astype(np.int64)), x)


@pytest.mark.parametrize(
    ("images", "error", "message"),
    [
        (np.zeros((2, 8, 8), np.uint8), ValueError, "images must have the shape (M, 64), not (2, 8, 8)"),
        (np.zeros((2, 64)), TypeError, "images must be integers, not float64"),
        (np.full((2, 64), 17), ValueError, "images must be in 0..16, not 17"),
        (np.full((2, 64), -1), ValueError, "images must be in 0..16, not -1"),
    ],
)
def test_wrong_images(net, images, error, message):
    for method in net.quantize_input, net.float_logits:
        with pytest.raises(error) as caught:
            method(images)
        assert str(caught.value) == message


def test_folded_bias(net, model):
    rng = np.random.default_rng(0)
    for layer, zx in zip(net.layers, model["zero_points"][:-1].tolist(), strict=True):
        assert model[f"{layer.name}_bias"].dtype == np.int32
        x = rng.integers(-128, 128, (50, layer.k))
        w = layer.w.astype(np.int64)
        assert np.array_equal((x - zx) @ w + model[f"{layer.name}_bias"], x @ w + layer.bias)


def test_quantized_from_the_float_weights(net, model):
    scales = model["scales"].astype(np.float64)
    assert scales[0] == network.INPUT_SCALE
    assert model["zero_points"][0] == network.INPUT_ZERO_POINT
    for layer, (w, b), s_in, s_out in zip(net.layers, net.float_layers, scales[:-1], scales[1:], strict=True):
        w_scale = model[f"{layer.name}_w_scale"].astype(np.float64)
        assert np.all(np.abs(layer.w * w_scale - w) <= w_scale * 0.50001)
        assert np.all(np.abs(model[f"{layer.name}_bias"] * s_in * w_scale - b) <= s_in * w_scale * 0.50001)
        multiplier, shift = quantize_multiplier(s_in * w_scale / s_out)
        assert np.array_equal(layer.multiplier, multiplier)
        assert np.array_equal(layer.shift, shift)


def test_float_accuracy(net):
    assert net.float_logits(net.images).dtype == np.float64
    assert net.float_accuracy() >= 0.97


def test_int8_accuracy(net):
    scores = infer_by_gemmlowp(net)
    assert net.accuracy(scores) >= 0.95
    assert np.array_equal(infer_by_golden(net), scores)


def test_readme_states_the_accuracies(net):
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"float accuracy: {net.float_accuracy():.2%} of 360 held-out images" in readme
    assert f"int8 accuracy:  {net.accuracy(infer_by_golden(net)):.2%} of 360 held-out images" in readme


def test_train_without_sklearn(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert train.main(["--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "error: retraining needs scikit-learn (pip install 'plusb[dev]')\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_retrain(net, capsys, tmp_path):
    pytest.importorskip("sklearn")
    for folder in "first", "second":
        assert train.main(["--out", str(tmp_path / folder)]) == 0
    assert "int8 accuracy:" in capsys.readouterr().out
    for name in "model.npz", "test.npz":
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()

    again = network.load(tmp_path / "first")
    assert np.array_equal(again.images, net.images)
    assert np.array_equal(again.labels, net.labels)
    # Another BLAS trains other weights. Four other seeds, splits included, spread over one point: two are generous.
    assert again.float_accuracy() == pytest.approx(net.float_accuracy(), abs=0.02)
    assert again.accuracy(infer_by_golden(again)) == pytest.approx(net.accuracy(infer_by_golden(net)), abs=0.02)


@pytest.mark.slow
def test_train_into_a_file(capsys, tmp_path):
    pytest.importorskip("sklearn")
    (tmp_path / "file").touch()
    assert train.main(["--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err == f"error: cannot write {tmp_path / 'file'}: File exists\n"
