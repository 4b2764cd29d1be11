"""Scales: `quantize_multiplier` in rationals, and the form of each runtime's scale."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plusb.rtl.numeric import Family
from plusb.sim.golden import RUNTIMES, quantize_multiplier, requantize, runtime_scale

property_test = settings(max_examples=300, deadline=None, database=None, derandomize=True)
LITE = ["litert-ref", "litert", "litert-xnnpack", "tflm"]


def raises(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def by_definition(d):
    x, shift = Fraction(d), 0
    if x == 0:
        return 0, 0
    while x >= 1:
        x, shift = x / 2, shift + 1
    while x < Fraction(1, 2):
        x, shift = x * 2, shift - 1
    multiplier = math.floor(x * (1 << 31) + Fraction(1, 2))
    if multiplier == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    return (multiplier, shift) if shift >= -31 else (0, 0)


@property_test
@given(
    st.one_of(
        st.floats(0, 2.0**30),
        st.floats(0, 1),
        st.floats(2.0**-34, 2.0**-30),
        st.builds(lambda e, k: math.ldexp(1 - k * 2.0**-53, e), st.integers(-40, 31), st.integers(1, 1 << 23)),
    ).filter(lambda d: d < (1 - 2.0**-32) * 2.0**31)
)
def test_equals_its_definition_in_rationals(d):
    multiplier, shift = quantize_multiplier(d)
    assert (int(multiplier), int(shift)) == by_definition(d)


def test_is_vectorized_and_keeps_the_shape():
    d = np.array([[0.25, 1.0, 4.636909], [0.0, 2.0**-33, 1 - 2.0**-40]])
    multiplier, shift = quantize_multiplier(d)
    assert multiplier.dtype == shift.dtype == np.int64
    assert multiplier.tolist() == [[1 << 30, 1 << 30, round(4.636909 / 8 * 2**31)], [0, 0, 1 << 30]]
    assert shift.tolist() == [[-1, 1, 3], [0, 0, 1]]


def test_smallest_encodable_scale():
    assert [int(x) for x in quantize_multiplier(2.0**-32)] == [1 << 30, -31]
    assert [int(x) for x in quantize_multiplier(np.nextafter(2.0**-32, 0))] == [1 << 30, -31]
    assert [int(x) for x in quantize_multiplier(2.0**-32 * (1 - 2.0**-31))] == [0, 0]


@pytest.mark.parametrize(
    ("d", "error", "text"),
    [
        (1, TypeError, "d must be floating-point numbers, not 1"),
        (-0.5, ValueError, "d must be finite and at least 0, not -0.5"),
        (math.inf, ValueError, "d must be finite and at least 0, not inf"),
        (math.nan, ValueError, "d must be finite and at least 0, not nan"),
        ([1.0, 2.0**31], ValueError, "d must have a shift of at most 31, not 2147483648.0"),
        (2.0**31 - 0.125, ValueError, "d must have a shift of at most 31, not 2147483647.875"),
    ],
)
def test_quantize_multiplier_refusals(d, error, text):
    with raises(error, text):
        quantize_multiplier(d)


S_IN, S_OUT = np.float32(0.01478998), np.float32(0.0022642163)
S_W = np.array([0.021537196, 0.3, 1e-9], np.float32)


@pytest.mark.parametrize(
    ("runtime", "op", "family"),
    [
        ("litert-ref", "FULLY_CONNECTED", Family.half_away),
        ("litert-ref", "CONV_2D", Family.gemmlowp),
        ("litert-ref", "DEPTHWISE_CONV_2D", Family.gemmlowp),
        ("litert", "FULLY_CONNECTED", Family.ruy),
        ("litert", "CONV_2D", Family.ruy),
        ("litert", "DEPTHWISE_CONV_2D", Family.ruy),
        *((("tflm", op, Family.gemmlowp)) for op in RUNTIMES["tflm"]),
        *((("litert-xnnpack", op, Family.float32)) for op in RUNTIMES["litert-xnnpack"]),
        *((("ort", op, Family.float32)) for op in RUNTIMES["ort"]),
    ],
)
def test_family_and_form_of_every_runtime(runtime, op, family):
    scale = runtime_scale(runtime, op, S_IN, S_W, S_OUT)
    assert scale.family is family
    if family is Family.float32:
        assert scale.scale.dtype == np.float32
        assert scale.scale.tolist() == [float(np.float32(np.float32(S_IN * w) / S_OUT)) for w in S_W]
        assert scale.multiplier is scale.shift is scale.real is None
        assert scale.parameters == {"family": family, "scale": scale.scale}
    else:
        exact = [float(S_IN) * float(w) / float(S_OUT) for w in S_W]
        assert scale.real.tolist() == exact
        assert list(zip(scale.multiplier.tolist(), scale.shift.tolist(), strict=True)) == list(
            map(by_definition, exact)
        )
        assert scale.scale is None
        assert scale.parameters == {"family": family, "multiplier": scale.multiplier, "shift": scale.shift}


@pytest.mark.parametrize("s_w", [S_W[0], S_W[:1]])
def test_litert_multiplies_in_float32_where_a_fully_connected_has_one_scale(s_w):
    narrow = runtime_scale("litert", "FULLY_CONNECTED", S_IN, s_w, S_OUT)
    wide = runtime_scale("litert", "CONV_2D", S_IN, s_w, S_OUT)
    assert narrow.real.shape == narrow.multiplier.shape == np.shape(s_w)
    assert narrow.real == float(np.float32(S_IN * S_W[0])) / float(S_OUT)
    assert (int(narrow.multiplier.max()), int(wide.multiplier.max())) == (1208450022, 1208449996)


def test_a_runtime_scale_drives_the_requantizer():
    scale = runtime_scale("tflm", "CONV_2D", S_IN, S_W, S_OUT)
    assert requantize([-25, 614, 7], **{**scale.parameters}).shape == (3,)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((3, "CONV_2D", 0.5, 0.5, 0.5), TypeError, "runtime must be a name, not 3"),
        (
            ("tvm", "CONV_2D", 0.5, 0.5, 0.5),
            ValueError,
            "runtime must be one of litert-ref, litert, litert-xnnpack, tflm, ort, not 'tvm'",
        ),
        (("tflm", None, 0.5, 0.5, 0.5), TypeError, "op of tflm must be a name, not None"),
        (
            ("tflm", "QGemm", 0.5, 0.5, 0.5),
            ValueError,
            "op of tflm must be one of FULLY_CONNECTED, CONV_2D, DEPTHWISE_CONV_2D, not 'QGemm'",
        ),
        (
            ("ort", "CONV_2D", 0.5, 0.5, 0.5),
            ValueError,
            "op of ort must be one of QGemm, QLinearMatMul, QLinearConv, not 'CONV_2D'",
        ),
        (("ort", "QGemm", 1, 0.5, 0.5), TypeError, "s_in must be floating-point numbers, not 1"),
        (
            ("ort", "QGemm", 0.1, 0.5, 0.5),
            ValueError,
            "s_in must be exact in float32 (round it with np.float32), not 0.1",
        ),
        (("ort", "QGemm", 0.0, 0.5, 0.5), ValueError, "s_in must be one positive number, not 0.0"),
        (("ort", "QGemm", 0.5, -0.5, 0.5), ValueError, "s_w must be finite and at least 0, not -0.5"),
        (("ort", "QGemm", 0.5, [[0.5]], 0.5), ValueError, "s_w must have the shape () or (N,), not (1, 1)"),
        (("ort", "QGemm", 0.5, 0.5, [0.5]), ValueError, "s_out must be one positive number, not [0.5]"),
        (
            ("tflm", "CONV_2D", 2.0**20, 2.0**20, 1.0),
            ValueError,
            "d must have a shift of at most 31, not 1099511627776.0",
        ),
    ],
)
def test_runtime_scale_refusals(arguments, error, text):
    with raises(error, text):
        runtime_scale(*arguments)
