"""Biases of the floating-point layers of an ONNX graph: zero, added twice, shared, or about to overflow."""

import numpy as np

from .duplicate_bias import equal_biases, merge_added_bias
from .errors import FoldError
from .finding import Finding, attempt
from .onnx_layers import added_constant, channel_constant
from .overflowing_bias import smallest_input_scale
from .zero_bias import bypass_bias

__all__ = ["find_float_bias"]

_UNIT_RANGE = 1 / 255
"""Scale of an 8-bit input that spans 0 to 1, the finest that is common."""


def _zero(layers):
    return [
        attempt(
            "zero-bias", layer.name, lambda b=layer.linear.b: bypass_bias(b), "every bias is zero: select the bypass"
        )
        for layer in layers
        if layer.linear.b is None or not layer.linear.b.any()
    ]


def _added_twice(nodes, layer):
    """The finding for a constant added to a layer that has its bias already, or None."""
    if layer.linear.b is None:
        return None
    add = nodes.only_consumer(layer.output)
    value, _ = added_constant(nodes, add, layer.output)
    if value is None:
        return None

    def fold():
        axis = -1 if layer.node.op != "Conv" else 1 - layer.linear.w.ndim
        added = channel_constant(value, layer.linear.outputs, axis)
        if added is None:
            raise FoldError(f"a constant of shape {list(value.shape)} is not one number a channel")
        return merge_added_bias(layer.linear, added)

    return attempt(
        "duplicate-bias", f"{layer.name} + {add.name}", fold, "a second bias is added: one vector, their sum"
    )


def _shared(layers):
    """Equal vectors in floating point: one constant now, but not after quantization."""
    findings = []
    for group in equal_biases([layer.linear.b for layer in layers]):
        names = [layers[i].name for i in group]
        findings.append(
            Finding(
                rule="duplicate-bias",
                where=" + ".join(names),
                folds=False,
                why="they have the same bias, but once quantized each has its own scale s_in * s_w: "
                "quantize one copy a layer",
                figures={"shared_by": len(names)},
            )
        )
    return findings


def _overflowing(layer):
    needed = smallest_input_scale(layer.linear)
    channel = int(np.argmax(needed))
    if needed[channel] <= _UNIT_RANGE:
        return None
    if np.isinf(needed[channel]):
        why = f"output channel {channel} has a bias and no weights, so s_in * s_w is 0 and no integer holds it"
    else:
        why = (
            f"the bias of output channel {channel} overflows int32 unless the input's scale is at least "
            f"{needed[channel]:.3g}: its weights are tiny; raise its weight scale"
        )
    return Finding(
        rule="overflowing-bias",
        where=layer.name,
        folds=False,
        why=why,
        figures={"channels": int(np.count_nonzero(needed > _UNIT_RANGE))},
    )


def find_float_bias(nodes, layers):
    """The findings about biases.

    Parameters
    ----------
    nodes : Nodes
    layers : list of FloatLayer

    Returns
    -------
    list of Finding
    """
    found = _zero(layers)
    found += filter(None, (_added_twice(nodes, layer) for layer in layers))
    found += _shared(layers)
    found += filter(None, map(_overflowing, layers))
    return found
