"""What the front ends know of a tensor: shape, type and quantization."""

from dataclasses import dataclass

import numpy as np

from .errors import ModelError

__all__ = ["MAX_BYTES", "Quantization", "Tensor", "check_shape"]

MAX_BYTES = 1 << 28
"""Largest tensor in bytes; with it a model's host memory stays well under 1 GiB."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Quantization:
    """Affine quantization ``real = scale * (q - zero_point)``.

    Parameters
    ----------
    scale : float32 array, shape (1,) or (channels,)
    zero_point : int64 array, of the same shape
    axis : int
        The dimension of the channels; 0 where there is one scale.
    """

    scale: np.ndarray
    zero_point: np.ndarray
    axis: int = 0

    @property
    def per_channel(self):
        """Whether there is more than one scale."""
        return self.scale.size > 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Tensor:
    """A value of the graph.

    Parameters
    ----------
    key : int or str
        Identity in the graph: the index in TFLite, the name in ONNX.
    name : str
    shape : tuple of int
    dtype : numpy dtype or None
        None where NumPy has no such type; only host operators may touch it.
    quantization : Quantization, optional
    data : ndarray, optional
        The value of a constant.
    """

    key: int | str
    name: str
    shape: tuple
    dtype: np.dtype | None
    quantization: Quantization | None = None
    data: np.ndarray | None = None


def check_shape(shape, itemsize, **where):
    """The shape as a tuple of ``int``; raises `ModelError` unless every dimension is known and the size sane."""
    shape = tuple(int(d) for d in shape)
    if any(d < 1 for d in shape):
        raise ModelError(f"shape must be static and not empty, not {list(shape)}", **where)
    total = itemsize
    for d in shape:
        total *= d
    if total > MAX_BYTES:
        raise ModelError(f"tensors of more than {MAX_BYTES} bytes are refused; this one has {total}", **where)
    return shape
