"""A `LayerSpec` to a `GemmLayer`: rounding family and scale of the runtime, folded zero points, groups and blocks."""

import numpy as np

from ...sim.golden import fold_zero_point
from ..gemm import Gemm
from .clamp import clamp_bounds
from .errors import ModelError
from .grouping import Grouping
from .layer import GemmGroup, GemmLayer
from .rounding import rounding

__all__ = ["lower_layer"]


def _block_diagonal(w, merge):
    """Weights (outputs, height, width, inputs) of ``merge`` groups as those of one with ``merge`` times the inputs."""
    if merge == 1:
        return w
    outputs, kh, kw, inputs = w.shape
    own = outputs // merge
    wide = np.zeros((outputs, kh, kw, merge * inputs), w.dtype)
    for g in range(merge):
        wide[g * own : (g + 1) * own, :, :, g * inputs : (g + 1) * inputs] = w[g * own : (g + 1) * own]
    return wide


def _signed(spec):
    """Input and output offset into the int8 domain."""
    return (-128 if np.dtype(spec.x_dtype) == np.uint8 else 0), (-128 if np.dtype(spec.y_dtype) == np.uint8 else 0)


def lower_layer(spec, runtime, grouping=None):
    """Lower one layer.

    Parameters
    ----------
    spec : LayerSpec
    runtime : str
        ``litert-ref``, ``litert``, ``litert-xnnpack``, ``tflm`` or ``ort``.
    grouping : Grouping, optional
        One product a group, without blocks, if left out.

    Returns
    -------
    GemmLayer

    Raises
    ------
    ModelError
        If the grouping does not fit the layer.
    """
    grouping = grouping or Grouping()
    if spec.groups % grouping.merge or (grouping.block != (1, 1) and spec.geometry is None):
        raise ModelError(f"{grouping} does not fit {spec.groups} groups", operator=spec.name)
    offset_in, offset_out = _signed(spec)
    z_in = spec.z_in + offset_in
    geometry = spec.geometry and spec.geometry.with_block(grouping.block)
    spread = geometry.columns if geometry else (lambda values: values)
    w = spec.w.astype(np.int16) - spec.w_zero.astype(np.int16)[:, None, None, None]
    parameters = rounding(spec, runtime)
    lo, hi = clamp_bounds(spec.clamp, spec.s_out, spec.z_out, spec.y_dtype, runtime)
    inputs, outputs = w.shape[3] * grouping.merge, w.shape[0] // spec.groups * grouping.merge
    groups = []
    for g in range(spec.groups // grouping.merge):
        out = slice(g * outputs, (g + 1) * outputs)
        wide = _block_diagonal(w[out], grouping.merge)
        matrix = geometry.weights(wide) if geometry else wide.reshape(outputs, -1).T
        w_int8, repeated = _split(matrix)
        bias = np.zeros(outputs, np.int64) if spec.bias is None else spec.bias[out]
        gemm = Gemm(
            name=spec.name if spec.groups == grouping.merge else f"{spec.name}[{out.start}:{out.stop}]",
            op=spec.op,
            w=w_int8,
            bias=fold_zero_point(spread(bias), matrix, z_in),
            zp_out=spec.z_out + offset_out,
            lo=lo + offset_out,
            hi=hi + offset_out,
            **{k: spread(v[out]) if isinstance(v, np.ndarray) else v for k, v in parameters.items()},
        )
        read = slice(g * inputs, (g + 1) * inputs)
        groups.append(GemmGroup(gemm=gemm, inputs=read, outputs=out, repeated=repeated))
    return GemmLayer(spec=spec, geometry=geometry, groups=tuple(groups), z_in=z_in)


def _split(matrix):
    """``matrix`` as int8 with some rows repeated behind it, and which rows those are (None where there are none).

    Differences of 8-bit weights and zero points need 9 bits where the zero point is not in the middle. What does not
    fit goes to a further row for the same activation, so the product stays exact on int8 weights.
    """
    parts, repeated, rest, rows = [], [], matrix, np.arange(matrix.shape[0])
    while rows.size:
        part = np.clip(rest, -128, 127)
        parts.append(part.astype(np.int8))
        rest = rest - part
        keep = rest.any(axis=1)
        rest, rows = rest[keep], rows[keep]
        repeated.append(rows)
    further = np.concatenate(repeated)
    return np.ascontiguousarray(np.concatenate(parts)), further if further.size else None
