"""Storage forms of the bias."""

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plusb.sim.golden import BIAS_FORMS, BIAS_WIDTHS, load_bias, store_bias

property_test = settings(max_examples=150, deadline=None, database=None, derandomize=True)


def raises(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def half_away(x):
    magnitude = abs(x) + Fraction(1, 2)
    return magnitude.numerator // magnitude.denominator * (1 if x >= 0 else -1)


def fits(bias, width, k):
    return all(-(1 << (width - 1)) <= half_away(Fraction(b, 1 << k)) < 1 << (width - 1) for b in bias)


biases = st.lists(
    st.one_of(
        st.integers(-(1 << 20), 1 << 20),
        st.integers(-(1 << 62), 1 << 62),
        st.builds(lambda e, d: (1 << e) + d, st.integers(6, 61), st.integers(-3, 3)),
        st.builds(lambda e, d: d - (1 << e), st.integers(6, 61), st.integers(-3, 3)),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize("width", BIAS_WIDTHS)
@property_test
@given(biases)
def test_each_form_means_what_it_says(width, bias):
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    clamped = store_bias(bias, width, "sat")
    assert load_bias(clamped).tolist() == [min(max(b, low), high) for b in bias]
    assert clamped.shift == 0

    layer = store_bias(bias, width, "shift")
    k = int(layer.shift)
    assert fits(bias, width, k)
    assert k == 0 or not fits(bias, width, k - 1)
    assert layer.values.tolist() == [half_away(Fraction(b, 1 << k)) for b in bias]

    channel = store_bias(bias, width, "chshift")
    assert channel.values.shape == channel.shift.shape == (len(bias),)
    for b, value, k in zip(bias, channel.values.tolist(), channel.shift.tolist(), strict=True):
        assert fits([b], width, k)
        assert k == 0 or not fits([b], width, k - 1)
        assert value == half_away(Fraction(b, 1 << k))

    for stored in (clamped, layer, channel):
        assert (low <= stored.values).all()
        assert (stored.values <= high).all()
    for stored in (layer, channel):
        error = np.abs(load_bias(stored).astype(object) - bias)
        assert (2 * error <= [1 << int(k) for k in np.broadcast_to(stored.shift, len(bias))]).all()


@pytest.mark.parametrize("form", BIAS_FORMS)
@pytest.mark.parametrize("width", BIAS_WIDTHS)
def test_a_bias_that_fits_is_kept(form, width):
    bias = [-(1 << (width - 1)), (1 << (width - 1)) - 1, 0, -1]
    stored = store_bias(bias, width, form)
    assert stored.form == form
    assert stored.width == width
    assert load_bias(stored).tolist() == stored.values.tolist() == bias
    assert not stored.shift.any()


def test_a_dead_channel_ruins_a_layer_shift_but_not_channel_shifts():
    bias = [(1 << 30) + 128, 12398, -77]
    assert load_bias(store_bias(bias, 16, "shift")).tolist() == [1 << 30, 0, 0]
    assert load_bias(store_bias(bias, 16, "chshift")).tolist() == [1 << 30, 12398, -77]
    assert load_bias(store_bias(bias, 32, "sat")).tolist() == bias


def test_rounding_carries_into_one_more_shift():
    assert [int(x) for x in (store_bias([255], 8, "shift").shift, store_bias([255], 8, "shift").values[0])] == [2, 64]
    assert [int(x) for x in (store_bias([-256], 8, "shift").shift, store_bias([-256], 8, "shift").values[0])] == [
        1,
        -128,
    ]
    assert store_bias([254], 8, "chshift").values.tolist() == [127]


def test_a_layer_without_channels():
    for form in BIAS_FORMS:
        assert load_bias(store_bias(np.zeros(0, int), 8, form)).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (([1.0], 8, "sat"), TypeError, "bias must be integers, not [1.0]"),
        ((5, 8, "sat"), ValueError, "bias must have the shape (N,), not ()"),
        (
            ([(1 << 62) + 1], 8, "sat"),
            ValueError,
            "bias must be in -4611686018427387904..4611686018427387904, not 4611686018427387905",
        ),
        (([1], 12, "sat"), ValueError, "width must be one of 8, 16, 24, 32, 40, not 12"),
        (([1], True, "sat"), ValueError, "width must be one of 8, 16, 24, 32, 40, not True"),
        (([1], 8, "scale"), ValueError, "form must be one of sat, shift, chshift, not 'scale'"),
    ],
)
def test_refusals(arguments, error, text):
    with raises(error, text):
        store_bias(*arguments)


def test_load_refuses_anything_else():
    with raises(TypeError, "stored must be a StoredBias, not [1]"):
        load_bias([1])
