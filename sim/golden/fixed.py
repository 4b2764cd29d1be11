"""Fixed-point requantization: the exact product, split into quotient and remainder, rounded by definition.

Source: the arithmetic contract, section 2. The contract writes each family as one added constant and one shift, which
is what the hardware does; here each is written as what it means for quotient and remainder, so that a wrong constant
shows.
"""

import numpy as np

from ...rtl.numeric import Family
from ._check import INT64_MAX, INT64_MIN, as_family, as_int64, check_range

__all__ = ["MULTIPLIER_MAX", "SHIFT_MAX", "SHIFT_MIN", "requantize"]

MULTIPLIER_MAX = (1 << 31) - 1
SHIFT_MIN, SHIFT_MAX = -31, 31

_LOW = np.int64((1 << 32) - 1)


def requantize(v, multiplier, shift, family):
    """Scale integers by ``multiplier * 2**(shift - 31)`` and round as ``family`` does.

    Parameters
    ----------
    v : int array, any shape
        Any int64 value; the product is exact (95 bits, in two limbs).
    multiplier : int array, broadcast against ``v``
        Q0.31, in 0..2**31 - 1.
    shift : int array, broadcast against ``v``
        TFLite shift in -31..31, positive is left. The total right shift is ``t = 31 - shift``; at ``t = 0`` nothing is
        rounded.
    family : Family or str
        Any fixed-point family. ``gemmlowp`` and ``ruy`` round first to ``t = 31`` (half up), then, if ``t > 31``, once
        more: ``gemmlowp`` half away from zero, ``ruy`` half up.

    Returns
    -------
    int64 array of the broadcast shape
        The exact result. What does not fit int64 (possible only for ``shift > 0`` and ``abs(v) >= 2**32``) saturates.

    Raises
    ------
    TypeError
        If an operand does not hold integers, or ``family`` is neither a Family nor a string.
    ValueError
        If ``multiplier`` or ``shift`` is out of range, the shapes do not broadcast, or the family is not fixed-point.
    """
    family = as_family(family)
    if not family.is_fixed_point:
        raise ValueError(f"family must be a fixed-point family, not {str(family)!r}")
    v = as_int64(v, "v")
    multiplier = as_int64(multiplier, "multiplier")
    shift = as_int64(shift, "shift")
    check_range(multiplier, "multiplier", 0, MULTIPLIER_MAX)
    check_range(shift, "shift", SHIFT_MIN, SHIFT_MAX)
    v, multiplier, shift = np.broadcast_arrays(v, multiplier, shift)

    high, low = _product(v, multiplier)
    t = 31 - shift
    if family in (Family.gemmlowp, Family.ruy):
        once = _round_half_up(*_divide(high, low, np.minimum(t, 31)), np.minimum(t, 31))
        # Beyond 31 the first result has at most 63 bits, and a shift of e = t - 31 in 1..31 remains.
        e = np.maximum(t - 31, 0)
        remainder = once & ((np.int64(1) << e) - 1)
        return _round(
            once >> e, remainder, e, once < 0, Family.half_away if family is Family.gemmlowp else Family.half_up
        )
    quotient, remainder = _divide(high, low, t)
    return _round(quotient, remainder, t, high < 0, family)


def _product(v, multiplier):
    """``v * multiplier`` as ``high * 2**32 + low``, with ``0 <= low < 2**32``.

    ``v = vh * 2**32 + vl`` gives ``|vh * m| <= 2**62`` and ``0 <= vl * m < 2**63``: neither product overflows.
    """
    low = (v & _LOW) * multiplier
    return (v >> 32) * multiplier + (low >> 32), low & _LOW


def _divide(high, low, t):
    """Floor quotient (saturated to int64) and remainder (``0 <= r < 2**t``, t up to 62) of a two-limb number."""
    narrow = t < 32
    up = np.where(narrow, 32 - t, 0)
    down = np.where(narrow, 0, t - 32)
    limit = np.int64(1) << np.minimum(31 + t, 62)
    # high * 2**(32 - t) fits int64 if high is in -2**(31 + t)..2**(31 + t) - 1; for t >= 32 nothing shifts left.
    over, under = narrow & (high >= limit), narrow & (high < -limit)
    safe = np.where(over | under, 0, high)
    quotient = np.where(narrow, (safe << up) + (low >> np.minimum(t, 32)), safe >> down)
    remainder = np.where(narrow, low & ((np.int64(1) << np.minimum(t, 32)) - 1), 0)
    remainder = np.where(narrow, remainder, ((high & ((np.int64(1) << down) - 1)) << 32) | low)
    saturated = over | under
    quotient = np.where(over, INT64_MAX, np.where(under, INT64_MIN, quotient))
    # A saturated quotient is not rounded any further: a remainder of 0 keeps every family where it is.
    return quotient, np.where(saturated, 0, remainder)


def _round_half_up(quotient, remainder, t):
    return _round(quotient, remainder, t, quotient < 0, Family.half_up)


def _round(quotient, remainder, t, negative, family):
    """Add 1 to the floor ``quotient`` where ``family`` rounds ``quotient + remainder / 2**t`` up.

    ``negative`` says whether the number is below 0. Where ``t = 0`` the remainder is 0 and nothing is added.
    """
    half = np.where(t > 0, np.int64(1) << np.maximum(t - 1, 0), 1)
    above, tie = remainder > half, remainder == half
    match family:
        case Family.half_up:
            up = above | tie
        case Family.half_away:
            up = above | (tie & ~negative)
        case Family.half_even:
            up = above | (tie & (quotient & 1 == 1))
        case Family.to_zero:
            up = negative & (remainder > 0)
        case Family.floor:
            up = np.zeros_like(above)
    # At INT64_MAX a carry would not fit; the exact result saturates there.
    return quotient + (up & (quotient < INT64_MAX))
