"""Activation tables: any unary function between 8-bit quantized tensors, as 256 entries.

Source: the arithmetic contract, section 3; TFLite's ``LUTPopulateInt8``. LiteRT computes sigmoid, tanh, ELU and both
forms of GELU by such tables, and these equal them. Its HardSwish and leaky ReLU are integer kernels of their own, from
which the tables here differ by at most 1; SiLU, Mish and HardSigmoid are not LiteRT operators.
"""

import math

import numpy as np

from ...rtl.numeric import IntType
from ._check import as_int, as_scale, check_range

__all__ = ["ACTIVATIONS", "make_lut"]

_INT8 = IntType(8, True)
_FLOAT32_MAX = np.finfo(np.float32).max


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _relu6(x):
    return np.clip(x, 0, 6)


def _gelu(x):
    return 0.5 * x * (1 + np.array([math.erf(value / math.sqrt(2)) for value in x]))


def _gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = {
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "hardswish": lambda x: x * _relu6(x + 3) / 6,
    "hardsigmoid": lambda x, alpha=1 / 6, beta=0.5: np.clip(alpha * x + beta, 0, 1),
    "elu": lambda x, alpha=1.0: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "silu": lambda x: x * _sigmoid(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "leaky_relu": lambda x, alpha=0.01: np.where(x < 0, alpha * x, x),
}
"""Real functions by name: float64 array to float64 array. Defaults are those of ONNX, HardSigmoid's of TensorFlow."""

_PARAMETERS = {"hardsigmoid": ("alpha", "beta"), "elu": ("alpha",), "leaky_relu": ("alpha",)}


def make_lut(name, s_x, z_x, s_y, z_y, *, x_type=_INT8, y_type=_INT8, **parameters):
    """The table of a quantized activation, indexed by the input as an unsigned byte.

    ``lut[q & 255] = clamp(round_half_away(f(s_x * (q - z_x)) * (1 / s_y)) + z_y)``. Products and the reciprocal are
    rounded to float32 as LiteRT does; ``f`` is computed in float64 and rounded once.

    Parameters
    ----------
    name : str
        One of `ACTIVATIONS`.
    s_x, s_y : float
        Scales of input and output: positive and exact in float32.
    z_x, z_y : int
        Zero points, within the types.
    x_type, y_type : IntType
        int8 or uint8.
    **parameters
        ``alpha`` of ``elu`` (1), ``leaky_relu`` (0.01) and ``hardsigmoid`` (1/6), ``beta`` of ``hardsigmoid`` (0.5).

    Returns
    -------
    int64 array, shape (256,), values of ``y_type``

    Raises
    ------
    TypeError
        If a parameter is of the wrong kind.
    ValueError
        If the name is unknown, or a scale or zero point out of range.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of an activation, not {name!r}")
    if name not in ACTIVATIONS:
        raise ValueError(f"name must be one of {', '.join(ACTIVATIONS)}, not {name!r}")
    known = _PARAMETERS.get(name, ())
    for parameter, value in parameters.items():
        if parameter not in known:
            raise TypeError(f"parameters of {name} must be among {list(known)}, not {parameter!r}")
        if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not math.isfinite(value):
            raise TypeError(f"{parameter} must be a finite number, not {value!r}")
    for int_type, which in ((x_type, "x_type"), (y_type, "y_type")):
        if int_type not in (_INT8, IntType(8, False)):
            raise ValueError(f"{which} must be int8 or uint8, not {int_type!r}")
    s_x, s_y = as_scale(s_x, "s_x"), as_scale(s_y, "s_y")
    z_x, z_y = as_int(z_x, "z_x"), as_int(z_y, "z_y")
    check_range(np.asarray(z_x), "z_x", x_type.min, x_type.max)
    check_range(np.asarray(z_y), "z_y", y_type.min, y_type.max)

    q = np.arange(x_type.min, x_type.max + 1)
    # Overflow is meant: it ends at a clamp bound. Factors stay finite, so that 0 * inf, a NaN, cannot arise.
    with np.errstate(over="ignore", under="ignore"):
        x = np.clip(s_x * (q - z_x).astype(np.float32), -_FLOAT32_MAX, _FLOAT32_MAX).astype(np.float64)
        y = ACTIVATIONS[name](x, **parameters).astype(np.float32)
        scaled = y * np.minimum(np.float32(1) / s_y, _FLOAT32_MAX)
    whole = np.trunc(np.clip(scaled, -(2.0**20), 2.0**20))
    rounded = whole + np.where(np.abs(scaled - whole) >= 0.5, np.sign(scaled), 0)
    lut = np.empty(256, np.int64)
    lut[q & 255] = np.clip(rounded.astype(np.int64) + z_y, y_type.min, y_type.max)
    return lut
