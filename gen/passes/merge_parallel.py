"""Layers that read the same input, merged into one matrix product with one bias vector (such as Q, K and V).

Identity: ``[W1; W2] x + [b1; b2] = [W1 x + b1; W2 x + b2]``. The activations are read once and the columns of the array
fill up; the results are slices of the merged one.
Source: the contract, section 5; Vaswani et al., "Attention Is All You Need" (arXiv:1706.03762), section 3.2.2.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..gemm import Gemm
from .errors import FoldError
from .linear import Linear

__all__ = ["Merged", "merge_gemms", "merge_parallel"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Merged:
    """Several layers as one.

    Parameters
    ----------
    layer : Linear or Gemm
    slices : tuple of slice
        Columns of each of the original layers.
    """

    layer: Linear | Gemm
    slices: tuple

    def split(self, y):
        """The results of the original layers from the merged one, whose last dimension is the outputs."""
        return [y[..., part] for part in self.slices]


def _slices(sizes):
    ends = np.cumsum(sizes).tolist()
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True))


def _same(layers, what, value):
    values = [value(layer) for layer in layers]
    if any(v != values[0] for v in values):
        raise FoldError(f"{what} must be the same in all, not {', '.join(map(str, values))}")


def _several(layers):
    if len(layers) < 2:
        raise FoldError(f"at least 2 layers are needed to merge, not {len(layers)}")


def merge_parallel(layers):
    """Merge `Linear` layers; a missing bias becomes zeros, unless all are missing.

    Returns
    -------
    Merged

    Raises
    ------
    FoldError
        If they are fewer than two, or differ in inputs, kernel, padding or groups, or have more than one group.
    """
    _several(layers)
    _same(layers, "inputs and kernel", lambda layer: list(layer.w.shape[1:]))
    _same(layers, "zero padding", lambda layer: layer.zero_padding)
    _same(layers, "groups", lambda layer: layer.groups)
    if layers[0].groups != 1:
        raise FoldError(f"layers of {layers[0].groups} groups read other inputs in each group")
    b = None if all(layer.b is None for layer in layers) else np.concatenate([layer.bias for layer in layers])
    merged = replace(layers[0], w=np.concatenate([layer.w for layer in layers]), b=b)
    return Merged(layer=merged, slices=_slices([layer.outputs for layer in layers]))


def merge_gemms(gemms, name):
    """Merge quantized products of one activation matrix. Scales are the columns' own, so they may differ.

    Parameters
    ----------
    gemms : sequence of Gemm
    name : str
        Of the merged product.

    Returns
    -------
    Merged

    Raises
    ------
    FoldError
        If they are fewer than two, or differ in what a unit has once a pass: K, rounding family, output zero point,
        clamp bounds, activation table, whether there is a second scale, whether the sums are handed out raw.
    """
    _several(gemms)
    _same(gemms, "K", lambda gemm: gemm.k)
    _same(gemms, "the rounding family", lambda gemm: str(gemm.family))
    _same(gemms, "the output zero point", lambda gemm: gemm.zp_out)
    _same(gemms, "the clamp bounds", lambda gemm: (gemm.lo, gemm.hi))
    _same(gemms, "the activation table", lambda gemm: None if gemm.lut is None else list(gemm.lut))
    _same(gemms, "raw sums", lambda gemm: gemm.raw)
    _same(gemms, "a second scale for negative sums", lambda gemm: gemm.negative is not None)

    def columns(values, axis=0):
        return None if values[0] is None else np.concatenate(values, axis=axis)

    zw = [np.zeros(gemm.n, np.int64) if gemm.zw is None else gemm.zw for gemm in gemms]
    negative = [gemm.negative for gemm in gemms]
    if isinstance(negative[0], tuple):
        negative = tuple(columns(parts) for parts in zip(*negative, strict=True))
    else:
        negative = columns(negative)
    merged = replace(
        gemms[0],
        name=name,
        w=columns([gemm.w for gemm in gemms], axis=1),
        zw=None if all(gemm.zw is None for gemm in gemms) else columns(zw),
        negative=negative,
        **{field: columns([getattr(g, field) for g in gemms]) for field in ("bias", "multiplier", "shift", "scale")},
    )
    return Merged(layer=merged, slices=_slices([gemm.n for gemm in gemms]))
