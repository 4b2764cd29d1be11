"""Detection of biases that are zero, occur twice, or overflow."""

import numpy as np
import pytest
from plusb.gen.passes import (
    FoldError,
    Linear,
    accumulator_bound,
    bypass_bias,
    check_bias,
    equal_biases,
    merge_added_bias,
    share_bias,
    smallest_input_scale,
)

from .passes_float import random_linear


def test_bypass():
    bypass_bias(None)
    bypass_bias(np.zeros(4, int))
    with pytest.raises(FoldError, match=r"^2 of 4 biases are not zero$"):
        bypass_bias(np.array([0, 1, 0, -1]))


def test_a_bias_added_twice():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20, 5))
    for bias in (True, False):
        linear, added = random_linear(rng, 7, 5, bias=bias), rng.normal(size=7)
        np.testing.assert_allclose(merge_added_bias(linear, added)(x), linear(x) + added, atol=1e-12)
        np.testing.assert_allclose(merge_added_bias(linear, 0.5)(x), linear(x) + 0.5, atol=1e-12)
    with pytest.raises(FoldError, match=r"^a term of shape \[20, 7\] is not one number for each of 7 outputs$"):
        merge_added_bias(linear, np.ones((20, 7)))


def test_equal_biases():
    a, b = np.array([1, 2]), np.array([2, 1])
    assert equal_biases([a, None, b, a.copy(), None, np.zeros(2, int), np.zeros(2, int)]) == [[0, 3]]
    assert equal_biases([a, b, b, a]) == [[0, 3], [1, 2]]
    assert equal_biases([a, np.array([1, 2, 0])]) == []


def test_sharing_needs_one_scale():
    bias, scale = np.array([3, -4]), np.array([0.1, 0.2])
    np.testing.assert_array_equal(share_bias(bias, [scale, scale * (1 + 1e-7)]), bias)
    with pytest.raises(FoldError) as error:
        share_bias(bias, [scale, scale * [1, 4]])
    assert str(error.value) == (
        "the same integers on accumulators whose scales differ by a factor of 4 are other numbers; check the converter"
    )


@pytest.mark.parametrize("signed", [True, False])
def test_accumulator_bound_is_reached(signed):
    rng = np.random.default_rng(2)
    w, zx = rng.integers(-128, 128, (4, 3)), 5
    extremes = np.array([-128, 127] if signed else [0, 255])
    x = extremes[np.indices((2, 2, 2)).reshape(3, -1).T]
    want = np.abs((x - zx) @ w.T).max(axis=0)
    np.testing.assert_array_equal(accumulator_bound(w, zx, signed=signed), want)


def test_overflow():
    bias = np.array([0, -(2**31), 5])
    assert check_bias(bias) == 32
    with pytest.raises(FoldError, match=r"^bias -2147483649 of output channel 1 needs 33 bits, more than 32$"):
        check_bias(bias + np.array([0, -1, 0]))
    with pytest.raises(FoldError, match=r"^bias 127500000000 of output channel 0 needs 38 bits, more than 32$"):
        check_bias(np.array([127_500_000_000]))
    assert check_bias(np.array([127_500_000_000]), width=40) == 38
    with pytest.raises(FoldError) as error:
        check_bias(np.array([1, 2**31 - 10]), bound=np.array([0, 10]))
    assert str(error.value) == (
        "accumulator and bias of output channel 1 can reach 2147483648, beyond the 32 bits in which runtimes add them"
    )
    assert check_bias(np.array([1, 2**31 - 11]), bound=np.array([0, 10])) == 32


def test_smallest_input_scale_is_the_limit():
    linear = Linear(w=np.array([[1.0, -2.0], [1e-9, 0], [0, 0], [0, 0]]), b=np.array([0.5, -0.5, 0.5, 0.0]))
    needed = smallest_input_scale(linear)
    assert np.isinf(needed[2])
    assert needed[3] == 0
    for o in (0, 1):
        s_w = np.abs(linear.w[o]).max() / 127
        assert round(abs(linear.b[o]) / (needed[o] * s_w)) == 2**31 - 1
    together = smallest_input_scale(linear, per_channel=False)
    np.testing.assert_allclose(together[:3], needed[0])
