"""Activation tables against the real functions, and the refusals; `test_golden_runtimes` compares with LiteRT."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from plusb.rtl.numeric import IntType
from plusb.sim.golden import ACTIVATIONS, LITERT_ACTIVATIONS, litert_lut, make_lut

INT8, UINT8 = IntType.parse("int8"), IntType.parse("uint8")
S_X, Z_X, S_Y, Z_Y = float(np.float32(0.05)), -7, float(np.float32(0.02)), 11


def raises(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


SCALAR = {
    "sigmoid": sigmoid,
    "tanh": math.tanh,
    "hardswish": lambda x: x * min(max(x + 3, 0), 6) / 6,
    "hardsigmoid": lambda x: min(max(x + 3, 0), 6) / 6,
    "elu": lambda x: x if x >= 0 else math.expm1(x),
    "gelu": lambda x: x * math.erfc(-x / math.sqrt(2)) / 2,
    "gelu_tanh": lambda x: x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
    "silu": lambda x: x * sigmoid(x),
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
    "leaky_relu": lambda x: x if x >= 0 else 0.01 * x,
}


def test_every_activation_has_a_scalar_form():
    assert list(SCALAR) == list(ACTIVATIONS)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("types", [(INT8, INT8), (UINT8, UINT8), (UINT8, INT8)], ids=str)
def test_entries_are_the_rounded_function(name, types):
    """Each entry is nearest to the real value; float32 may decide only where that is within 1e-4 of a tie."""
    x_type, y_type = types
    z_x, z_y = (Z + 128 * (not t.signed) for Z, t in ((Z_X, x_type), (Z_Y, y_type)))
    lut = make_lut(name, S_X, z_x, S_Y, z_y, x_type=x_type, y_type=y_type)
    assert lut.shape == (256,)
    assert lut.dtype == np.int64
    for q in range(x_type.min, x_type.max + 1):
        exact = Fraction(SCALAR[name](S_X * (q - z_x))) / Fraction(S_Y) + z_y
        exact = min(max(exact, Fraction(y_type.min)), Fraction(y_type.max))
        assert abs(lut[q & 255] - exact) <= Fraction(1, 2) + Fraction(1, 10000)


def test_ties_round_away_from_zero():
    lut = make_lut("leaky_relu", 0.5, 0, 1.0, 0, alpha=1.0)
    assert lut[[1, 3, 5, -1 & 255, -3 & 255]].tolist() == [1, 2, 3, -1, -2]


def test_parameters_of_the_functions():
    assert make_lut("leaky_relu", 1.0, 0, 1.0, 0, alpha=np.float32(0.5))[-8 & 255] == -4
    assert make_lut("elu", 1.0, 0, 0.125, 0, alpha=2)[-100 & 255] == -16
    assert make_lut("hardsigmoid", 1.0, 0, 0.0078125, 0, alpha=0.25, beta=0.25)[1] == 64


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("s_x", [2.0**-149, 2.0**-20, 2.0**20, 2.0**127])
@pytest.mark.parametrize("s_y", [2.0**-149, 2.0**-20, 2.0**20, 2.0**127])
def test_extreme_scales_give_entries_within_the_type_and_no_warning(name, s_x, s_y):
    lut = make_lut(name, s_x, 0, s_y, 0)
    assert lut.min() >= -128
    assert lut.max() <= 127
    if name not in ("sigmoid", "hardsigmoid"):
        assert lut[0] == 0


def test_identity_part_survives_large_scales():
    assert make_lut("elu", 2.0**100, 0, 2.0**100, 0)[:128].tolist() == list(range(128))


@pytest.mark.parametrize(
    ("arguments", "parameters", "error", "text"),
    [
        ((3, S_X, 0, S_Y, 0), {}, TypeError, "name must be the name of an activation, not 3"),
        (
            ("relu", S_X, 0, S_Y, 0),
            {},
            ValueError,
            f"name must be one of {', '.join(ACTIVATIONS)}, not 'relu'",
        ),
        (("elu", S_X, 0, S_Y, 0), {"beta": 1.0}, TypeError, "parameters of elu must be among ['alpha'], not 'beta'"),
        (("silu", S_X, 0, S_Y, 0), {"alpha": 1.0}, TypeError, "parameters of silu must be among [], not 'alpha'"),
        (("elu", S_X, 0, S_Y, 0), {"alpha": "1"}, TypeError, "alpha must be a finite number, not '1'"),
        (("elu", S_X, 0, S_Y, 0), {"alpha": math.inf}, TypeError, "alpha must be a finite number, not inf"),
        (("elu", 1, 0, S_Y, 0), {}, TypeError, "s_x must be floating-point numbers, not 1"),
        (("elu", 0.1, 0, S_Y, 0), {}, ValueError, "s_x must be exact in float32 (round it with np.float32), not 0.1"),
        (("elu", S_X, 0, 0.0, 0), {}, ValueError, "s_y must be one positive number, not 0.0"),
        (("elu", S_X, 0, [0.5], 0), {}, ValueError, "s_y must be one positive number, not [0.5]"),
        (("elu", S_X, 0.0, S_Y, 0), {}, TypeError, "z_x must be an integer, not 0.0"),
        (("elu", S_X, 128, S_Y, 0), {}, ValueError, "z_x must be in -128..127, not 128"),
        (("elu", S_X, 0, S_Y, -1), {"y_type": UINT8}, ValueError, "z_y must be in 0..255, not -1"),
        (
            ("elu", S_X, 0, S_Y, 0),
            {"x_type": IntType(16, True)},
            ValueError,
            "x_type must be int8 or uint8, not IntType(width=16, signed=True)",
        ),
        (("elu", S_X, 0, S_Y, 0), {"y_type": "int8"}, ValueError, "y_type must be int8 or uint8, not 'int8'"),
    ],
)
def test_refusals(arguments, parameters, error, text):
    with raises(error, text):
        make_lut(*arguments, **parameters)


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "elu", "gelu", "gelu_tanh"])
def test_litert_computes_these_as_tables(name):
    assert litert_lut(name, S_X, Z_X, S_Y, Z_Y).tolist() == make_lut(name, S_X, Z_X, S_Y, Z_Y).tolist()


def test_litert_integer_kernels_stay_within_one_of_the_real_function():
    rng = np.random.default_rng(5)
    differ = 0
    for _ in range(50):
        s_x, s_y = (float(np.float32(x)) for x in rng.uniform(0.005, 0.2, 2))
        z_x, z_y = (int(z) for z in rng.integers(-128, 128, 2))
        alpha = float(np.float32(rng.uniform(0, 0.9)))
        for name, parameters in (("hardswish", {}), ("leaky_relu", {"alpha": alpha})):
            exact = make_lut(name, s_x, z_x, s_y, z_y, **parameters)
            difference = np.abs(litert_lut(name, s_x, z_x, s_y, z_y, **parameters) - exact)
            assert difference.max() <= 1
            differ += difference.sum()
    assert differ > 0


@pytest.mark.parametrize(
    ("arguments", "parameters", "error", "text"),
    [
        (
            ("mish", S_X, 0, S_Y, 0),
            {},
            ValueError,
            f"name must be one of {', '.join(LITERT_ACTIVATIONS)}, not 'mish'",
        ),
        (("elu", S_X, 0, S_Y, 0), {"alpha": 1.0}, TypeError, "parameters of elu must be [], not ['alpha']"),
        (("hardswish", S_X, 0, S_Y, 0), {"x": 1.0}, TypeError, "parameters of hardswish must be [], not ['x']"),
        (("leaky_relu", S_X, 0, S_Y, 0), {}, TypeError, "parameters of leaky_relu must be ['alpha'], not []"),
        (
            ("leaky_relu", S_X, 0, S_Y, 0),
            {"alpha": -0.5},
            ValueError,
            "alpha must be finite and at least 0, not -0.5",
        ),
        (("leaky_relu", S_X, 0, S_Y, 0), {"alpha": [0.5]}, ValueError, "alpha must be one number, not [0.5]"),
        (("hardswish", 0.0, 0, S_Y, 0), {}, ValueError, "s_x must be one positive number, not 0.0"),
        (("hardswish", 0.5, 200, 0.5, 0), {}, ValueError, "z_x must be in -128..127, not 200"),
        (("hardswish", 0.5, 0, 0.5, 0.5), {}, TypeError, "z_y must be an integer, not 0.5"),
        (
            ("hardswish", 64.0, 0, 0.5, 0),
            {},
            ValueError,
            "s_x must be at least s_y / 512 (0.0009765625) and below 128 * s_y (64.0), not 64.0",
        ),
        (
            ("hardswish", 2.0**-23, 0, 2.0**-23, 0),
            {},
            ValueError,
            "s_x must be at least 1.7881393432617188e-07, not 1.1920928955078125e-07",
        ),
    ],
)
def test_litert_refusals(arguments, parameters, error, text):
    with raises(error, text):
        litert_lut(*arguments, **parameters)


def test_litert_hardswish_bounds():
    litert_lut("hardswish", 0.5, 0, 256.0, 0)
    litert_lut("hardswish", np.nextafter(np.float32(64), np.float32(0)), 0, 0.5, 0)
    with raises(ValueError, "s_x must be at least s_y / 512 (0.5) and below 128 * s_y (32768.0), not 0.25"):
        litert_lut("hardswish", 0.25, 0, 256.0, 0)
