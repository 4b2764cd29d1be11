"""Requantization of TFLite's 16x8 kernels: int16 activations, int8 weights, sums of up to 48 bits, a 16-bit multiplier.

Source: the arithmetic contract, section 2; TFLite's 64-bit ``MultiplyByQuantizedMultiplier``.
"""

import numpy as np

from ...rtl.numeric import Family
from ._check import as_int64, check_range
from .fixed import MULTIPLIER_MAX, SHIFT_MIN, requantize

__all__ = ["reduce_multiplier", "requantize_16x8"]


def reduce_multiplier(multiplier, shift):
    """The 16x8 scale in the terms of `requantize`: half up with this multiplier and shift is 16x8 arithmetic.

    ``rm = (m + 2**15) >> 16``, or ``0x7FFF`` where ``m >= 0x7FFF0000``; ``15 - s`` is the total shift of ``s + 16``.

    Parameters
    ----------
    multiplier, shift : int arrays
        As `quantize_multiplier` makes them; ``shift`` in -31..15.

    Returns
    -------
    multiplier, shift : int64 arrays
        ``0 <= multiplier <= 0x7FFF`` and ``shift + 16``.

    Raises
    ------
    TypeError
        If an operand does not hold integers.
    ValueError
        If one is out of range.
    """
    multiplier, shift = as_int64(multiplier, "multiplier"), as_int64(shift, "shift")
    check_range(multiplier, "multiplier", 0, MULTIPLIER_MAX)
    check_range(shift, "shift", SHIFT_MIN, 15)
    return np.where(multiplier >= 0x7FFF0000, 0x7FFF, (multiplier + (1 << 15)) >> 16), shift + 16


def requantize_16x8(v, multiplier, shift):
    """Scale and round as TFLite's 16x8 kernels do: ``(v * rm + 2**(t - 1)) >> t`` with ``t = 15 - shift``.

    Parameters
    ----------
    v : int array, any shape
        The kernels bound it to 48 bits; here any int64 is exact.
    multiplier : int array, broadcast against ``v``
        Q0.31, in 0..2**31 - 1; it is reduced to 16 bits here.
    shift : int array, broadcast against ``v``
        TFLite shift, in -31..15.

    Returns
    -------
    int64 array of the broadcast shape, saturated

    Raises
    ------
    TypeError
        If an operand does not hold integers.
    ValueError
        If ``multiplier`` or ``shift`` is out of range.
    """
    return requantize(v, *reduce_multiplier(multiplier, shift), Family.half_up)
