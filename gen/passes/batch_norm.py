"""Batch normalization of inference, folded back into the layer before it or forward into the layer after it.

Identity: with ``g = gamma / sqrt(var + eps)`` and ``h = beta - g * mu``, batch norm is ``y = g x + h`` per channel.

* Back: ``g (W x + b) + h = (g W) x + (g (b - mu) + beta)``.
* Forward: ``W (g x + h) + b = (W diag(g)) x + (b + W h)``, whatever comes before, so also behind an activation.

Source: Ioffe and Szegedy, "Batch Normalization" (arXiv:1502.03167), section 3; the contract, section 5.
"""

from dataclasses import dataclass, replace

import numpy as np

from ._check import real_array
from .errors import FoldError
from .linear import Linear

__all__ = ["BatchNorm", "fold_batch_norm", "fold_batch_norm_forward"]


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchNorm:
    """Parameters of a batch norm with fixed statistics; the arrays have the shape (channels,).

    Parameters
    ----------
    gamma, beta, mean, var : float64 array
        Gain, offset, and the statistics of training.
    eps : float
    """

    gamma: np.ndarray
    beta: np.ndarray
    mean: np.ndarray
    var: np.ndarray
    eps: float = 1e-5

    def __post_init__(self):
        shape = np.shape(self.gamma)
        for name in ("gamma", "beta", "mean", "var"):
            object.__setattr__(self, name, real_array(getattr(self, name), name, shape))
        if len(shape) != 1:
            raise ValueError(f"gamma must have the shape (channels,), not {shape!r}")
        if not (self.var + self.eps > 0).all():
            raise FoldError(f"var + eps must be positive, and is {float((self.var + self.eps).min())!r} in a channel")

    @property
    def gain(self):
        """g, shape (channels,); where gamma is negative it flips the sign of the weights, never of a multiplier."""
        return self.gamma / np.sqrt(self.var + self.eps)

    @property
    def offset(self):
        """h, shape (channels,)."""
        return self.beta - self.gain * self.mean

    def __call__(self, x):
        """The unfolded normalization of ``x``, shape (..., channels)."""
        return (x - self.mean) / np.sqrt(self.var + self.eps) * self.gamma + self.beta


def fold_batch_norm(linear, norm):
    """The `Linear` that computes ``norm(linear(x))``.

    A bias before a batch norm has no effect in training, but folds with the rest. Raises `FoldError` where the channels
    do not fit.
    """
    if norm.gamma.size != linear.outputs:
        raise FoldError(f"a batch norm of {norm.gamma.size} channels does not fit {linear.outputs} outputs")
    return replace(linear, w=linear.per_output(norm.gain), b=(linear.bias - norm.mean) * norm.gain + norm.beta)


def fold_batch_norm_forward(norm, linear: Linear):
    """The `Linear` that computes ``linear(norm(x))``.

    Raises
    ------
    FoldError
        Where the channels do not fit, or ``linear`` pads with zeros and the norm has an offset: the padding is zero
        behind the norm, and the folded bias would count the offset there too.
    """
    if norm.gamma.size != linear.inputs:
        raise FoldError(f"a batch norm of {norm.gamma.size} channels does not fit {linear.inputs} inputs")
    if linear.zero_padding and norm.offset.any():
        raise FoldError(
            "zero padding: the border is zero behind the batch norm, so its offset does not reach every tap"
        )
    taps = tuple(range(1, linear.w.ndim))
    shift = (linear.w * linear.per_input(norm.offset)).sum(axis=taps)
    return replace(linear, w=linear.w * linear.per_input(norm.gain), b=linear.bias + shift)
