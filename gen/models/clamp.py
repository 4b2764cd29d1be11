"""Clamp bounds of an activation in the output domain, as each runtime rounds them."""

import math

import numpy as np

__all__ = ["CLAMPS", "clamp_bounds"]

CLAMPS = {"none": (None, None), "relu": (0.0, None), "relu6": (0.0, 6.0), "relu_n1_to_1": (-1.0, 1.0)}
"""Real bounds of the named activations; None is open."""

_FAR = np.float32(1e6)
"""Beyond every 8-bit type; keeps quotients of tiny scales finite."""


def _steps(real, scale):
    with np.errstate(over="ignore"):
        return np.clip(np.float32(real) / np.float32(scale), -_FAR, _FAR)


def _half_away(real, scale, zero_point):
    """TensorFlow Lite's own kernels: round the quotient half away from zero, then add the zero point."""
    steps = float(_steps(real, scale))
    return zero_point + int(math.copysign(math.floor(abs(steps) + 0.5), steps))


def _xnnpack(real, scale, zero_point):
    """XNNPACK: add the zero point in float32, then round half to even (6 / s = 25.5 with zero point 3 is 28)."""
    return int(np.rint(_steps(real, scale) + np.float32(zero_point)))


def _ort(real, scale, zero_point):
    """ONNX's QuantizeLinear: round the quotient half to even, then add the zero point."""
    return zero_point + int(np.rint(_steps(real, scale)))


_RULES = {"litert-ref": _half_away, "litert": _half_away, "tflm": _half_away, "litert-xnnpack": _xnnpack, "ort": _ort}


def clamp_bounds(clamp, scale, zero_point, dtype, runtime):
    """Lowest and highest output.

    Parameters
    ----------
    clamp : (float or None, float or None)
        Real bounds; None is open.
    scale : float32
        Of the output.
    zero_point : int
    dtype : numpy dtype
        Of the output.
    runtime : str

    Returns
    -------
    int, int
    """
    info = np.iinfo(dtype)
    low, high = clamp
    lo = info.min if low is None else _RULES[runtime](low, scale, zero_point)
    hi = info.max if high is None else _RULES[runtime](high, scale, zero_point)
    lo = min(max(lo, info.min), info.max)
    return lo, max(min(hi, info.max), lo)
