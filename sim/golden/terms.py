"""Everything added to an accumulator before it is requantized: bias of every shape, zero points, residual.

Source: the arithmetic contract, section 1. Nothing wraps: a sum that might not fit int64 is refused.
"""

import numpy as np

from ._check import INT64_MAX, as_int, as_int64
from .product import bound, per_column

__all__ = ["add_terms"]


def add_terms(
    acc,
    *,
    bias=None,
    bias_scalar=None,
    bias_row=None,
    bias_tile=None,
    bias_relative=None,
    zw=None,
    rowsum=None,
    zx=None,
    colsum=None,
    residual=None,
):
    """The value ``v`` that is requantized: the accumulator and every integer term of the epilogue.

    Parameters
    ----------
    acc : int array, shape (..., M, N)
        Row i is an activation row, column j an output channel.
    bias : int array, shape (N,), optional
        Bias of each output channel.
    bias_scalar : int, optional
        One bias for all.
    bias_row : int array, shape (..., M), optional
        Bias of each row.
    bias_tile : int array, shape (..., M, N), optional
        Bias of each element.
    bias_relative : (table, r, c), optional
        Adds ``table[r[i] - c[j]]``; ``table`` is 1-dimensional, ``r`` has shape (M,), ``c`` (N,), and every difference
        is an index of the table (negative ones do not count from its end).
    zw : int or int array of shape (N,), optional
        Weight zero points; subtracts ``zw[j] * rowsum[i]``.
    rowsum : int array, shape (..., M)
        ``x.sum(-1)``; with ``zw`` only.
    zx : int array, shape (..., M), optional
        Activation zero point of each row; subtracts ``zx[i] * colsum[j]``.
    colsum : int array, shape (N,)
        ``(w - zw).sum(0)``; with ``zx`` only.
    residual : (res, z_res, m_res), optional
        Adds ``(res[i, j] - z_res) * m_res``; ``res`` has shape (..., M, N), ``z_res`` is an integer, ``m_res`` an
        integer or one for each column.

    Returns
    -------
    int64 array, shape (..., M, N)

    Raises
    ------
    TypeError
        If an operand does not hold integers, or a tuple is none.
    ValueError
        If a shape does not fit, one of a pair is missing, an index is outside the table, or the sum might not fit
        int64.
    """
    acc = as_int64(acc, "acc")
    if acc.ndim < 2:
        raise ValueError(f"acc must have the shape (..., M, N), not {acc.shape!r}")
    shape, n = acc.shape, acc.shape[-1]
    terms = [acc]
    products = []
    if bias is not None:
        terms.append(per_column(bias, "bias", n, scalar=False))
    if bias_scalar is not None:
        terms.append(as_int64(as_int(bias_scalar, "bias_scalar"), "bias_scalar"))
    if bias_row is not None:
        terms.append(_per_row(bias_row, "bias_row", shape))
    if bias_tile is not None:
        terms.append(_per_element(bias_tile, "bias_tile", shape))
    if bias_relative is not None:
        terms.append(_relative(bias_relative, shape))
    _check_pair("zw", zw, "rowsum", rowsum)
    if zw is not None:
        products.append((-1, _per_row(rowsum, "rowsum", shape), per_column(zw, "zw", n)))
    _check_pair("zx", zx, "colsum", colsum)
    if zx is not None:
        products.append((-1, _per_row(zx, "zx", shape), per_column(colsum, "colsum", n, scalar=False)))
    if residual is not None:
        if not isinstance(residual, tuple) or len(residual) != 3:
            raise TypeError(f"residual must be a tuple (res, z_res, m_res), not {residual!r}")
        res, z_res, m_res = residual
        res, z_res = _per_element(res, "res", shape), as_int(z_res, "z_res")
        if bound(res) + abs(z_res) > INT64_MAX:
            raise ValueError(f"res - z_res must fit int64, not reach {bound(res) + abs(z_res)!r}")
        products.append((1, res - z_res, per_column(m_res, "m_res", n)))

    largest = sum(map(bound, terms)) + sum(bound(a) * bound(b) for _, a, b in products)
    if largest > INT64_MAX:
        raise ValueError(f"the sum before requantization must fit int64, not reach {largest!r}")
    v = np.zeros(shape, np.int64)
    for term in terms:
        v += term
    for sign, a, b in products:
        v += sign * (a * b)
    return v


def _per_row(x, name, shape):
    """``x`` as (..., M, 1); leading axes may be left out."""
    array = as_int64(x, name)
    if array.ndim < 1 or array.shape not in (shape[-2:-1], shape[:-1]):
        raise ValueError(f"{name} must have the shape {shape[:-1]!r}, not {array.shape!r}")
    return array[..., np.newaxis]


def _per_element(x, name, shape):
    """``x`` as (..., M, N); leading axes may be left out."""
    array = as_int64(x, name)
    if array.shape not in (shape[-2:], shape):
        raise ValueError(f"{name} must have the shape {shape!r}, not {array.shape!r}")
    return array


def _relative(bias_relative, shape):
    """``table[r[i] - c[j]]`` as (M, N)."""
    if not isinstance(bias_relative, tuple) or len(bias_relative) != 3:
        raise TypeError(f"bias_relative must be a tuple (table, r, c), not {bias_relative!r}")
    table, r, c = (as_int64(x, name) for x, name in zip(bias_relative, ("table", "r", "c"), strict=True))
    if table.ndim != 1:
        raise ValueError(f"table must have one dimension, not the shape {table.shape!r}")
    for x, name, size in ((r, "r", shape[-2]), (c, "c", shape[-1])):
        if x.shape != (size,):
            raise ValueError(f"{name} must have the shape ({size},), not {x.shape!r}")
    index = r[:, np.newaxis] - c
    outside = (index < 0) | (index >= len(table))
    if outside.any():
        raise ValueError(f"r[i] - c[j] must be in 0..{len(table) - 1}, not {int(index[outside][0])!r}")
    return table[index]


def _check_pair(name_a, a, name_b, b):
    if (a is None) != (b is None):
        given, missing = (name_a, name_b) if b is None else (name_b, name_a)
        raise ValueError(f"{missing} must be given with {given}, not None")
