"""Layer norm's gain and bias in the next layer against the unfolded computation."""

import numpy as np
import pytest
from plusb.gen.passes import FoldError, fold_layer_norm

from .passes_float import random_linear


def normalized(x):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("beta", [True, False], ids=["layer norm", "RMS norm"])
def test_folded(beta):
    rng = np.random.default_rng(1)
    linear, x, gamma = random_linear(rng, 6, 9, bias=beta), rng.normal(2, 3, (20, 9)), rng.normal(size=9)
    beta = rng.normal(size=9) if beta else None
    n = normalized(x)
    np.testing.assert_allclose(
        fold_layer_norm(linear, gamma, beta)(n), linear(gamma * n + (0 if beta is None else beta)), atol=1e-12
    )


def test_refusals():
    rng = np.random.default_rng(2)
    linear = random_linear(rng, 6, 3, 3, 9, zero_padding=True)
    with pytest.raises(
        FoldError,
        match=r"^zero padding: the border is zero behind the layer norm, so its bias does not reach every tap$",
    ):
        fold_layer_norm(linear, np.ones(9), np.ones(9))
    fold_layer_norm(linear, np.ones(9), np.zeros(9))
    with pytest.raises(FoldError, match=r"^a layer norm over 8 values does not fit 9 inputs$"):
        fold_layer_norm(linear, np.ones(8))
    with pytest.raises(ValueError, match=r"^beta must have the shape \(9,\), not \(8,\)$"):
        fold_layer_norm(linear, np.ones(9), np.ones(8))
