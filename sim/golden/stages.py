"""The epilogue, stage by stage, on accumulators and on whole matrix products.

Source: the arithmetic contract, section 1 (order of operations).
"""

from dataclasses import dataclass

import numpy as np

from ...rtl.numeric import Family
from ._check import as_family, as_int, as_int64, check_range
from .fixed import requantize
from .float32 import requantize_float32
from .product import check_columns, gemm, per_column
from .terms import add_terms

__all__ = ["Stages", "epilogue", "epilogue_stages", "gemm_epilogue"]


@dataclass(frozen=True, kw_only=True)
class Stages:
    """What each stage of the epilogue made of an accumulator; int64 arrays of the accumulator's shape.

    Parameters
    ----------
    v : int64 array
        After bias and every other integer term.
    q : int64 array or None
        After requantization, before the zero point; None in raw mode.
    y : int64 array or None
        After zero point and clamp; None in raw mode.
    out : int64 array
        The output: the table's entry for ``y``, ``y`` itself without a table, or ``v`` in raw mode.
    saturated : bool array
        Where the clamp changed a value; False throughout in raw mode.
    """

    v: np.ndarray
    q: np.ndarray | None
    y: np.ndarray | None
    out: np.ndarray
    saturated: np.ndarray


def epilogue_stages(
    acc,
    *,
    family=None,
    multiplier=None,
    shift=None,
    scale=None,
    negative=None,
    zp_out=0,
    lo=-128,
    hi=127,
    lut=None,
    raw=False,
    **terms,
):
    """Turn accumulators into outputs and keep every stage.

    Parameters
    ----------
    acc : int array, shape (..., M, N)
        Exact dot products, row i an activation row, column j an output channel.
    family : Family or str
        Rounding family; needed unless ``raw``.
    multiplier, shift : int or int array of shape (N,)
        Scale of the fixed-point families, as `requantize` takes it; like every "one or (N,)" here, (1,) will do too.
    scale : float or float array of shape (N,)
        Scale of ``Family.float32``, as `requantize_float32` takes it.
    negative : (multiplier, shift) or scale, optional
        A second scale of the same kind, used where ``v < 0`` (PReLU, leaky ReLU).
    zp_out : int
        Output zero point, added after rounding.
    lo, hi : int
        Clamp bounds in the output domain, inclusive.
    lut : int array, shape (256,), optional
        ``out = lut[y & 255]``; the clamp bounds must lie in -128..127 or in 0..255.
    raw : bool
        Return ``v``: no scale, zero point, clamp or table; those parameters are not looked at.
    **terms
        Bias terms, zero points and residual, as `add_terms` takes them.

    Returns
    -------
    Stages

    Raises
    ------
    TypeError
        If a parameter is of the wrong kind.
    ValueError
        If a parameter has the wrong shape or value, or is missing.
    """
    v = add_terms(acc, **terms)
    if not isinstance(raw, bool | np.bool_):
        raise TypeError(f"raw must be a bool, not {raw!r}")
    if raw:
        return Stages(v=v, q=None, y=None, out=v, saturated=np.zeros(v.shape, bool))
    family = as_family(family)
    zp_out, lo, hi = (_output_value(x, name) for x, name in ((zp_out, "zp_out"), (lo, "lo"), (hi, "hi")))
    if lo > hi:
        raise ValueError(f"lo must be at most hi ({hi}), not {lo!r}")

    q = _scale(v, family, multiplier, shift, scale)
    if negative is not None:
        q = np.where(v < 0, _scale(v, family, *_second_scale(family, negative)), q)
    # Clamping before the addition is the same, and cannot overflow where q saturated.
    y = np.clip(q, lo - zp_out, hi - zp_out)
    saturated = y != q
    y = y + zp_out
    out = y if lut is None else _look_up(y, lut, lo, hi)
    return Stages(v=v, q=q, y=y, out=out, saturated=saturated)


def epilogue(acc, **parameters):
    """Outputs of `epilogue_stages`, which documents the parameters; int64, shape (..., M, N)."""
    return epilogue_stages(acc, **parameters).out


def gemm_epilogue(x, w, *, zx=None, zw=None, x_type=None, w_type=None, acc_width=32, stages=False, **parameters):
    """Matrix product and epilogue: ``clamp(requantize((x - zx) @ (w - zw) + terms) + zp_out)``.

    Parameters
    ----------
    x : int array, shape (..., M, K)
        Activations.
    w : int array, shape (K, N)
        Weights, one output channel a column.
    zx : int or int array of shape (..., M), optional
        Activation zero point of all or of each row. Leave it out if it is folded into the bias (`fold_zero_point`).
    zw : int or int array of shape (N,), optional
        Weight zero points. Only ``- zw * rowsum(x)`` is added if ``zx`` is left out.
    x_type, w_type, acc_width
        As `gemm` takes them.
    stages : bool
        Return the `Stages` instead of the outputs.
    **parameters
        As `epilogue_stages` takes them; ``rowsum`` and ``colsum`` are computed here.

    Returns
    -------
    int64 array, shape (..., M, N), or Stages

    Raises
    ------
    TypeError
        If a parameter is of the wrong kind.
    ValueError
        If a parameter has the wrong shape or value, or is missing, or K is not safe.
    """
    acc = gemm(x, w, x_type=x_type, w_type=w_type, acc_width=acc_width)
    x, w = as_int64(x, "x"), as_int64(w, "w")
    if zw is not None:
        parameters |= {"zw": zw, "rowsum": x.sum(axis=-1)}
    if zx is not None:
        zx = as_int64(zx, "zx")
        columns = w.sum(axis=0, dtype=np.int64)
        if zw is not None:
            columns = columns - w.shape[0] * per_column(zw, "zw", w.shape[1])
        parameters |= {"zx": np.broadcast_to(zx, x.shape[:-1]) if zx.ndim == 0 else zx, "colsum": columns}
    result = epilogue_stages(acc, **parameters)
    return result if stages else result.out


def _scale(v, family, multiplier, shift, scale):
    """Requantize with the scale of each column, whichever form the family takes."""
    n = v.shape[-1]
    if family is Family.float32:
        if scale is None:
            raise ValueError("scale must be given for Family.float32, not None")
        if multiplier is not None or shift is not None:
            raise ValueError("multiplier and shift must be None for Family.float32, which takes scale")
        check_columns(np.asarray(scale), "scale", n)
        return requantize_float32(v, scale)
    if scale is not None:
        raise ValueError(f"scale must be None for Family.{family}, which takes multiplier and shift, not {scale!r}")
    for parameter, name in ((multiplier, "multiplier"), (shift, "shift")):
        if parameter is None:
            raise ValueError(f"{name} must be given for Family.{family}, not None")
        per_column(parameter, name, n)
    return requantize(v, multiplier, shift, family)


def _second_scale(family, negative):
    """``negative`` as (multiplier, shift, scale)."""
    if family is Family.float32:
        return None, None, negative
    if not isinstance(negative, tuple) or len(negative) != 2:
        raise TypeError(f"negative must be a tuple (multiplier, shift) for Family.{family}, not {negative!r}")
    return *negative, None


def _output_value(x, name):
    """A zero point or bound: 48 bits are wider than any output, and leave int64 room for their differences."""
    x = as_int(x, name)
    check_range(np.asarray(x), name, -(1 << 47), (1 << 47) - 1)
    return x


def _look_up(y, lut, lo, hi):
    """``lut[y & 255]``, where ``y`` is of one byte, signed or unsigned."""
    table = as_int64(lut, "lut")
    if table.shape != (256,):
        raise ValueError(f"lut must have the shape (256,), not {table.shape!r}")
    if not (-128 <= lo and hi <= 127) and not (0 <= lo and hi <= 255):
        raise ValueError(f"lo..hi must lie in -128..127 or 0..255 for a lut, not {lo}..{hi}")
    return table[y & 255]
