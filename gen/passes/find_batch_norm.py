"""Batch norms of an ONNX graph: back into the layer before, else forward into the layers behind."""

import numpy as np

from .batch_norm import BatchNorm, fold_batch_norm, fold_batch_norm_forward
from .errors import FoldError
from .finding import Finding, attempt
from .onnx_layers import float_value, is_op, setting

__all__ = ["find_batch_norm"]

_RULE = "batch-norm"


def _parameters(nodes, node):
    if setting(node, "training_mode", 0, int):
        raise FoldError("training_mode: its statistics are those of each batch")
    values = [float_value(nodes, node.input(position)) for position in range(1, 5)]
    for value, name in zip(values, ("gamma", "beta", "mean", "var"), strict=True):
        if value is None or value.ndim != 1 or value.size != values[0].size:
            raise FoldError(f"{name} is not a constant vector of one number a channel")
    gamma, beta, mean, var = (value.astype(np.float64) for value in values)
    return BatchNorm(gamma=gamma, beta=beta, mean=mean, var=var, eps=setting(node, "epsilon", 1e-5, float))


def _readers(nodes, name):
    return "; ".join(node.name for node in nodes.consumers.get(name, [])) or "an output of the model"


def _back(nodes, node, norm, layer):
    if nodes.only_consumer(layer.output) is not node:
        others = [n.name for n in nodes.consumers.get(layer.output, []) if n is not node] or ["an output of the model"]
        raise FoldError(f"the result of the layer before is also read by {', '.join(others)}")
    return fold_batch_norm(layer.linear, norm)


def _forward(nodes, node, norm, by_input):
    if node.outputs[0] in nodes.outputs:
        raise FoldError("its result is an output of the model")
    readers = nodes.consumers.get(node.outputs[0], [])
    layers = by_input.get(node.outputs[0], [])
    strangers = [reader.name for reader in readers if all(layer.node is not reader for layer in layers)]
    if strangers:
        raise FoldError(f"neither a layer just before it, nor only layers behind it: {', '.join(strangers)} reads it")
    if not layers:
        raise FoldError("nothing reads it")
    return [fold_batch_norm_forward(norm, layer.linear) for layer in layers]


def find_batch_norm(nodes, layers):
    """A `Finding` for each BatchNormalization.

    Parameters
    ----------
    nodes : Nodes
    layers : list of FloatLayer

    Returns
    -------
    list of Finding
        ``result`` is the `Linear` before, or the list of those behind.
    """
    by_output = {layer.output: layer for layer in layers}
    by_input = {}
    for layer in layers:
        by_input.setdefault(layer.input, []).append(layer)
    findings = []
    for node in nodes.nodes:
        if not is_op(node, "BatchNormalization"):
            continue
        try:
            norm = _parameters(nodes, node)
        except FoldError as error:
            findings.append(Finding(rule=_RULE, where=node.name, folds=False, why=str(error)))
            continue
        before = by_output.get(node.input(0))
        if before is not None:
            findings.append(
                attempt(
                    _RULE,
                    f"{before.name} + {node.name}",
                    lambda node=node, norm=norm, before=before: _back(nodes, node, norm, before),
                    f"back into weights and bias of {norm.gamma.size} outputs",
                )
            )
        else:
            findings.append(
                attempt(
                    _RULE,
                    f"{node.name} + {_readers(nodes, node.outputs[0])}",
                    lambda node=node, norm=norm: _forward(nodes, node, norm, by_input),
                    f"forward into weights and bias behind it, over {norm.gamma.size} inputs",
                )
            )
    return findings
