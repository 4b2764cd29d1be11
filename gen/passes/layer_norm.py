"""Gain and bias of a layer normalization, folded into the layer that reads it.

Identity: with the normalized ``n = (x - mean) / sigma``, ``W (gamma n + beta) + b = (W diag(gamma)) n + (b + W beta)``.
The division by sigma depends on the data and stays. RMSNorm is the same with ``beta = 0``.
Source: Ba, Kiros and Hinton, "Layer Normalization" (arXiv:1607.06450), equation 4; the contract, section 5.
"""

from dataclasses import replace

import numpy as np

from ._check import real_array
from .errors import FoldError
from .linear import Linear

__all__ = ["fold_layer_norm"]


def fold_layer_norm(linear: Linear, gamma, beta=None):
    """The `Linear` that computes ``linear(gamma * n + beta)`` from the normalized ``n`` alone.

    Every reader of the norm has to take its gain and bias over; one that cannot (a residual) blocks the fold for all.

    Parameters
    ----------
    linear : Linear
    gamma : float array, shape (inputs,)
    beta : float array, shape (inputs,), optional

    Raises
    ------
    FoldError
        If the channels do not fit, or the layer pads with zeros and ``beta`` is not zero.
    """
    channels = np.size(gamma)
    if channels != linear.inputs:
        raise FoldError(f"a layer norm over {channels} values does not fit {linear.inputs} inputs")
    gamma = real_array(gamma, "gamma", (channels,))
    beta = np.zeros(channels) if beta is None else real_array(beta, "beta", (channels,))
    if linear.zero_padding and beta.any():
        raise FoldError("zero padding: the border is zero behind the layer norm, so its bias does not reach every tap")
    taps = tuple(range(1, linear.w.ndim))
    shift = (linear.w * linear.per_input(beta)).sum(axis=taps)
    return replace(linear, w=linear.w * linear.per_input(gamma), b=linear.bias + shift)
