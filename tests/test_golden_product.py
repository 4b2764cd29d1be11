"""The integer matrix product and zero-point folding."""

import re

import numpy as np
import pytest
from plusb.rtl.numeric import IntType
from plusb.sim.golden import fold_zero_point, gemm

INT8, UINT8, INT4, INT16 = (IntType.parse(name) for name in ("int8", "uint8", "int4", "int16"))


def raises(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def naive(x, w):
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*w, strict=True)] for row in x]


@pytest.mark.parametrize("dtypes", [(np.int8, np.int8), (np.uint8, np.int8), (np.int16, np.int8), (np.int64, np.uint8)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 7, 5), (2, 300, 4)])
def test_equals_a_naive_product(dtypes, shape):
    rng = np.random.default_rng(1)
    m, k, n = shape
    x = rng.integers(max(np.iinfo(dtypes[0]).min, -(1 << 50)), min(np.iinfo(dtypes[0]).max, 1 << 50), (m, k), dtypes[0])
    w = rng.integers(np.iinfo(dtypes[1]).min, np.iinfo(dtypes[1]).max, (k, n), dtypes[1], endpoint=True)
    if dtypes[0] is np.int64:
        x //= k
    got = gemm(x, w)
    assert got.dtype == np.int64
    assert got.tolist() == naive(x.tolist(), w.tolist())


def test_extremes_do_not_wrap():
    assert gemm(np.full((1, 65793), -128, np.int8), np.full((65793, 1), -128, np.int8)).tolist() == [[65793 << 14]]
    assert gemm([[1 << 40]], [[1 << 22]]).tolist() == [[1 << 62]]
    assert gemm([[(1 << 53) - 1, 1]], [[1], [1]]).tolist() == [[1 << 53]]


def test_leading_axes_and_empty_products():
    x = np.arange(24).reshape(2, 3, 4)
    assert gemm(x, np.ones((4, 2), int)).tolist() == [[[6, 6], [22, 22], [38, 38]], [[54, 54], [70, 70], [86, 86]]]
    assert gemm(np.zeros((2, 0), int), np.zeros((0, 3), int)).tolist() == [[0] * 3] * 2


@pytest.mark.parametrize(
    ("arguments", "parameters", "error", "text"),
    [
        (([[1.0]], [[1]]), {}, TypeError, "x must be integers, not [[1.0]]"),
        (([[1]], [[True]]), {}, TypeError, "w must be integers, not [[True]]"),
        (([1, 2], [[1], [2]]), {}, ValueError, "x must have the shape (..., M, K), not (2,)"),
        (([[1, 2]], [[1], [2], [3]]), {}, ValueError, "w must have the shape (2, N), not (3, 1)"),
        (([[1, 2]], [1, 2]), {}, ValueError, "w must have the shape (2, N), not (2,)"),
        (([[128]], [[1]]), {"x_type": INT8}, ValueError, "x must be in -128..127, not 128"),
        (([[-1]], [[1]]), {"x_type": UINT8}, ValueError, "x must be in 0..255, not -1"),
        (([[1]], [[8]]), {"w_type": INT4}, ValueError, "w must be in -8..7, not 8"),
        (([[1]], [[8]]), {"w_type": "int4"}, TypeError, "the type of w must be an IntType, not 'int4'"),
        (
            (np.zeros((1, 65794), int), np.zeros((65794, 1), int)),
            {"x_type": INT8, "w_type": INT8},
            ValueError,
            "K must be at most 65793 for int8 x int8 in 32 bits, not 65794",
        ),
        (([[1 << 40]], [[1 << 23]]), {}, ValueError, "x @ w must fit int64, not reach 9223372036854775808"),
        (([[1]], [[1]]), {"acc_width": 32.0}, TypeError, "acc_width must be an integer, not 32.0"),
    ],
)
def test_refusals(arguments, parameters, error, text):
    with raises(error, text):
        gemm(*arguments, **parameters)


def test_safe_k_depends_on_types_and_accumulator():
    x, w = np.zeros((1, 257), int), np.zeros((257, 1), int)
    assert gemm(np.zeros((1, 65793), int), np.zeros((65793, 1), int), x_type=INT8, w_type=INT8).tolist() == [[0]]
    assert gemm(x, w, x_type=INT16, w_type=INT8, acc_width=48).tolist() == [[0]]
    with raises(ValueError, "K must be at most 256 for int16 x int8 in 32 bits, not 257"):
        gemm(x, w, x_type=INT16, w_type=INT8)


def test_folding_equals_subtracting_the_zero_points():
    rng = np.random.default_rng(2)
    for _ in range(20):
        m, k, n = rng.integers(1, 9, 3)
        x, w = rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))
        bias, zw, zx = rng.integers(-1000, 1000, n), rng.integers(-128, 128, n), int(rng.integers(-128, 128))
        exact = (x - zx) @ (w - zw) + bias
        folded = gemm(x, w) + fold_zero_point(bias, w, zx, zw) - zw * x.sum(axis=1)[:, np.newaxis]
        assert folded.tolist() == exact.tolist()
        assert (gemm(x, w) + fold_zero_point(bias, w, zx)).tolist() == ((x - zx) @ w + bias).tolist()


def test_folding_without_bias_and_with_one_weight_zero_point():
    assert fold_zero_point(None, [[3], [4]], 1).tolist() == [-7]
    assert fold_zero_point([10], [[3], [4]], 1, 2).tolist() == [7]
    assert fold_zero_point(np.array([2**31 - 1], np.int32), np.full((4, 1), -128, np.int8), 127).tolist() == [
        2**31 - 1 + 127 * 4 * 128
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (([1], [1, 2], 0), ValueError, "w must have the shape (K, N), not (2,)"),
        (([1], [[1.5]], 0), TypeError, "w must be integers, not [[1.5]]"),
        (([1, 2], [[1]], 0), ValueError, "bias must have the shape (1,), not (2,)"),
        (([1.0], [[1]], 0), TypeError, "bias must be integers, not [1.0]"),
        (([1], [[1]], [0]), TypeError, "zx must be an integer, not [0]"),
        (([1], [[1]], True), TypeError, "zx must be an integer, not True"),
        (([1], [[1]], 0, [1, 2]), ValueError, "zw must have the shape (), (1,) or (1,), not (2,)"),
        (([0], [[1]], 1 << 63), ValueError, "the folded bias must fit int64, not reach 9223372036854775808"),
    ],
)
def test_folding_refusals(arguments, error, text):
    with raises(error, text):
        fold_zero_point(*arguments)
