"""16x8 requantization against a port of TFLite's 64-bit ``MultiplyByQuantizedMultiplier``."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plusb.sim.golden import reduce_multiplier, requantize, requantize_16x8

property_test = settings(max_examples=300, deadline=None, database=None, derandomize=True)


def raises(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def multiply_by_quantized_multiplier(x, multiplier, shift):
    """Port to unbounded integers."""
    reduced = (multiplier + (1 << 15)) >> 16 if multiplier < 0x7FFF0000 else 0x7FFF
    total_shift = 15 - shift
    return (x * reduced + (1 << (total_shift - 1))) >> total_shift


@property_test
@given(
    st.integers(-(1 << 47), (1 << 47) - 1),
    st.one_of(st.integers(0, (1 << 31) - 1), st.integers(0x7FFE7FFF, 0x7FFFFFFF)),
    st.integers(-31, 14),
)
def test_equals_the_original_on_48_bits(v, multiplier, shift):
    assert requantize_16x8(v, multiplier, shift) == multiply_by_quantized_multiplier(v, multiplier, shift)


def test_the_largest_multipliers_do_not_round_up_to_sixteen_bits():
    multiplier, shift = reduce_multiplier(
        [0x7FFEFFFF, 0x7FFF0000, 0x7FFFFFFF, 1 << 30, 0x7FFF, 0x8000, 0], [-31, 0, 15, 1, 2, 3, 4]
    )
    assert multiplier.tolist() == [0x7FFF, 0x7FFF, 0x7FFF, 1 << 14, 0, 1, 0]
    assert shift.tolist() == [-15, 16, 31, 17, 18, 19, 20]


def test_is_half_up_with_the_reduced_multiplier():
    v = np.arange(-70000, 70000, 997)
    expected = requantize(v, *reduce_multiplier(1518500250, -3), "half_up")
    assert requantize_16x8(v, 1518500250, -3).tolist() == expected.tolist()
    assert requantize_16x8([-3, -1, 1, 3], 1 << 30, 0).tolist() == [-1, 0, 1, 2]


@pytest.mark.parametrize("function", [reduce_multiplier, lambda m, s: requantize_16x8(1, m, s)])
@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0.5, 0), TypeError, "multiplier must be integers, not 0.5"),
        ((1 << 31, 0), ValueError, "multiplier must be in 0..2147483647, not 2147483648"),
        ((1, 0.0), TypeError, "shift must be integers, not 0.0"),
        ((1, 16), ValueError, "shift must be in -31..15, not 16"),
        ((1, -32), ValueError, "shift must be in -31..15, not -32"),
    ],
)
def test_refusals(function, arguments, error, text):
    with raises(error, text):
        function(*arguments)


def test_refuses_accumulators_that_are_no_integers():
    with raises(TypeError, "v must be integers, not 1.5"):
        requantize_16x8(1.5, 1, 0)
