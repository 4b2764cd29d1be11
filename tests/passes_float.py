"""Unfolded float computations, written without the passes, and random layers."""

import numpy as np
from plusb.gen.passes import BatchNorm, Linear

__all__ = ["batch_norm", "convolve", "random_linear"]


def convolve(x, linear, padding=0, fill=0.0):
    """A convolution of stride 1 by its definition: ``x`` is (height, width, channels), ``fill`` surrounds it."""
    x = np.pad(x, ((padding, padding), (padding, padding), (0, 0)), constant_values=fill)
    n, kh, kw, c = linear.w.shape
    y = np.zeros((x.shape[0] - kh + 1, x.shape[1] - kw + 1, n))
    for i, j, o in np.ndindex(*y.shape):
        first = o // (n // linear.groups) * c
        y[i, j, o] = np.sum(x[i : i + kh, j : j + kw, first : first + c] * linear.w[o])
    return y if linear.b is None else y + linear.b


def random_linear(rng, *shape, bias=True, groups=1, zero_padding=False):
    return Linear(
        w=rng.normal(size=shape),
        b=rng.normal(size=shape[0]) if bias else None,
        groups=groups,
        zero_padding=zero_padding,
    )


def batch_norm(rng, channels, **fixed):
    values = {
        "gamma": rng.normal(size=channels),  # of both signs
        "beta": rng.normal(size=channels),
        "mean": rng.normal(size=channels),
        "var": rng.uniform(0.1, 4, channels),
    }
    return BatchNorm(**(values | fixed), eps=1e-3)
