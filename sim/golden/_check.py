"""Validation shared by the golden model: integers stay integers, and every refusal names the value it refuses."""

import numpy as np

from ...rtl.numeric import Family, IntType

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


def describe(x):
    """How an error names ``x``: arrays by dtype and shape, anything else by its repr."""
    return f"an array of {x.dtype} of shape {x.shape}" if isinstance(x, np.ndarray) else repr(x)


def as_int64(x, name):
    """``x`` as an int64 array of its own shape; not a copy if it is one.

    Raises
    ------
    TypeError
        If ``x`` does not hold integers only (booleans are no integers here).
    ValueError
        If a value does not fit int64.
    """
    array = np.asarray(x)
    if array.dtype == object and all(type(value) is int for value in array.flat):
        for value in array.flat:
            if not INT64_MIN <= value <= INT64_MAX:
                raise ValueError(f"{name} must fit int64, not {value!r}")
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {describe(x)}")
    if array.dtype == np.uint64 and array.size and int(array.max()) > INT64_MAX:
        raise ValueError(f"{name} must fit int64, not {int(array.max())!r}")
    return array.astype(np.int64, copy=False)


def as_int(x, name):
    """``x`` as a Python integer. Raises ``TypeError`` for anything but one integer."""
    if isinstance(x, bool) or not isinstance(x, int | np.integer):
        raise TypeError(f"{name} must be an integer, not {describe(x)}")
    return int(x)


def check_range(array, name, low, high):
    """Raise ``ValueError`` naming the first element of ``array`` outside ``low..high``."""
    outside = (array < low) | (array > high)
    if outside.any():
        raise ValueError(f"{name} must be in {low}..{high}, not {int(array[outside].flat[0])!r}")


def check_type(array, name, int_type):
    """Raise unless every element of ``array`` is a value of ``int_type`` (None admits all)."""
    if int_type is None:
        return
    if not isinstance(int_type, IntType):
        raise TypeError(f"the type of {name} must be an IntType, not {int_type!r}")
    check_range(array, name, int_type.min, int_type.max)


def as_family(family):
    """The `Family` that ``family`` is or names."""
    if not isinstance(family, str):
        raise TypeError(f"family must be a Family or its name, not {family!r}")
    try:
        return Family(family)
    except ValueError:
        raise ValueError(f"family must be one of {', '.join(Family)}, not {family!r}") from None


def as_float(x, name):
    """``x`` as a float64 array, of which every element is finite and at least 0.

    Raises
    ------
    TypeError
        If ``x`` does not hold floating-point numbers of at most 64 bits.
    ValueError
        If an element is negative, infinite or not a number.
    """
    array = np.asarray(x)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise TypeError(f"{name} must be floating-point numbers, not {describe(x)}")
    array = array.astype(np.float64, copy=False)
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        raise ValueError(f"{name} must be finite and at least 0, not {float(array[bad].flat[0])!r}")
    return array


def as_float32(x, name):
    """``x`` as a float32 array; like `as_float`, and refuses values that float32 would round.

    Where a scale is rounded decides results, so it is never rounded on the way in.
    """
    wide = as_float(x, name)
    with np.errstate(over="ignore", under="ignore"):
        narrow = wide.astype(np.float32)
    bad = narrow.astype(np.float64) != wide
    if bad.any():
        raise ValueError(
            f"{name} must be exact in float32 (round it with np.float32), not {float(wide[bad].flat[0])!r}"
        )
    return narrow


def as_scale(x, name):
    """``x`` as a float32 scalar of shape () that is positive; like `as_float32`."""
    scale = as_float32(x, name)
    if scale.shape != () or scale <= 0:
        raise ValueError(f"{name} must be one positive number, not {scale.tolist()!r}")
    return scale
