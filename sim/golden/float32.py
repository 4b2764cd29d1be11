"""The float32 family, and the float64 form of LiteRT's reference FULLY_CONNECTED.

Source: the arithmetic contract, section 2; ONNX Runtime's ``MlasRequantizeOutput`` and XNNPACK's ``fp32`` kernels.
"""

import numpy as np

from ._check import INT64_MAX, INT64_MIN, as_float, as_float32, as_int64

__all__ = ["requantize_float32", "requantize_float64"]


def requantize_float32(v, scale):
    """``rint_even(float32(v) * scale)`` with one float32 rounding of ``v`` and one of the product, each half to even.

    Parameters
    ----------
    v : int array, any shape
        Any int64 value. It is rounded once, straight to the 24 bits of float32.
    scale : float array, broadcast against ``v``
        Finite and at least 0, and exact in float32 (round it first: where it is rounded matters).

    Returns
    -------
    int64 array of the broadcast shape
        What does not fit int64, infinity included, saturates.

    Raises
    ------
    TypeError
        If ``v`` does not hold integers or ``scale`` floating-point numbers.
    ValueError
        If a scale is negative, infinite, not a number or not exact in float32.
    """
    v = as_int64(v, "v")
    scale = as_float32(scale, "scale")
    with np.errstate(over="ignore", under="ignore"):
        product = np.asarray(v).astype(np.float32) * scale
    return _to_int64(np.rint(product))


def requantize_float64(v, scale):
    """``round_half_away(float64(v) * scale)``: what LiteRT's reference FULLY_CONNECTED computes.

    Kept to measure how far the Q31 form of ``half_away`` stands from it (about 1 of 10,000 adversarial near-ties); no
    hardware computes it.

    Parameters
    ----------
    v : int array, any shape
        Any int64 value.
    scale : float array, broadcast against ``v``
        Finite and at least 0.

    Returns
    -------
    int64 array of the broadcast shape
        What does not fit int64 saturates.

    Raises
    ------
    TypeError
        If ``v`` does not hold integers or ``scale`` floating-point numbers.
    ValueError
        If a scale is negative, infinite or not a number.
    """
    v = as_int64(v, "v")
    scale = as_float(scale, "scale")
    with np.errstate(over="ignore", under="ignore"):
        product = np.asarray(v).astype(np.float64) * scale
    whole = np.trunc(product)
    # The fraction of a float64 is exact, so a tie is recognized exactly (adding 0.5 first would round).
    with np.errstate(invalid="ignore"):
        away = np.abs(product - whole) >= 0.5
    return _to_int64(whole + np.where(away, np.copysign(1.0, product), 0.0))


def _to_int64(whole):
    """Integral floats as int64, saturated. Both bounds are powers of two, so they are exact in either float format."""
    over, under = whole >= 2.0**63, whole < -(2.0**63)
    value = np.where(over | under, 0, whole).astype(np.int64)
    return np.where(over, INT64_MAX, np.where(under, INT64_MIN, value))
