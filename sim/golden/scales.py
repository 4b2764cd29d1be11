"""How each runtime turns the scales of a layer's tensors into what its requantizer multiplies with.

Source: the arithmetic contract, section 2 (second table). `tests/test_golden_runtimes.py` measures every row against
its runtime on near-ties, where the forms differ: 0 mismatches. It adds one case to the table: LiteRT without delegates
multiplies the scales in float64 in a FULLY_CONNECTED whose weights have per-channel scales.
"""

from dataclasses import dataclass

import numpy as np

from ...rtl.numeric import Family
from ._check import as_float, as_float32, as_scale
from .fixed import SHIFT_MAX, SHIFT_MIN

__all__ = ["RUNTIMES", "RuntimeScale", "quantize_multiplier", "runtime_scale"]

_LITE_OPS = ("FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D")
_ONNX_OPS = ("QGemm", "QLinearMatMul", "QLinearConv")

RUNTIMES = {
    "litert-ref": _LITE_OPS,
    "litert": _LITE_OPS,
    "litert-xnnpack": _LITE_OPS,
    "tflm": _LITE_OPS,
    "ort": _ONNX_OPS,
}
"""Operators of each runtime whose arithmetic is known."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RuntimeScale:
    """A scale in the form one runtime uses it in; the arrays have the shape of the weight scales.

    Parameters
    ----------
    family : Family
        Rounding family.
    multiplier, shift : int64 arrays or None
        Q0.31 multiplier and TFLite shift; None for ``Family.float32``.
    scale : float32 array or None
        For ``Family.float32`` only.
    real : float64 array or None
        The number that ``multiplier`` and ``shift`` approximate. LiteRT's reference FULLY_CONNECTED uses it itself
        (`requantize_float64`), and differs from the fixed-point form on some near-ties.
    """

    family: Family
    multiplier: np.ndarray | None = None
    shift: np.ndarray | None = None
    scale: np.ndarray | None = None
    real: np.ndarray | None = None

    @property
    def parameters(self):
        """Keyword arguments for `epilogue`: the family and its scale."""
        if self.family is Family.float32:
            return {"family": self.family, "scale": self.scale}
        return {"family": self.family, "multiplier": self.multiplier, "shift": self.shift}


def quantize_multiplier(d):
    """Q0.31 multiplier and shift of a real scale: TFLite's ``QuantizeMultiplier``.

    ``q, s = frexp(d)``; ``m = round_half_away(q * 2**31)``; if ``m == 2**31``, ``m`` is halved and ``s`` raised by 1;
    if ``s < -31``, both are 0.

    Parameters
    ----------
    d : float array, any shape
        Finite and at least 0.

    Returns
    -------
    multiplier, shift : int64 arrays of the same shape
        0, or ``2**30 <= multiplier < 2**31``; ``-31 <= shift <= 31``.

    Raises
    ------
    TypeError
        If ``d`` does not hold floating-point numbers.
    ValueError
        If an element is negative, not finite, or so large (about ``2**31``) that its shift is not encodable.
    """
    d = as_float(d, "d")
    fraction, exponent = np.frexp(d)
    # fraction * 2**31 has at most 22 bits behind the point, so neither the product nor the added half rounds.
    multiplier = np.floor(fraction * 2.0**31 + 0.5).astype(np.int64)
    shift = exponent.astype(np.int64)
    full = multiplier == 1 << 31
    multiplier, shift = np.where(full, multiplier >> 1, multiplier), shift + full
    too_large = shift > SHIFT_MAX
    if too_large.any():
        raise ValueError(f"d must have a shift of at most {SHIFT_MAX}, not {float(d[too_large].flat[0])!r}")
    too_small = shift < SHIFT_MIN
    return np.where(too_small, 0, multiplier), np.where(too_small, 0, shift)


def runtime_scale(runtime, op, s_in, s_w, s_out):
    """The requantization scale ``s_in * s_w / s_out`` as ``runtime`` forms it for ``op``.

    Parameters
    ----------
    runtime : str
        ``litert-ref`` (``BUILTIN_REF``), ``litert`` (``BUILTIN_WITHOUT_DEFAULT_DELEGATES``), ``litert-xnnpack``
        (``AUTO``), ``tflm`` or ``ort``.
    op : str
        ``FULLY_CONNECTED``, ``CONV_2D`` or ``DEPTHWISE_CONV_2D``; for ``ort`` ``QGemm``, ``QLinearMatMul`` or
        ``QLinearConv``.
    s_in, s_out : float
        Scales of the input and output tensors, exact in float32 and positive.
    s_w : float or float array of shape (N,)
        Scale of the weights, or of each output channel; exact in float32, at least 0.

    Returns
    -------
    RuntimeScale

    Raises
    ------
    TypeError
        If a scale is no floating-point number, or a name no string.
    ValueError
        If a name is unknown, a scale out of range or not exact in float32, or the result not encodable.
    """
    for name, known, what in ((runtime, RUNTIMES, "runtime"), (op, RUNTIMES.get(runtime, ()), f"op of {runtime}")):
        if not isinstance(name, str):
            raise TypeError(f"{what} must be a name, not {name!r}")
        if name not in known:
            raise ValueError(f"{what} must be one of {', '.join(known)}, not {name!r}")
    s_in, s_w, s_out = as_scale(s_in, "s_in"), as_float32(s_w, "s_w"), as_scale(s_out, "s_out")
    if s_w.ndim > 1:
        raise ValueError(f"s_w must have the shape () or (N,), not {s_w.shape!r}")

    if runtime in ("ort", "litert-xnnpack"):
        with np.errstate(under="ignore", over="ignore"):
            return RuntimeScale(family=Family.float32, scale=np.asarray(s_in * s_w / s_out))
    fully_connected = op == "FULLY_CONNECTED"
    product = s_in.astype(np.float64) * s_w.astype(np.float64)
    if runtime == "litert" and fully_connected and s_w.size == 1:
        with np.errstate(under="ignore", over="ignore"):
            product = (s_in * s_w).astype(np.float64)
    real = np.asarray(product / s_out.astype(np.float64))
    multiplier, shift = quantize_multiplier(real)
    if runtime == "litert":
        family = Family.ruy
    else:
        family = Family.half_away if runtime == "litert-ref" and fully_connected else Family.gemmlowp
    return RuntimeScale(family=family, multiplier=multiplier, shift=shift, real=real)
