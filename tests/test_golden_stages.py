"""The epilogue against a scalar model in Python integers that follows the order of operations of the contract."""

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from plusb.rtl.numeric import Family, IntType
from plusb.sim.golden import add_terms, epilogue, epilogue_stages, fold_zero_point, gemm, gemm_epilogue

HALF = {"family": "half_up", "multiplier": 1 << 30, "shift": 0}
ACC = np.array([[10, -7, 3], [0, 255, -256]])


def raises(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def scalar_model(i, j, acc, p):
    """One output element, from plain nested lists."""
    v = acc[i][j]
    if "zw" in p:
        v -= p["zw"][j] * p["rowsum"][i]
    if "zx" in p:
        v -= p["zx"][i] * p["colsum"][j]
    v += p.get("bias_scalar", 0)
    v += p["bias"][j] if "bias" in p else 0
    v += p["bias_row"][i] if "bias_row" in p else 0
    v += p["bias_tile"][i][j] if "bias_tile" in p else 0
    if "bias_relative" in p:
        table, r, c = p["bias_relative"]
        v += table[r[i] - c[j]]
    if "residual" in p:
        res, z_res, m_res = p["residual"]
        v += (res[i][j] - z_res) * m_res[j]
    multiplier, shift = p["negative"] if "negative" in p and v < 0 else (p["multiplier"], p["shift"])
    exact = Fraction(v * multiplier[j], 1 << 31) * Fraction(2) ** shift[j] + Fraction(1, 2)
    y = min(max(exact.numerator // exact.denominator + p["zp_out"], p["lo"]), p["hi"])
    return p["lut"][y & 255] if "lut" in p else y


def optional_parameters(rng, m, n):
    """Every optional parameter, as arrays."""
    return {
        "bias": rng.integers(-(1 << 20), 1 << 20, n),
        "bias_scalar": int(rng.integers(-1000, 1000)),
        "bias_row": rng.integers(-(1 << 15), 1 << 15, m),
        "bias_tile": rng.integers(-(1 << 15), 1 << 15, (m, n)),
        "bias_relative": (rng.integers(-(1 << 15), 1 << 15, m + n - 1), np.arange(m) + n - 1, np.arange(n)),
        "zw": rng.integers(-128, 128, n),
        "zx": rng.integers(-128, 128, m),
        "residual": (rng.integers(-128, 128, (m, n)), int(rng.integers(-128, 128)), rng.integers(0, 1 << 12, n)),
        "negative": (rng.integers(1 << 30, 1 << 31, n), rng.integers(-20, -12, n)),
        "lut": rng.integers(-128, 128, 256),
    }


def to_lists(value):
    if isinstance(value, tuple):
        return tuple(map(to_lists, value))
    return value.tolist() if isinstance(value, np.ndarray) else value


ALL = list(optional_parameters(np.random.default_rng(0), 1, 1))
SUBSETS = [(), *itertools.combinations(ALL, 1), *itertools.combinations(ALL, 2), tuple(ALL)]


@pytest.mark.parametrize("names", SUBSETS, ids="+".join)
def test_equals_the_scalar_model(names):
    rng = np.random.default_rng(len("".join(names)))
    m, n = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    p = {name: value for name, value in optional_parameters(rng, m, n).items() if name in names}
    if "zw" in p:
        p["rowsum"] = rng.integers(-5000, 5000, m)
    if "zx" in p:
        p["colsum"] = rng.integers(-5000, 5000, n)
    p |= {"multiplier": rng.integers(1 << 30, 1 << 31, n), "shift": rng.integers(-16, -8, n)}
    p |= {"zp_out": int(rng.integers(-128, 128)), "lo": -120, "hi": 100}
    acc = rng.integers(-(1 << 20), 1 << 20, (m, n))
    lists = {name: to_lists(value) for name, value in p.items()}
    expected = [[scalar_model(i, j, acc.tolist(), lists) for j in range(n)] for i in range(m)]
    assert epilogue(acc, family="half_up", **p).tolist() == expected


def test_relative_bias_of_attention_windows():
    """T5: r = i, c = j, offset to start at 0. Swin: r = yi*(2W-1)+xi + const, c = yj*(2W-1)+xj."""
    t5 = np.arange(100, 107)
    v = add_terms(np.zeros((4, 4), int), bias_relative=(t5, np.arange(4) + 3, np.arange(4)))
    assert v.tolist() == [[103 + i - j for j in range(4)] for i in range(4)]
    window = 3
    y, x = np.divmod(np.arange(window**2), window)
    c = y * (2 * window - 1) + x
    table = np.arange((2 * window - 1) ** 2)
    v = add_terms(np.zeros((9, 9), int), bias_relative=(table, c + c.max(), c))
    expected = (y[:, np.newaxis] - y + window - 1) * (2 * window - 1) + x[:, np.newaxis] - x + window - 1
    assert v.tolist() == expected.tolist()


def test_stages_are_kept():
    stages = epilogue_stages([[100, -300, 41]], **HALF, bias=[0, 0, 0], zp_out=5, lo=0, hi=55, lut=np.arange(256) * 2)
    assert stages.v.tolist() == [[100, -300, 41]]
    assert stages.q.tolist() == [[50, -150, 21]]
    assert stages.y.tolist() == [[55, 0, 26]]
    assert stages.out.tolist() == [[110, 0, 52]]
    assert stages.saturated.tolist() == [[False, True, False]]


def test_raw_returns_the_sum_before_requantization():
    stages = epilogue_stages(ACC, bias=[1, 2, 3], raw=True)
    assert stages.out.tolist() == np.add(ACC, [1, 2, 3]).tolist()
    assert stages.q is stages.y is None
    assert not stages.saturated.any()
    assert epilogue(ACC, raw=True, **HALF).tolist() == ACC.tolist()
    assert gemm_epilogue([[3]], [[1 << 40]], raw=True).tolist() == [[3 << 40]]


def test_zero_point_is_added_after_rounding():
    """acc 1, scale 1/2, odd zero point: 1 in ONNX Runtime; onnx.reference adds first, rounds 1.5 and answers 2."""
    assert epilogue([[1, 3, -1]], family=Family.float32, scale=0.5, zp_out=1).tolist() == [[1, 3, 1]]


def test_float32_scales_and_the_second_scale():
    scale, negative = np.array([0.5, 2, 1], np.float32), np.float32(0.25)
    assert epilogue([[10, -10, -6]], family="float32", scale=scale, negative=negative).tolist() == [[5, -2, -2]]


def test_the_second_scale_is_used_below_zero_only():
    """PReLU: 0 belongs to the first scale, and the sign is that of v, after the bias."""
    p = HALF | {"negative": (np.array([1 << 30, 0]), np.array([2, 0]))}
    assert epilogue([[-3, -3], [0, 0], [5, 5]], **p).tolist() == [[-6, 0], [0, 0], [3, 3]]
    assert epilogue([[-3, -3]], bias=[10, 2], **p).tolist() == [[4, 0]]


def test_clamp_is_relu_and_saturates_once():
    assert epilogue([[-50, 50, 500]], **HALF, zp_out=-10, lo=-10).tolist() == [[-10, 15, 127]]
    assert epilogue([[-50, 50, 1 << 62]], **HALF, lo=-(1 << 15), hi=(1 << 15) - 1).tolist() == [[-25, 25, 32767]]
    saturated = epilogue([[(1 << 62), -(1 << 62)]], family="floor", multiplier=(1 << 31) - 1, shift=31, zp_out=-100)
    assert saturated.tolist() == [[127, -128]]


def test_table_is_indexed_by_the_unsigned_byte():
    lut = np.arange(256)
    assert epilogue([[-2, -256, 254]], **HALF, lut=lut).tolist() == [[255, 128, 127]]
    assert epilogue([[-2, 300, 600]], **HALF, lo=0, hi=255, lut=lut).tolist() == [[0, 150, 255]]


def test_gemm_epilogue_subtracts_zero_points_of_both_kinds():
    rng = np.random.default_rng(3)
    x, w = rng.integers(-128, 128, (4, 9)), rng.integers(-128, 128, (9, 5))
    zw, bias, rows = rng.integers(-8, 8, 5), rng.integers(-999, 999, 5), rng.integers(-128, 128, 4)
    for zx in (7, rows):
        exact = (x - np.reshape(zx, (-1, 1))) @ (w - zw) + bias
        assert gemm_epilogue(x, w, bias=bias, zx=zx, zw=zw, raw=True).tolist() == exact.tolist()
        assert gemm_epilogue(x, w, zx=zx, raw=True).tolist() == ((x - np.reshape(zx, (-1, 1))) @ w).tolist()
    folded = gemm_epilogue(x, w, bias=fold_zero_point(bias, w, 7, zw), zw=zw, raw=True)
    assert folded.tolist() == ((x - 7) @ (w - zw) + bias).tolist()
    assert gemm_epilogue(x, w, zw=3, raw=True).tolist() == (x @ (w - 3)).tolist()


def test_gemm_epilogue_is_gemm_then_epilogue():
    rng = np.random.default_rng(4)
    x, w = rng.integers(-128, 128, (2, 3, 9), np.int8), rng.integers(-128, 128, (9, 5), np.int8)
    p = {"bias": rng.integers(-999, 999, 5), "family": "gemmlowp", "multiplier": 1518500250, "shift": -6, "zp_out": 3}
    int8 = IntType.parse("int8")
    got = gemm_epilogue(x, w, x_type=int8, w_type=int8, **p)
    assert got.shape == (2, 3, 5)
    assert got.dtype == np.int64
    assert got.tolist() == epilogue(gemm(x, w), **p).tolist()
    stages = gemm_epilogue(x, w, stages=True, **p)
    assert stages.out.tolist() == got.tolist()
    assert stages.v.tolist() == (gemm(x, w) + p["bias"]).tolist()


def test_leading_axes_share_or_have_their_own_terms():
    acc = np.zeros((2, 2, 3), int)
    assert add_terms(acc, bias_row=[1, 2])[1].tolist() == [[1] * 3, [2] * 3]
    assert add_terms(acc, bias_row=[[1, 2], [3, 4]])[1].tolist() == [[3] * 3, [4] * 3]
    assert add_terms(acc, bias_tile=ACC)[1].tolist() == ACC.tolist()
    assert add_terms(acc, bias_tile=np.stack([ACC, -ACC]))[1].tolist() == (-ACC).tolist()


def test_inputs_are_not_changed():
    acc = ACC.copy()
    epilogue(acc, **HALF, bias=[1, 2, 3], residual=(ACC, 1, 2))
    assert acc.tolist() == ACC.tolist()


@pytest.mark.parametrize(
    ("parameters", "error", "text"),
    [
        ({"bias": 5}, ValueError, "bias must have the shape (3,), not ()"),
        ({"bias": [1, 2]}, ValueError, "bias must have the shape (3,), not (2,)"),
        ({"bias": [0.5, 1, 2]}, TypeError, "bias must be integers, not [0.5, 1, 2]"),
        ({"bias_scalar": [1]}, TypeError, "bias_scalar must be an integer, not [1]"),
        ({"bias_scalar": 1 << 63}, ValueError, "bias_scalar must fit int64, not 9223372036854775808"),
        ({"bias_row": [1, 2, 3]}, ValueError, "bias_row must have the shape (2,), not (3,)"),
        ({"bias_row": 1}, ValueError, "bias_row must have the shape (2,), not ()"),
        ({"bias_tile": [[1, 2], [3, 4]]}, ValueError, "bias_tile must have the shape (2, 3), not (2, 2)"),
        ({"bias_relative": [1, 2, 3]}, TypeError, "bias_relative must be a tuple (table, r, c), not [1, 2, 3]"),
        (
            {"bias_relative": ([[1]], [0, 0], [0, 0, 0])},
            ValueError,
            "table must have one dimension, not the shape (1, 1)",
        ),
        ({"bias_relative": ([1], [0], [0, 0, 0])}, ValueError, "r must have the shape (2,), not (1,)"),
        ({"bias_relative": ([1], [0, 0], [0])}, ValueError, "c must have the shape (3,), not (1,)"),
        ({"bias_relative": ([1, 2], [0, 1], [0, 1, 0])}, ValueError, "r[i] - c[j] must be in 0..1, not -1"),
        ({"bias_relative": ([1, 2], [0, 2], [0, 0, 0])}, ValueError, "r[i] - c[j] must be in 0..1, not 2"),
        ({"zw": 1}, ValueError, "rowsum must be given with zw, not None"),
        ({"rowsum": [1, 2]}, ValueError, "zw must be given with rowsum, not None"),
        ({"zx": [1, 2]}, ValueError, "colsum must be given with zx, not None"),
        ({"colsum": [1, 2, 3]}, ValueError, "zx must be given with colsum, not None"),
        ({"zw": [1, 2], "rowsum": [1, 2]}, ValueError, "zw must have the shape (), (1,) or (3,), not (2,)"),
        ({"residual": 3}, TypeError, "residual must be a tuple (res, z_res, m_res), not 3"),
        ({"residual": ([[1]], 0, 1)}, ValueError, "res must have the shape (2, 3), not (1, 1)"),
        ({"residual": (ACC, 0.5, 1)}, TypeError, "z_res must be an integer, not 0.5"),
        ({"residual": (ACC, 0, [1, 2])}, ValueError, "m_res must have the shape (), (1,) or (3,), not (2,)"),
        (
            {"residual": (ACC, (1 << 63) - 1, 0)},
            ValueError,
            "res - z_res must fit int64, not reach 9223372036854776063",
        ),
        (
            {"bias": [0, 0, (1 << 63) - 1]},
            ValueError,
            "the sum before requantization must fit int64, not reach 9223372036854776063",
        ),
        ({"raw": 1}, TypeError, "raw must be a bool, not 1"),
        ({"family": None}, TypeError, "family must be a Family or its name, not None"),
        ({"zp_out": 0.0}, TypeError, "zp_out must be an integer, not 0.0"),
        ({"zp_out": 1 << 47}, ValueError, "zp_out must be in -140737488355328..140737488355327, not 140737488355328"),
        ({"lo": None}, TypeError, "lo must be an integer, not None"),
        ({"hi": -129}, ValueError, "lo must be at most hi (-129), not -128"),
        ({"multiplier": None}, ValueError, "multiplier must be given for Family.half_up, not None"),
        ({"shift": None}, ValueError, "shift must be given for Family.half_up, not None"),
        ({"shift": [1, 2]}, ValueError, "shift must have the shape (), (1,) or (3,), not (2,)"),
        (
            {"scale": 0.5},
            ValueError,
            "scale must be None for Family.half_up, which takes multiplier and shift, not 0.5",
        ),
        (
            {"negative": 0.5},
            TypeError,
            "negative must be a tuple (multiplier, shift) for Family.half_up, not 0.5",
        ),
        ({"family": "float32"}, ValueError, "scale must be given for Family.float32, not None"),
        (
            {"family": "float32", "scale": 0.5},
            ValueError,
            "multiplier and shift must be None for Family.float32, which takes scale",
        ),
        (
            {"family": "float32", "multiplier": None, "shift": None, "scale": [0.5, 1.0]},
            ValueError,
            "scale must have the shape (), (1,) or (3,), not (2,)",
        ),
        ({"lut": [0] * 255}, ValueError, "lut must have the shape (256,), not (255,)"),
        (
            {"lut": [0] * 256, "hi": 128},
            ValueError,
            "lo..hi must lie in -128..127 or 0..255 for a lut, not -128..128",
        ),
    ],
)
def test_refusals(parameters, error, text):
    with raises(error, text):
        epilogue(ACC, **(HALF | parameters))


def test_refuses_accumulators_without_rows():
    with raises(ValueError, "acc must have the shape (..., M, N), not (3,)"):
        epilogue([1, 2, 3], **HALF)
    with raises(TypeError, "acc must be integers, not [[0.5]]"):
        epilogue([[0.5]], **HALF)


def test_gemm_epilogue_refuses_zero_points_of_a_wrong_shape():
    with raises(ValueError, "zx must have the shape (2,), not (3,)"):
        gemm_epilogue([[1], [2]], [[1]], zx=[1, 2, 3], **HALF)
    with raises(TypeError, "zx must be integers, not 0.5"):
        gemm_epilogue([[1], [2]], [[1]], zx=0.5, **HALF)
    with raises(ValueError, "zw must have the shape (), (1,) or (1,), not (2,)"):
        gemm_epilogue([[1], [2]], [[1]], zx=1, zw=[1, 2], **HALF)


def test_one_scale_may_have_one_element():
    """As the per-tensor scales of a model file have."""
    expected = epilogue(ACC, **HALF).tolist()
    assert epilogue(ACC, family="half_up", multiplier=[1 << 30], shift=[0]).tolist() == expected
    assert epilogue(ACC, family="float32", scale=np.float32([2])).shape == ACC.shape
