"""The activation zero point, folded into the bias.

Identity: ``sum_k (x - zx) (w - zw) + b = sum_k x (w - zw) + (b - zx sum_k w + K zx zw)``. A convolution's padding must
then be filled with ``zx``. The term ``- zw sum_k x`` depends on the activations and stays.
Source: Jacob et al., "Quantization and Training of Neural Networks" (arXiv:1712.05877), equation 7; the contract,
section 1.
"""

from dataclasses import dataclass

import numpy as np

from ...sim.golden import fold_zero_point as golden_fold
from .bits import signed_bits
from .errors import FoldError

__all__ = ["ZeroPointFold", "fold_zero_point"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ZeroPointFold:
    """A folded zero point.

    Parameters
    ----------
    bias : int64 array, shape (outputs,)
        Effective bias.
    bits_before, bits_after : int
        Signed bits that the biases need without and with the zero point.
    """

    bias: np.ndarray
    bits_before: int
    bits_after: int


def fold_zero_point(w, bias, zx, zw=None, *, width=32):
    """Fold the zero point of the whole input.

    Parameters
    ----------
    w : int array, shape (outputs, ...)
        Weights as stored.
    bias : int array, shape (outputs,), or None
    zx : int
        Zero point of the activations.
    zw : int array, shape (outputs,), optional
        Zero points of the weights.
    width : int
        Bits of the bias words.

    Returns
    -------
    ZeroPointFold

    Raises
    ------
    FoldError
        If ``zx`` is not one number (a zero point for each row is the rank-1 term ``zx[i] * colsum``), or the effective
        bias does not fit ``width`` bits.
    """
    w = np.asarray(w)
    if np.ndim(zx):
        raise FoldError(
            f"{np.size(zx)} zero points, one a row, need the rank-1 term and do not fold into a bias vector"
        )
    folded = golden_fold(bias, w.reshape(w.shape[0], -1).T, int(zx), zw)
    bits = signed_bits(folded)
    if bits > width:
        raise FoldError(f"with the zero point {int(zx)} folded the bias needs {bits} bits, more than {width}")
    return ZeroPointFold(bias=folded, bits_before=0 if bias is None else signed_bits(bias), bits_after=bits)
