"""The exact integer matrix product and the folding of zero points into its bias.

Source: the arithmetic contract, section 1, which follows from
``sum_k (x - zx) * (w - zw) = x @ w - zw * rowsum(x) - zx * colsum(w) + K * zx * zw``.
"""

import numpy as np

from ...rtl.numeric import max_safe_k
from ._check import INT64_MAX, as_int, as_int64, check_type

__all__ = ["bound", "fold_zero_point", "gemm"]


def bound(array):
    """Largest magnitude in an int64 array, as a Python integer (0 if it is empty)."""
    return max(-int(array.min()), int(array.max()), 0) if array.size else 0


def gemm(x, w, *, x_type=None, w_type=None, acc_width=32):
    """``x @ w`` over the integers, exactly.

    Parameters
    ----------
    x : int array, shape (..., M, K)
        Activations.
    w : int array, shape (K, N)
        Weights, one output channel a column.
    x_type, w_type : IntType, optional
        Formats the operands must be of. If both are given, K must also be safe for the accumulator.
    acc_width : int
        Bits of the signed accumulator that K must be safe for.

    Returns
    -------
    int64 array, shape (..., M, N)

    Raises
    ------
    TypeError
        If an operand does not hold integers or a type is no IntType.
    ValueError
        If the shapes do not match, a value is outside its type, K is not safe, or a result might not fit int64.
    """
    x, w = as_int64(x, "x"), as_int64(w, "w")
    if x.ndim < 2:
        raise ValueError(f"x must have the shape (..., M, K), not {x.shape!r}")
    if w.ndim != 2 or w.shape[0] != x.shape[-1]:
        raise ValueError(f"w must have the shape ({x.shape[-1]}, N), not {w.shape!r}")
    check_type(x, "x", x_type)
    check_type(w, "w", w_type)
    k = w.shape[0]
    acc_width = as_int(acc_width, "acc_width")
    if x_type is not None and w_type is not None:
        safe = max_safe_k(x_type, w_type, acc_width)
        if k > safe:
            raise ValueError(f"K must be at most {safe} for {x_type} x {w_type} in {acc_width} bits, not {k!r}")
    largest = k * bound(x) * bound(w)
    if largest > INT64_MAX:
        raise ValueError(f"x @ w must fit int64, not reach {largest!r}")
    if largest < 1 << 53:
        # Every partial sum is an integer that float64 holds exactly, whatever the order: BLAS is exact here, and fast.
        return (x.astype(np.float64) @ w.astype(np.float64)).astype(np.int64)
    return x @ w


def fold_zero_point(bias, w, zx, zw=None):
    """Bias with the activation zero point folded in: ``bias - zx * colsum(w) + K * zx * zw``.

    Padding must then be filled with ``zx``. The term ``- zw * rowsum(x)`` depends on the activations and stays.

    Parameters
    ----------
    bias : int array, shape (N,), or None for zeros
    w : int array, shape (K, N)
    zx : int
        Activation zero point.
    zw : int or int array of shape (N,), optional
        Weight zero points.

    Returns
    -------
    int64 array, shape (N,)

    Raises
    ------
    TypeError
        If an operand does not hold integers.
    ValueError
        If the shapes do not match or a result might not fit int64.
    """
    w = as_int64(w, "w")
    if w.ndim != 2:
        raise ValueError(f"w must have the shape (K, N), not {w.shape!r}")
    zx = as_int(zx, "zx")
    k, n = w.shape
    bias = np.zeros(n, np.int64) if bias is None else per_column(bias, "bias", n, scalar=False)
    zw = np.zeros(n, np.int64) if zw is None else per_column(zw, "zw", n)
    largest = bound(bias) + abs(zx) * k * (bound(w) + bound(zw))
    if largest > INT64_MAX:
        raise ValueError(f"the folded bias must fit int64, not reach {largest!r}")
    return bias - zx * (w.sum(axis=0, dtype=np.int64) - k * zw)


def per_column(x, name, n, *, scalar=True):
    """``x`` as an int64 array of shape (n,), or (if ``scalar``) one for all columns, of shape () or (1,)."""
    array = as_int64(x, name)
    check_columns(array, name, n, scalar=scalar)
    return array


def check_columns(array, name, n, *, scalar=True):
    """Raise ``ValueError`` unless ``array`` has the shape (n,), or (if ``scalar``) () or (1,)."""
    if array.shape != (n,) and not (scalar and array.shape in ((), (1,))):
        raise ValueError(f"{name} must have the shape {'(), (1,) or ' if scalar else ''}({n},), not {array.shape!r}")
