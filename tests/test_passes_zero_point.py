"""The folded zero point against the integer definition."""

import numpy as np
import pytest
from plusb.gen.passes import FoldError, fold_zero_point, signed_bits


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("weights", [True, False], ids=["weight zero points", "none"])
def test_folded(weights, bias):
    rng = np.random.default_rng(1)
    x, w = rng.integers(-128, 128, (20, 9)), rng.integers(-128, 128, (5, 9))
    zx, zw = 17, rng.integers(-9, 9, 5) if weights else np.zeros(5, int)
    b = rng.integers(-1000, 1000, 5) if bias else np.zeros(5, int)
    fold = fold_zero_point(w, b if bias else None, zx, zw if weights else None)
    want = (x - zx) @ (w - zw[:, None]).T + b
    np.testing.assert_array_equal(x @ w.T - x.sum(axis=1, keepdims=True) * zw + fold.bias, want)
    assert fold.bits_after == signed_bits(fold.bias)
    assert fold.bits_before == signed_bits(b)


def test_refusals():
    w = np.full((2, 9), 127)
    with pytest.raises(
        FoldError, match=r"^3 zero points, one a row, need the rank-1 term and do not fold into a bias vector$"
    ):
        fold_zero_point(w, None, np.array([1, 2, 3]))
    with pytest.raises(FoldError, match=r"^with the zero point -128 folded the bias needs 19 bits, more than 16$"):
        fold_zero_point(w, None, -128, width=16)
    with pytest.raises(FoldError, match=r"^with the zero point -1 folded the bias needs 33 bits, more than 32$"):
        fold_zero_point(w, np.array([2**31 - 1, 0]), -1)


def test_signed_bits():
    for bits in range(2, 63):
        assert signed_bits([0, 2 ** (bits - 1) - 1]) == bits
        assert signed_bits([0, -(2 ** (bits - 1))]) == bits
        assert signed_bits([2 ** (bits - 1)]) == bits + 1
    assert signed_bits([0, 0]) == 0
    assert signed_bits([-1]) == 1
    with pytest.raises(TypeError, match=r"^values must be integers, not float64$"):
        signed_bits([0.5])
