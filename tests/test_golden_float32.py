"""The float32 family against float32 rounding written out in rationals, and the float64 form of LiteRT's reference."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plusb.sim.golden import requantize_float32, requantize_float64

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
property_test = settings(max_examples=200, deadline=None, database=None, derandomize=True)


def raises(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def to_float32(x):
    """A rational rounded to a float32, half to even, subnormals and overflow included; independent of any float."""
    if x == 0:
        return Fraction(0)
    exponent = 0
    while abs(x) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    ulp = Fraction(2) ** (max(exponent, -126) - 23)
    return round(x / ulp) * ulp


def by_definition(v, scale):
    exact = round(to_float32(to_float32(Fraction(v)) * Fraction(scale)))
    return min(max(exact, INT64_MIN), INT64_MAX)


values = st.one_of(
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.integers(-(1 << 47), (1 << 47) - 1),
    st.integers(INT64_MIN, INT64_MAX),
    st.integers(-300, 300),
    # Halfway between two float32 values, and next to it: the bits that one rounding and two treat differently.
    st.builds(
        lambda k, e, d: ((2 * k + 1) << e) + d,
        st.integers(1 << 23, (1 << 24) - 1),
        st.integers(0, 37),
        st.integers(-1, 1),
    ),
)
scales = st.one_of(
    st.floats(0, 2.0**40, width=32),
    st.floats(2.0**-20, 2.0**3, width=32),
    st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 2.0**-149, float(np.finfo(np.float32).max)]),
)


@property_test
@given(st.lists(st.tuples(values, scales), min_size=1, max_size=16))
def test_equals_its_definition_in_rationals(drawn):
    v, scale = zip(*drawn, strict=True)
    got = requantize_float32(np.array(v, np.int64), np.array(scale, np.float32))
    assert got.dtype == np.int64
    assert got.tolist() == [by_definition(*case) for case in drawn]


def test_int64_becomes_float32_in_one_rounding():
    """2**60 + 2**36 + 1 lies above a tie of float32; through float64 it would land on the tie and round down."""
    v = (1 << 60) + (1 << 36) + 1
    assert int(np.float32(np.float64(v))) == 1 << 60
    assert requantize_float32(v, 1.0) == (1 << 60) + (1 << 37)
    assert requantize_float32([v] * 33, 1.0).tolist() == [(1 << 60) + (1 << 37)] * 33


def test_table_of_ties():
    assert requantize_float32([-26, -6, -2, 1, 2, 6, 10], 0.25).tolist() == [-6, -2, 0, 0, 0, 2, 2]


def test_corner_cases_of_the_contract():
    """Above 2**24 the accumulator itself is rounded: exact rounding would give 73."""
    scale = 1.1082563560194103e-06
    assert round(Fraction(65418078) * Fraction(scale)) == 73
    assert requantize_float32(65418078, np.float32(scale)) == 72
    assert requantize_float32(16777217, 1.0) == 16777216


def test_saturates_at_int64():
    largest = np.finfo(np.float32).max
    assert requantize_float32([1 << 40, -(1 << 40), 1, 0], largest).tolist() == [INT64_MAX, INT64_MIN, INT64_MAX, 0]
    assert requantize_float32([1 << 62, -(1 << 62)], np.float32(2)).tolist() == [INT64_MAX, INT64_MIN]
    assert requantize_float32((1 << 63) - (1 << 40), np.float32(1)) == (1 << 63) - (1 << 40)
    assert requantize_float32([INT64_MAX, INT64_MIN], np.float32(1)).tolist() == [INT64_MAX, INT64_MIN]


def test_shapes_broadcast():
    got = requantize_float32(np.arange(6, dtype=np.int8).reshape(2, 3), np.array([1, 2, 4], np.float32))
    assert got.tolist() == [[0, 2, 8], [3, 8, 20]]


@property_test
@given(st.integers(-(1 << 52), 1 << 52), st.floats(0, 2.0**10))
def test_float64_form_rounds_the_product_half_away(v, scale):
    product = Fraction(float(v) * scale)
    assert requantize_float64(v, scale) == math.floor(abs(product) + Fraction(1, 2)) * (1 if product >= 0 else -1)


def test_float64_form_at_ties_and_bounds():
    below_half = 0.49999999999999994
    assert requantize_float64([-26, -6, -2, 1, 2, 6, 10], 0.25).tolist() == [-7, -2, -1, 0, 1, 2, 3]
    assert requantize_float64(1, below_half) == 0
    assert requantize_float64([1, -1], 1e30).tolist() == [INT64_MAX, INT64_MIN]
    assert requantize_float64([1 << 62, -(1 << 62)], 1e308).tolist() == [INT64_MAX, INT64_MIN]


@pytest.mark.parametrize("function", [requantize_float32, requantize_float64])
@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0.5, 1.0), TypeError, "v must be integers, not 0.5"),
        ((1, 1), TypeError, "scale must be floating-point numbers, not 1"),
        ((1, "1"), TypeError, "scale must be floating-point numbers, not '1'"),
        ((1, -0.5), ValueError, "scale must be finite and at least 0, not -0.5"),
        ((1, [1.0, math.inf]), ValueError, "scale must be finite and at least 0, not inf"),
        ((1, math.nan), ValueError, "scale must be finite and at least 0, not nan"),
    ],
)
def test_refusals(function, arguments, error, text):
    with raises(error, text):
        function(*arguments)


@pytest.mark.parametrize("scale", [0.1, 1e300, 1e-300])
def test_a_scale_is_never_rounded_silently(scale):
    with raises(ValueError, f"scale must be exact in float32 (round it with np.float32), not {scale!r}"):
        requantize_float32(1, scale)
    assert requantize_float32(10, np.float32(0.1)) == 1
