"""Weight normalization ``w = g v / norm(v)``, folded into the weights or kept in the scale of the column.

Identities, per output channel with ``f = g / norm(v)``:

* folded: ``w x + b = (f v) x + b``;
* kept: ``w x + b = f (v x + b / f)``, so ``v`` is what gets quantized, ``f`` goes into the requantization scale of the
  column and the bias is divided by it.

Source: Salimans and Kingma, "Weight Normalization" (arXiv:1602.07868), equation 2; the contract, section 5.
"""

from dataclasses import dataclass, replace

import numpy as np

from ._check import real_array
from .errors import FoldError
from .linear import Linear

__all__ = ["WeightNorm", "fold_weight_norm", "weight_norm_in_scale"]


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightNorm:
    """A weight-normalized layer.

    Parameters
    ----------
    v : Linear
        The directions as its weights, and the layer's bias.
    g : float array, shape (outputs,)
        Length of each output channel's weights.
    """

    v: Linear
    g: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "g", real_array(self.g, "g", (self.v.outputs,)))

    @property
    def factor(self):
        """``g / norm(v)``, shape (outputs,). Raises `FoldError` where a direction is zero."""
        norm = np.sqrt((self.v.w**2).sum(axis=tuple(range(1, self.v.w.ndim))))
        if not norm.all():
            raise FoldError(f"v is zero in output channel {int(np.argmin(norm))}, so it has no direction")
        return self.g / norm


def fold_weight_norm(layer):
    """The plain `Linear` of a `WeightNorm`. Raises `FoldError` where a direction is zero."""
    return replace(layer.v, w=layer.v.per_output(layer.factor))


def weight_norm_in_scale(layer):
    """Keep ``v``, and leave the factor to the scale of the column.

    Parameters
    ----------
    layer : WeightNorm

    Returns
    -------
    Linear
        ``v`` with the bias ``b / f``.
    float64 array, shape (outputs,)
        ``f``: multiply the column's requantization scale by it.

    Raises
    ------
    FoldError
        Where a direction is zero, ``g`` is negative (a multiplier is never negative), or ``g`` is zero and the bias is
        not (no bias in front of a zero scale makes up for it).
    """
    factor = layer.factor
    if (factor < 0).any():
        raise FoldError(
            f"g is negative in output channel {int(np.argmin(factor))}, and a multiplier cannot be: fold it"
        )
    silent = (factor == 0) & (layer.v.bias != 0)
    if silent.any():
        raise FoldError(f"g is zero in output channel {int(np.argmax(silent))}, whose bias is not: fold it")
    bias = np.divide(layer.v.bias, factor, out=np.zeros(factor.size), where=factor != 0)
    return replace(layer.v, b=bias), factor
