"""Biases that occur twice: added twice to one result, or one vector shared by several layers.

Identity: ``(W x + a) + b = W x + (a + b)``. A vector shared by several layers is stored once only if the layers'
accumulators have one scale: an integer bias means ``b * s_in * s_w``. Tools that quantized a shared bias for its first
reader only have been wrong by that ratio (onnxruntime #7982, tensorflow #40055).
Source: the contract, sections 1 and 5.
"""

from dataclasses import replace

import numpy as np

from ._check import real_array
from .errors import FoldError
from .linear import Linear

__all__ = ["equal_biases", "merge_added_bias", "share_bias"]


def merge_added_bias(linear: Linear, added):
    """The `Linear` that computes ``linear(x) + added``.

    Parameters
    ----------
    linear : Linear
    added : float array, shape (outputs,) or ()

    Raises
    ------
    FoldError
        If ``added`` has another shape, that is, depends on the row.
    """
    added = real_array(added, "added")
    if added.shape not in ((), (linear.outputs,)):
        raise FoldError(f"a term of shape {list(added.shape)} is not one number for each of {linear.outputs} outputs")
    return replace(linear, b=linear.bias + added)


def equal_biases(biases):
    """Groups of positions that hold the same vector.

    Parameters
    ----------
    biases : sequence of array or None
        None and vectors of zeros are left out: they are bypassed, not shared.

    Returns
    -------
    list of list of int
        Each with at least two positions.
    """
    groups = {}
    for position, bias in enumerate(biases):
        if bias is not None and np.any(bias):
            array = np.ascontiguousarray(bias)
            groups.setdefault((array.shape, array.dtype.str, array.tobytes()), []).append(position)
    return [group for group in groups.values() if len(group) > 1]


def share_bias(bias, scales):
    """One stored vector for several layers.

    Parameters
    ----------
    bias : int array, shape (N,)
        The vector they all have.
    scales : sequence of float array, shape () or (N,)
        Scale of the accumulator, ``s_in * s_w``, of each layer.

    Returns
    -------
    int array, shape (N,)

    Raises
    ------
    FoldError
        If the scales differ: equal integers then are different numbers, and one of them may be a converter's mistake.
    """
    first = np.asarray(scales[0], np.float64)
    for scale in scales[1:]:
        ratio = np.asarray(scale, np.float64) / first
        # Scales are float32, and their products differ in the last bits.
        worst = float(ratio.flat[np.argmax(np.abs(np.log(ratio)))])
        if abs(worst - 1) > 1e-6:
            raise FoldError(
                f"the same integers on accumulators whose scales differ by a factor of {worst:.6g} are other numbers; "
                "check the converter"
            )
    return np.asarray(bias)
