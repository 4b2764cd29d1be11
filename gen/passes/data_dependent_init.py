"""Data-dependent initialization of weight normalization, which also serves to calibrate a layer.

Identity: for the pre-activations ``t = v x / norm(v)`` of one batch, with mean mu and standard deviation sigma per
channel, ``g = 1 / sigma`` and ``b = -mu / sigma`` give ``g t + b`` zero mean and unit variance.
Source: Salimans and Kingma, "Weight Normalization" (arXiv:1602.07868), section 3; the contract, section 5.
"""

from dataclasses import replace

import numpy as np

from ._check import real_array
from .errors import FoldError
from .linear import Linear
from .weight_norm import WeightNorm

__all__ = ["data_dependent_init"]


def data_dependent_init(v: Linear, x):
    """The `WeightNorm` whose outputs have zero mean and unit variance on calibration data.

    Parameters
    ----------
    v : Linear
        The directions as its weights; its bias is replaced. It must have one group.
    x : float array, shape (samples, *v.w.shape[1:])
        What one output reads in each sample: an input row, or for a convolution an image patch.

    Raises
    ------
    FoldError
        If there are fewer than two samples, a direction is zero, or a channel's output is the same for every sample.
    """
    if v.groups != 1:
        raise FoldError(f"the calibration data are those of one group, and the layer has {v.groups}")
    x = real_array(x, "x")
    if x.shape[1:] != v.w.shape[1:]:
        raise ValueError(f"x must have the shape (samples, {', '.join(map(str, v.w.shape[1:]))}), not {x.shape!r}")
    if len(x) < 2:
        raise FoldError(f"a variance needs at least 2 samples of calibration data, not {len(x)}")
    unit = WeightNorm(v=replace(v, b=None), g=np.ones(v.outputs))
    t = x.reshape(len(x), -1) @ unit.v.per_output(unit.factor).reshape(v.outputs, -1).T
    sigma, mu = t.std(axis=0), t.mean(axis=0)
    flat = sigma <= 1e-12 * np.maximum(np.abs(t).max(axis=0), 1e-300)
    if flat.any():
        raise FoldError(
            f"output channel {int(np.argmax(flat))} is constant on the calibration data: 1/sigma is infinite"
        )
    return WeightNorm(v=replace(v, b=-mu / sigma), g=1 / sigma)
