"""Shapes of ONNX convolutions and matrix products, one for all the operators that state them alike."""

import numpy as np

from .im2col import Im2col

__all__ = ["conv_geometry", "conv_weights", "matrix_shape"]

_MAX_STEP = 1 << 16


def _pair(node, name, default, dims, low):
    values = node.attribute(name, [default] * dims, int)
    if len(values) != dims or not all(low <= v <= _MAX_STEP for v in values):
        raise node.error(f"{name} must be {dims} numbers of at least {low}, not {values}")
    return values


def conv_weights(w):
    """Weights (outputs, inputs, *kernel) as (outputs, height, width, inputs); a one-dimensional kernel has height 1."""
    w = np.moveaxis(w, 1, -1)
    return np.ascontiguousarray(w if w.ndim == 4 else w[:, None])


def _padding(node, size, kernel, stride, dilation):
    """Padding before and after of every spatial dimension."""
    dims = len(size)
    automatic = node.attribute("auto_pad", b"NOTSET", bytes)
    reach = [(kernel[d] - 1) * dilation[d] + 1 for d in range(dims)]
    if automatic in (b"SAME_UPPER", b"SAME_LOWER"):
        total = [max(0, (-(-size[d] // stride[d]) - 1) * stride[d] + reach[d] - size[d]) for d in range(dims)]
        before = [t // 2 if automatic == b"SAME_UPPER" else t - t // 2 for t in total]
        return before, [t - b for t, b in zip(total, before, strict=True)]
    if automatic == b"VALID":
        return [0] * dims, [0] * dims
    if automatic != b"NOTSET":
        raise node.error(f"auto_pad {automatic!r} is not supported")
    pads = _pair(node, "pads", 0, 2 * dims, 0)
    return pads[:dims], pads[dims:]


def conv_geometry(node, x_shape, w):
    """Geometry, groups and output shape.

    Parameters
    ----------
    node : Node
    x_shape : tuple of int
        (batch, channels, *size).
    w : array
        As the model holds them, (outputs, inputs of a group, *kernel).

    Returns
    -------
    Im2col, int, tuple of int
    """
    dims = w.ndim - 2
    if len(x_shape) != dims + 2:
        raise node.error(f"an input of shape {list(x_shape)} does not fit weights of {list(w.shape)}")
    size, kernel = x_shape[2:], w.shape[2:]
    stated = node.attribute("kernel_shape", list(kernel), int)
    if tuple(stated) != kernel:
        raise node.error(f"kernel_shape {stated} does not fit weights of {list(w.shape)}")
    groups = node.attribute("group", 1, int)
    if not 1 <= groups <= w.shape[0] or w.shape[0] % groups or x_shape[1] != groups * w.shape[1]:
        raise node.error(f"{groups} groups do not fit {x_shape[1]} channels and weights of {list(w.shape)}")
    stride, dilation = _pair(node, "strides", 1, dims, 1), _pair(node, "dilations", 1, dims, 1)
    before, after = _padding(node, size, kernel, stride, dilation)
    out = [(size[d] + before[d] + after[d] - (kernel[d] - 1) * dilation[d] - 1) // stride[d] + 1 for d in range(dims)]
    if min(out) < 1:
        raise node.error(f"the kernel is larger than the padded input {list(size)}")
    flat = dims == 1

    def both(values, first):
        return (first, *values) if flat else tuple(values)

    geometry = Im2col(
        in_size=both(size, 1),
        out_size=both(out, 1),
        kernel=both(kernel, 1),
        stride=both(stride, 1),
        dilation=both(dilation, 1),
        pad=both(before, 0),
    )
    return geometry, groups, (x_shape[0], w.shape[0], *out)


def matrix_shape(node, x_shape, k, n):
    """Output shape of (..., K) times (K, N)."""
    if len(x_shape) < 2 or x_shape[-1] != k:
        raise node.error(f"an input of shape {list(x_shape)} does not fit weights of {[k, n]}")
    return (*x_shape[:-1], n)
