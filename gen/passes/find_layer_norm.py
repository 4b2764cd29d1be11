"""Layer norms (and RMS norms) of an ONNX graph, whose gain and bias the layers behind them can take over."""

import numpy as np

from .errors import FoldError
from .finding import attempt
from .layer_norm import fold_layer_norm
from .onnx_layers import float_value, setting

__all__ = ["find_layer_norm"]

_NORMS = ("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")


def _fold(nodes, node, layers):
    gamma = float_value(nodes, node.input(1))
    if gamma is None or gamma.ndim != 1:
        raise FoldError("its gain is not a constant vector over the last dimension")
    if setting(node, "axis", -1, int) == 0:
        raise FoldError("it normalizes over more than the last dimension")
    beta = None
    if node.op == "LayerNormalization" and node.input(2) is not None:
        beta = float_value(nodes, node.input(2))
        if beta is None:
            raise FoldError("its bias is not constant")
        beta = beta.reshape(-1)
    made = node.outputs[0]
    readers = nodes.consumers.get(made, [])
    strangers = [r.name for r in readers if all(layer.node is not r for layer in layers)]
    if made in nodes.outputs:
        strangers.append("an output of the model")
    if strangers or not readers:
        raise FoldError(f"its result is also read by {', '.join(strangers) or 'nothing'}, which needs gain and bias")
    convolutions = [layer.name for layer in layers if layer.node.op == "Conv"]
    if convolutions:
        raise FoldError(f"{convolutions[0]} has its channels in another dimension than the norm")
    return [fold_layer_norm(layer.linear, gamma, beta) for layer in layers]


def find_layer_norm(nodes, layers):
    """A `Finding` for each layer norm; ``result`` is the list of the `Linear` behind it.

    Parameters
    ----------
    nodes : Nodes
    layers : list of FloatLayer
    """
    findings = []
    for node in nodes.nodes:
        if node.op not in _NORMS or not node.outputs:
            continue
        behind = [layer for layer in layers if layer.input == node.outputs[0]]
        names = [layer.name for layer in behind] or [n.name for n in nodes.consumers.get(node.outputs[0], [])]
        findings.append(
            attempt(
                "layer-norm",
                " + ".join([node.name, *np.unique(names).tolist()]),
                lambda node=node, behind=behind: _fold(nodes, node, behind),
                f"gain and bias into {len(behind)} layer{'s' if len(behind) > 1 else ''} behind it; 1/sigma stays",
            )
        )
    return findings
