"""Checks of array operands."""

import numpy as np

__all__ = ["real_array"]


def real_array(values, name, shape=None):
    """``values`` as finite float64; raises ``TypeError`` or ``ValueError`` unless of numbers and of ``shape``."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, not {array.dtype}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} must have the shape {shape!r}, not {array.shape!r}")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return array
