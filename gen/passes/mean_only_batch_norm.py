"""Mean-only batch normalization, which changes nothing but the bias.

Identity: ``(W x + b) - mu + beta = W x + (b - mu + beta)``.
Source: Salimans and Kingma, "Weight Normalization" (arXiv:1602.07868), section 4; the contract, section 5.
"""

from dataclasses import replace

from ._check import real_array
from .linear import Linear

__all__ = ["fold_mean_only_batch_norm"]


def fold_mean_only_batch_norm(linear: Linear, mean, beta=None):
    """The `Linear` that computes ``linear(x) - mean + beta``; its weights are those of ``linear``.

    Parameters
    ----------
    linear : Linear
    mean : float array, shape (outputs,)
        Running mean of the layer's output. It was taken with or without the bias; here it is of ``W x + b``.
    beta : float array, shape (outputs,), optional
        Offset added behind.
    """
    shape = (linear.outputs,)
    b = linear.bias - real_array(mean, "mean", shape)
    return replace(linear, b=b if beta is None else b + real_array(beta, "beta", shape))
