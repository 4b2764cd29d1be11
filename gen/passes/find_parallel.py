"""Layers of an ONNX graph that read the same tensor and can be one matrix product."""

from .errors import FoldError
from .finding import attempt
from .merge_parallel import merge_parallel
from .onnx_layers import setting

__all__ = ["find_parallel"]

_CONV_ATTRIBUTES = {"strides": [1], "dilations": [1], "pads": [0]}


def _geometry(node):
    """What must be the same in convolutions; all that is absent counts as its default."""
    found = {}
    for name, default in _CONV_ATTRIBUTES.items():
        values = setting(node, name, default, int)
        found[name] = default[:1] if all(v == default[0] for v in values) else values
    return {**found, "auto_pad": setting(node, "auto_pad", b"NOTSET", bytes)}


def _merge(layers):
    kinds = sorted({"Conv" if layer.node.op == "Conv" else "matrix" for layer in layers})
    if len(kinds) > 1:
        raise FoldError("a convolution and a matrix product read it in different ways")
    if kinds == ["Conv"]:
        first = _geometry(layers[0].node)
        for layer in layers[1:]:
            for name, value in _geometry(layer.node).items():
                if value != first[name]:
                    raise FoldError(f"{name} must be the same in all, not {first[name]} and {value}")
    return merge_parallel([layer.linear for layer in layers])


def find_parallel(nodes, layers):
    """A `Finding` for each tensor that more than one layer reads; ``result`` is the `Merged`.

    Parameters
    ----------
    nodes : Nodes
    layers : list of FloatLayer
    """
    shared = {}
    for layer in layers:
        shared.setdefault(layer.input, []).append(layer)
    return [
        attempt(
            "merge-parallel",
            " + ".join(layer.name for layer in group),
            lambda group=group: _merge(group),
            lambda merged: f"one product with {merged.layer.outputs} outputs and one bias vector",
            lambda merged: {"outputs": merged.layer.outputs},
        )
        for group in shared.values()
        if len(group) > 1
    ]
