"""`requantize` against exact rationals, the original gemmlowp code, the contract's formula and its table of ties."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plusb.rtl.numeric import Family
from plusb.sim.golden import requantize

FIXED = [family for family in Family if family.is_fixed_point]
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
property_test = settings(max_examples=150, deadline=None, database=None, derandomize=True)


def raises(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def truncated_division(a, b):
    return abs(a) // b * (1 if a >= 0 else -1)


def saturating_rounding_doubling_high_mul(a, b):
    """Port of gemmlowp's function to unbounded integers (it saturates only where both operands are the minimum)."""
    ab = a * b
    nudge = 1 << 30 if ab >= 0 else 1 - (1 << 30)
    return truncated_division(ab + nudge, 1 << 31)


def rounding_divide_by_pot(x, exponent):
    """Port of gemmlowp's function to unbounded integers."""
    mask = (1 << exponent) - 1
    remainder = x & mask
    threshold = (mask >> 1) + (1 if x < 0 else 0)
    return (x >> exponent) + (1 if remainder > threshold else 0)


def multiply_by_quantized_multiplier(x, multiplier, shift):
    """Port of TFLite's function (double rounding), with a left shift that does not wrap."""
    left, right = max(shift, 0), max(-shift, 0)
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(x << left, multiplier), right)


def half_up(x):
    return math.floor(x + Fraction(1, 2))


def half_away(x):
    return math.floor(abs(x) + Fraction(1, 2)) * (1 if x >= 0 else -1)


def ruy(v, multiplier, shift):
    if shift >= 0:
        return half_up(Fraction(v * multiplier << shift, 1 << 31))
    return half_up(Fraction(half_up(Fraction(v * multiplier, 1 << 31)), 1 << -shift))


def by_definition(v, multiplier, shift, family):
    """What each family means, in rationals."""
    x = Fraction(v * multiplier, 1 << 31) * Fraction(2) ** shift
    match family:
        case Family.gemmlowp:
            exact = multiply_by_quantized_multiplier(v, multiplier, shift)
        case Family.ruy:
            exact = ruy(v, multiplier, shift)
        case Family.half_even:
            exact = round(x)
        case _:
            rounding = {"half_up": half_up, "half_away": half_away, "floor": math.floor, "to_zero": math.trunc}
            exact = rounding[family](x)
    return min(max(exact, INT64_MIN), INT64_MAX)


def by_formula(v, multiplier, shift, family):
    """``(v * m + R) >> t`` of the contract, section 2, for ``t >= 1``."""
    t, p = 31 - shift, v * multiplier
    half = 1 << (t - 1)
    nudge = 1 << 30 if t > 31 else 0
    added = {
        "half_up": half,
        "half_away": half - (p < 0),
        "gemmlowp": half + (nudge if v >= 0 else -nudge),
        "ruy": half + nudge,
        "floor": 0,
        "to_zero": (1 << t) - 1 if p < 0 else 0,
        "half_even": half - 1 + (p >> t & 1),
    }
    return min(max((p + added[family]) >> t, INT64_MIN), INT64_MAX)


multipliers = st.one_of(
    st.integers(1 << 30, (1 << 31) - 1),
    st.integers(0, (1 << 31) - 1),
    st.sampled_from([0, 1, 2, 1 << 29, 1 << 30, 3 << 29, (1 << 31) - 1]),
)
shifts = st.integers(-31, 31)


@st.composite
def values(draw, multiplier, shift):
    """Accumulators of 48 bits, of 64 bits, the corners, and those next to a tie of this scale."""
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return draw(st.integers(-(1 << 47), (1 << 47) - 1))
    if kind == 1:
        return draw(st.sampled_from([0, 1, -1, INT64_MIN, INT64_MAX, -(1 << 31), (1 << 31) - 1, 1 << 32, -(1 << 32)]))
    if kind == 2 or multiplier == 0:
        return draw(st.integers(INT64_MIN, INT64_MAX))
    tie = Fraction(2 * draw(st.integers(-300, 300)) + 1, 2) / (Fraction(multiplier, 1 << 31) * Fraction(2) ** shift)
    return min(max(round(tie) + draw(st.integers(-1, 1)), INT64_MIN), INT64_MAX)


@st.composite
def cases(draw):
    multiplier, shift = draw(multipliers), draw(shifts)
    return draw(values(multiplier, shift)), multiplier, shift


@pytest.mark.parametrize("family", FIXED)
@property_test
@given(st.lists(cases(), min_size=1, max_size=24))
def test_equals_its_definition_in_rationals(family, drawn):
    v, multiplier, shift = (np.array(column, np.int64) for column in zip(*drawn, strict=True))
    assert requantize(v, multiplier, shift, family).tolist() == [by_definition(*case, family) for case in drawn]


@pytest.mark.parametrize("family", FIXED)
@property_test
@given(st.lists(cases().filter(lambda case: case[2] < 31), min_size=1, max_size=24))
def test_equals_the_formula_of_the_contract(family, drawn):
    v, multiplier, shift = (np.array(column, np.int64) for column in zip(*drawn, strict=True))
    assert requantize(v, multiplier, shift, family).tolist() == [by_formula(*case, family) for case in drawn]


@pytest.mark.parametrize("family", FIXED)
def test_small_multipliers_and_total_shifts_exhaustively(family):
    v, multiplier, t = np.meshgrid(np.arange(-33, 34), np.arange(8), np.arange(7), indexing="ij")
    got = requantize(v, multiplier, 31 - t, family)
    cases = zip(v.ravel().tolist(), multiplier.ravel().tolist(), (31 - t).ravel().tolist(), strict=True)
    assert got.ravel().tolist() == [by_definition(*case, family) for case in cases]


@pytest.mark.parametrize("family", FIXED)
def test_double_rounding_exhaustively(family):
    """Multipliers of three bits around t = 31, where gemmlowp and ruy begin to round twice."""
    v, multiplier, shift = np.meshgrid(np.arange(-40, 41), np.arange(1, 8) << 28, np.arange(-5, 3), indexing="ij")
    got = requantize(v, multiplier, shift, family)
    cases = zip(v.ravel().tolist(), multiplier.ravel().tolist(), shift.ravel().tolist(), strict=True)
    assert got.ravel().tolist() == [by_definition(*case, family) for case in cases]


TIES = {
    "half_up": [-6, -1, 0, 0, 1, 2, 3],
    "half_away": [-7, -2, -1, 0, 1, 2, 3],
    "gemmlowp": [-7, -2, -1, 1, 1, 2, 3],
    "ruy": [-6, -1, 0, 1, 1, 2, 3],
    "half_even": [-6, -2, 0, 0, 0, 2, 2],
    "floor": [-7, -2, -1, 0, 0, 1, 2],
    "to_zero": [-6, -1, 0, 0, 0, 1, 2],
}


@pytest.mark.parametrize("family", FIXED)
def test_table_of_ties(family):
    """Scale 1/4 of the exact values -6.5, -1.5, -0.5, 0.25, 0.5, 1.5, 2.5."""
    v = [-26, -6, -2, 1, 2, 6, 10]
    assert requantize(v, 1 << 30, -1, family).tolist() == TIES[family]
    assert requantize(v, 1 << 30, -1, str(family)).tolist() == TIES[family]


@pytest.mark.parametrize("family", FIXED)
def test_corner_cases_of_the_contract(family):
    assert requantize(1500000000, 1932735283, 0, family) == {"floor": 1349999999, "to_zero": 1349999999}.get(
        family, 1350000000
    )
    assert requantize((1 << 31) - 1, 1 << 30, 1, family) == (1 << 31) - 1
    assert requantize(1 << 40, 1 << 30, 11, family) == 1 << 50
    assert requantize([-(1 << 47), -1, 0, 1, (1 << 47) - 1], 0, -31, family).tolist() == [0] * 5
    # Scale 4.636909, larger than 1, as a real model has it.
    assert requantize(100, round(4.636909 / 8 * 2**31), 3, family) == (463 if family in ("floor", "to_zero") else 464)
    # A dead channel: bias 2**30 with shift -31.
    assert requantize((1 << 30) + 128, (1 << 31) - 1, -31, family) == by_definition(
        (1 << 30) + 128, (1 << 31) - 1, -31, family
    )


@pytest.mark.parametrize("family", FIXED)
def test_nothing_is_rounded_at_total_shift_zero(family):
    assert requantize([-7, -1, 0, 5], 3, 31, family).tolist() == [-21, -3, 0, 15]


@pytest.mark.parametrize("family", FIXED)
def test_saturates_at_int64(family):
    v = [INT64_MAX, INT64_MIN, 1 << 33, -(1 << 33), 1 << 32, -(1 << 32)]
    top = (1 << 31) - 1
    expected = [INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, (1 << 32) * top, -(1 << 32) * top]
    assert requantize(v, top, 31, family).tolist() == expected
    assert requantize(INT64_MAX, 1 << 30, 1, family) == INT64_MAX
    assert requantize(INT64_MIN, 1 << 30, 1, family) == INT64_MIN


@pytest.mark.parametrize("family", FIXED)
def test_halves_next_to_the_bounds_of_int64(family):
    """At shift 30, t = 1: 3/2 of the first is ``2**63 - 1/2``, 274177/2 of the second is ``-2**63 - 1/2``."""
    v, multiplier = [((1 << 64) - 1) // 3, -((1 << 64) + 1) // 274177], [3, 274177]
    assert [a * b for a, b in zip(v, multiplier, strict=True)] == [(1 << 64) - 1, -(1 << 64) - 1]
    assert requantize(v, multiplier, 30, family).tolist() == [INT64_MAX, INT64_MIN]


def test_shapes_broadcast_and_results_are_int64():
    v = np.arange(-12, 12, dtype=np.int8).reshape(2, 3, 4)
    got = requantize(v, [1 << 30] * 4, np.array([[0], [-1], [1]], np.int32), "half_up")
    assert got.shape == (2, 3, 4)
    assert got.dtype == np.int64
    assert got[1, 2].tolist() == requantize(v[1, 2], 1 << 30, 1, "half_up").tolist()
    assert np.shape(requantize(1, 1, 0, "floor")) == ()
    assert requantize(np.zeros((0, 4), int), 1, 0, "ruy").shape == (0, 4)


def test_inputs_are_not_changed():
    v = np.arange(10)
    requantize(v, 1 << 30, -3, "gemmlowp")
    assert v.tolist() == list(range(10))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((1.0, 1, 0, "floor"), TypeError, "v must be integers, not 1.0"),
        ((True, 1, 0, "floor"), TypeError, "v must be integers, not True"),
        ((np.zeros((2, 3)), 1, 0, "floor"), TypeError, "v must be integers, not an array of float64 of shape (2, 3)"),
        ((None, 1, 0, "floor"), TypeError, "v must be integers, not None"),
        ((1 << 63, 1, 0, "floor"), ValueError, "v must fit int64, not 9223372036854775808"),
        (([1 << 70], 1, 0, "floor"), ValueError, "v must fit int64, not 1180591620717411303424"),
        ((1, 0.5, 0, "floor"), TypeError, "multiplier must be integers, not 0.5"),
        ((1, -1, 0, "floor"), ValueError, "multiplier must be in 0..2147483647, not -1"),
        ((1, [5, 1 << 31], 0, "floor"), ValueError, "multiplier must be in 0..2147483647, not 2147483648"),
        ((1, 1, "left", "floor"), TypeError, "shift must be integers, not 'left'"),
        ((1, 1, -32, "floor"), ValueError, "shift must be in -31..31, not -32"),
        ((1, 1, [0, 32], "floor"), ValueError, "shift must be in -31..31, not 32"),
        ((1, 1, 0, 3), TypeError, "family must be a Family or its name, not 3"),
        (
            (1, 1, 0, "nearest"),
            ValueError,
            f"family must be one of {', '.join(Family)}, not 'nearest'",
        ),
        ((1, 1, 0, Family.float32), ValueError, "family must be a fixed-point family, not 'float32'"),
    ],
)
def test_refusals(arguments, error, text):
    with raises(error, text):
        requantize(*arguments)


def test_object_arrays_of_integers_are_integers():
    assert requantize(np.array([3, -3], object), 1 << 30, 1, "floor").tolist() == [3, -3]
