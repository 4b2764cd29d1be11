"""One matrix product with its epilogue: the unit of work that models lower to and that hardware executes."""

from dataclasses import dataclass

import numpy as np

from ..rtl.numeric import Family

__all__ = ["Gemm"]


@dataclass(frozen=True, kw_only=True)
class Gemm:
    """Weights and epilogue parameters of ``y = clamp(requantize(x @ w + bias) + zp_out)``.

    Parameters
    ----------
    name : str
        Shown in tables and errors.
    op : str
        The operator it comes from, such as ``FULLY_CONNECTED``.
    w : int array, shape (K, N)
        Weights, one output channel a column.
    bias : int64 array, shape (N,)
        Effective bias: the activation zero point is already folded in (``bias - zx * w.sum(0)``).
    family : Family
        Rounding family of the requantizer.
    multiplier, shift : int64 arrays, shape (N,)
        Q0.31 multiplier and TFLite shift (positive is left) of each channel, for the fixed-point families.
    scale : float32 array, shape (N,), or None
        Scale of each channel, for ``Family.float32`` only.
    zp_out, lo, hi : int
        Output zero point and the clamp bounds in the output domain.
    zw : int array, shape (N,), or None
        Weight zero points.
    negative : (multiplier, shift), or float32 array, or None
        A second scale, used where the sum is negative: of the form of the first.
    lut : int array, shape (256,), or None
        Activation table, indexed by the clamped element as an unsigned byte.
    raw : bool
        Hand out the sums themselves.
    """

    name: str
    op: str
    w: np.ndarray
    bias: np.ndarray
    family: Family
    multiplier: np.ndarray | None = None
    shift: np.ndarray | None = None
    scale: np.ndarray | None = None
    zp_out: int = 0
    lo: int = -128
    hi: int = 127
    zw: np.ndarray | None = None
    negative: tuple | np.ndarray | None = None
    lut: np.ndarray | None = None
    raw: bool = False

    @property
    def k(self):
        """Length of the dot products."""
        return self.w.shape[0]

    @property
    def n(self):
        """Output channels."""
        return self.w.shape[1]
