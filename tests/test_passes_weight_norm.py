"""Weight norm, mean-only batch norm and data-dependent initialization against the unfolded computation."""

import numpy as np
import pytest
from plusb.gen.passes import (
    FoldError,
    WeightNorm,
    data_dependent_init,
    fold_mean_only_batch_norm,
    fold_weight_norm,
    weight_norm_in_scale,
)
from plusb.gen.passes.linear import Linear

from .passes_float import convolve, random_linear


def unfolded(layer, x):
    """Weight norm by its definition, output for output."""
    v, g, b = layer.v.w, layer.g, layer.v.bias
    return np.stack([g[o] * (x @ v[o]) / np.linalg.norm(v[o]) + b[o] for o in range(len(g))], axis=-1)


def random_layer(seed, *, signs=True):
    rng = np.random.default_rng(seed)
    g = rng.normal(size=6) if signs else rng.uniform(0.1, 2, 6)
    return WeightNorm(v=random_linear(rng, 6, 9), g=g), rng.normal(size=(20, 9))


def test_folded():
    layer, x = random_layer(1)
    np.testing.assert_allclose(fold_weight_norm(layer)(x), unfolded(layer, x), rtol=1e-11)


def test_folded_convolution():
    rng = np.random.default_rng(2)
    layer = WeightNorm(v=random_linear(rng, 4, 3, 3, 2), g=rng.normal(size=4))
    norms = [np.linalg.norm(layer.v.w[o]) for o in range(4)]
    folded = fold_weight_norm(layer)
    x = rng.normal(size=(5, 5, 2))
    bare = convolve(x, Linear(w=layer.v.w))
    np.testing.assert_allclose(convolve(x, folded), bare / norms * layer.g + layer.v.b, rtol=1e-10)


def test_kept_in_the_column_scale():
    layer, x = random_layer(3, signs=False)
    v, factor = weight_norm_in_scale(layer)
    np.testing.assert_array_equal(v.w, layer.v.w)
    np.testing.assert_allclose(factor * v(x), unfolded(layer, x), rtol=1e-11)


def test_kept_with_a_silent_channel():
    layer, x = random_layer(4, signs=False)
    g, b = layer.g.copy(), layer.v.b.copy()
    g[2] = b[2] = 0
    layer = WeightNorm(v=Linear(w=layer.v.w, b=b), g=g)
    v, factor = weight_norm_in_scale(layer)
    np.testing.assert_allclose(factor * v(x), unfolded(layer, x), rtol=1e-11, atol=1e-12)


def test_refusals():
    layer, _ = random_layer(5)
    g = np.abs(layer.g)
    g[3] = -1
    with pytest.raises(FoldError, match=r"^g is negative in output channel 3, and a multiplier cannot be: fold it$"):
        weight_norm_in_scale(WeightNorm(v=layer.v, g=g))
    g[3] = 0
    with pytest.raises(FoldError, match=r"^g is zero in output channel 3, whose bias is not: fold it$"):
        weight_norm_in_scale(WeightNorm(v=layer.v, g=g))
    w = layer.v.w.copy()
    w[1] = 0
    with pytest.raises(FoldError, match=r"^v is zero in output channel 1, so it has no direction$"):
        fold_weight_norm(WeightNorm(v=Linear(w=w), g=g))
    with pytest.raises(ValueError, match=r"^g must have the shape \(6,\), not \(5,\)$"):
        WeightNorm(v=layer.v, g=g[:5])


def test_mean_only_batch_norm():
    rng = np.random.default_rng(6)
    linear, x, mean, beta = random_linear(rng, 6, 9), rng.normal(size=(20, 9)), rng.normal(size=6), rng.normal(size=6)
    folded = fold_mean_only_batch_norm(linear, mean, beta)
    np.testing.assert_array_equal(folded.w, linear.w)
    np.testing.assert_allclose(folded(x), linear(x) - mean + beta, atol=1e-12)
    np.testing.assert_allclose(fold_mean_only_batch_norm(linear, mean)(x), linear(x) - mean, atol=1e-12)
    with pytest.raises(ValueError, match=r"^mean must have the shape \(6,\), not \(5,\)$"):
        fold_mean_only_batch_norm(linear, mean[:5])


def test_data_dependent_init_standardizes():
    rng = np.random.default_rng(7)
    v, x = random_linear(rng, 6, 9), rng.normal(2, 3, (500, 9))
    layer = data_dependent_init(v, x)
    y = fold_weight_norm(layer)(x)
    np.testing.assert_allclose(y.mean(axis=0), 0, atol=1e-11)
    np.testing.assert_allclose(y.std(axis=0), 1, rtol=1e-11)
    # The published formulas, channel by channel.
    for o in range(6):
        t = x @ v.w[o] / np.linalg.norm(v.w[o])
        assert layer.g[o] == pytest.approx(1 / t.std())
        assert layer.v.b[o] == pytest.approx(-t.mean() / t.std())


def test_data_dependent_init_of_patches():
    rng = np.random.default_rng(8)
    v, x = random_linear(rng, 4, 3, 3, 2), rng.normal(1, 2, (300, 3, 3, 2))
    y = np.einsum("shwc,ohwc->so", x, fold_weight_norm(data_dependent_init(v, x)).w)
    np.testing.assert_allclose(y.std(axis=0), 1, rtol=1e-11)


def test_data_dependent_init_refusals():
    rng = np.random.default_rng(9)
    v = random_linear(rng, 6, 9)
    with pytest.raises(FoldError, match=r"^a variance needs at least 2 samples of calibration data, not 1$"):
        data_dependent_init(v, rng.normal(size=(1, 9)))
    with pytest.raises(FoldError, match=r"^output channel 0 is constant on the calibration data: 1/sigma is infinite$"):
        data_dependent_init(v, np.ones((5, 9)))
    with pytest.raises(ValueError, match=r"^x must have the shape \(samples, 9\), not \(5, 8\)$"):
        data_dependent_init(v, np.ones((5, 8)))
    with pytest.raises(FoldError, match=r"^the calibration data are those of one group, and the layer has 2$"):
        data_dependent_init(Linear(w=v.w, groups=2), np.ones((5, 9)))
