"""Batch norm folded back and forward against the unfolded computation."""

import numpy as np
import pytest
from plusb.gen.passes import BatchNorm, FoldError, Linear, fold_batch_norm, fold_batch_norm_forward

from .passes_float import batch_norm, convolve, random_linear

NEAR = {"rtol": 1e-10, "atol": 1e-10}


@pytest.mark.parametrize("bias", [True, False])
def test_back_into_a_matrix(bias):
    rng = np.random.default_rng(1)
    linear, norm, x = random_linear(rng, 7, 5, bias=bias), batch_norm(rng, 7), rng.normal(size=(20, 5))
    np.testing.assert_allclose(fold_batch_norm(linear, norm)(x), norm(linear(x)), **NEAR)


@pytest.mark.parametrize("groups", [1, 2])
def test_back_into_a_convolution(groups):
    rng = np.random.default_rng(2)
    linear = random_linear(rng, 6, 3, 3, 4 // groups, groups=groups, zero_padding=True)
    norm, x = batch_norm(rng, 6), rng.normal(size=(5, 6, 4))
    folded = fold_batch_norm(linear, norm)
    np.testing.assert_allclose(convolve(x, folded, 1), norm(convolve(x, linear, 1)), **NEAR)


def test_negative_gamma_flips_weights():
    rng = np.random.default_rng(3)
    linear, norm = random_linear(rng, 2, 5), batch_norm(rng, 2, gamma=np.array([-1.0, 1.0]))
    folded = fold_batch_norm(linear, norm)
    assert (np.sign(folded.w[0]) == -np.sign(linear.w[0])).all()
    assert (np.sign(folded.w[1]) == np.sign(linear.w[1])).all()


@pytest.mark.parametrize("groups", [1, 2])
def test_forward_behind_an_activation(groups):
    rng = np.random.default_rng(4)
    norm, linear = batch_norm(rng, 4), random_linear(rng, 6, 3, 3, 4 // groups, groups=groups)
    x = np.maximum(rng.normal(size=(6, 7, 4)), 0)
    np.testing.assert_allclose(convolve(x, fold_batch_norm_forward(norm, linear)), convolve(norm(x), linear), **NEAR)


def test_forward_into_a_matrix():
    rng = np.random.default_rng(5)
    norm, linear, x = batch_norm(rng, 4), random_linear(rng, 6, 4, bias=False), rng.normal(size=(9, 4))
    np.testing.assert_allclose(fold_batch_norm_forward(norm, linear)(x), linear(norm(x)), **NEAR)


def test_forward_breaks_at_zero_padding():
    rng = np.random.default_rng(6)
    norm, linear, x = batch_norm(rng, 4), random_linear(rng, 6, 3, 3, 4), rng.normal(size=(5, 5, 4))
    padded = Linear(w=linear.w, b=linear.b, zero_padding=True)
    with pytest.raises(FoldError) as error:
        fold_batch_norm_forward(norm, padded)
    assert str(error.value) == (
        "zero padding: the border is zero behind the batch norm, so its offset does not reach every tap"
    )
    # It is right to refuse: folded all the same, the border is wrong and the inside is not.
    wrong = convolve(x, fold_batch_norm_forward(norm, linear), 1) - convolve(norm(x), linear, 1)
    np.testing.assert_allclose(wrong[1:-1, 1:-1], 0, atol=1e-10)
    assert np.abs(wrong[0]).min() > 1e-6


def test_forward_without_offset_keeps_zero_padding():
    rng = np.random.default_rng(7)
    norm = batch_norm(rng, 4, beta=np.zeros(4), mean=np.zeros(4))
    linear, x = random_linear(rng, 6, 3, 3, 4, zero_padding=True), rng.normal(size=(5, 5, 4))
    folded = fold_batch_norm_forward(norm, linear)
    np.testing.assert_allclose(convolve(x, folded, 1), convolve(norm(x), linear, 1), **NEAR)


def test_refusals():
    rng = np.random.default_rng(8)
    linear = random_linear(rng, 7, 5)
    with pytest.raises(FoldError, match=r"^a batch norm of 5 channels does not fit 7 outputs$"):
        fold_batch_norm(linear, batch_norm(rng, 5))
    with pytest.raises(FoldError, match=r"^a batch norm of 7 channels does not fit 5 inputs$"):
        fold_batch_norm_forward(batch_norm(rng, 7), linear)
    with pytest.raises(FoldError, match=r"^var \+ eps must be positive, and is -0.999 in a channel$"):
        batch_norm(rng, 2, var=np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"^beta must have the shape \(2,\), not \(3,\)$"):
        BatchNorm(gamma=np.ones(2), beta=np.ones(3), mean=np.ones(2), var=np.ones(2))
    with pytest.raises(ValueError, match=r"^mean must be finite$"):
        batch_norm(rng, 2, mean=np.array([0.0, np.nan]))


def test_linear_is_checked():
    with pytest.raises(TypeError, match=r"^w must hold real numbers, not complex128$"):
        Linear(w=np.ones((2, 2), complex))
    with pytest.raises(ValueError, match=r"^w must have the shape \(outputs, ..., inputs\), not \(2,\)$"):
        Linear(w=np.ones(2))
    with pytest.raises(ValueError, match=r"^b must have the shape \(2,\), not \(3,\)$"):
        Linear(w=np.ones((2, 2)), b=np.ones(3))
    with pytest.raises(ValueError, match=r"^groups must divide the 3 outputs, not be 2$"):
        Linear(w=np.ones((3, 2)), groups=2)
    with pytest.raises(TypeError, match=r"^only a plain matrix can be called; a convolution needs its geometry$"):
        Linear(w=np.ones((3, 2)), groups=3)(np.ones((1, 6)))
