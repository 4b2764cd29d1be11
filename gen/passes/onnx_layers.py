"""The floating-point layers of an ONNX graph: Conv, Gemm and MatMul with constant weights, as `Linear`."""

from dataclasses import dataclass, replace

import numpy as np

from .linear import Linear

__all__ = ["FloatLayer", "added_constant", "channel_constant", "float_layers", "float_value", "is_op", "setting"]

_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True, kw_only=True, eq=False)
class FloatLayer:
    """One layer and the Add that gives it its bias, if any.

    Parameters
    ----------
    node : Node
    linear : Linear
        With the bias of ``node`` and of ``add``.
    input, output : str
        Tensors it reads and writes, the latter behind ``add``.
    add : Node or None
        An Add of one number a channel behind a node without a bias of its own.
    bias_name : str or None
        The constant that holds the bias.
    """

    node: object
    linear: Linear
    input: str
    output: str
    add: object = None
    bias_name: str | None = None

    @property
    def name(self):
        """How findings call it."""
        return self.node.name


def is_op(node, *ops):
    """Whether a node is one of the standard's operators ``ops`` and has a result."""
    return node is not None and bool(node.outputs) and node.domain in _DOMAINS and node.op in ops


def float_value(nodes, name):
    """The constant ``name`` as a finite floating-point array, or None where it is another thing."""
    if name is None or not nodes.is_constant(name):
        return None
    value = nodes.constant(name, nodes.consumers[name][0])
    return value if value.dtype.kind == "f" and value.size and np.isfinite(value).all() else None


def setting(node, name, default, kind):
    """The value of an attribute, as `Node.attribute` gives it, but never None."""
    value = node.attribute(name, default, kind)
    if value is None:
        raise node.error(f"attribute {name} has no value")
    return value


def channel_constant(value, channels, axis):
    """``value`` as one number for each of ``channels`` along ``axis`` (counted from the end), or None.

    Broadcasting aligns shapes at the end, so the other dimensions must be 1.
    """
    if value is None:
        return None
    if value.size == 1:
        return np.full(channels, float(value.reshape(-1)[0]))
    if value.ndim >= -axis and value.shape[axis] == channels == value.size:
        return value.reshape(-1).astype(np.float64)
    return None


def _conv(nodes, node):
    w = float_value(nodes, node.input(1))
    if w is None or w.ndim < 3:
        return None
    groups = setting(node, "group", 1, int)
    if groups < 1 or w.shape[0] % groups:
        raise node.error(f"{groups} groups do not divide {w.shape[0]} outputs")
    padding = any(setting(node, "pads", [0], int)) or setting(node, "auto_pad", b"NOTSET", bytes).startswith(b"SAME")
    b = None
    if node.input(2) is not None:
        b = channel_constant(float_value(nodes, node.input(2)), w.shape[0], -1)
        if b is None:
            return None
    return Linear(w=np.moveaxis(w, 1, -1), b=b, groups=groups, zero_padding=padding)


def _gemm(nodes, node):
    w = float_value(nodes, node.input(1))
    if w is None or w.ndim != 2 or setting(node, "transA", 0, int):
        return None
    w = w if setting(node, "transB", 0, int) else w.T
    b = None
    if node.input(2) is not None:
        b = channel_constant(float_value(nodes, node.input(2)), w.shape[0], -1)
        if b is None:
            return None
        b = b * setting(node, "beta", 1.0, float)
    return Linear(w=w * setting(node, "alpha", 1.0, float), b=b)


def _matmul(nodes, node):
    w = float_value(nodes, node.input(1))
    return Linear(w=w.T) if w is not None and w.ndim == 2 else None


_READERS = {"Conv": _conv, "Gemm": _gemm, "MatMul": _matmul}


def added_constant(nodes, node, tensor):
    """What an Add puts on ``tensor`` and its name, where that is a floating-point constant; else None, None."""
    if not is_op(node, "Add") or len(node.inputs) != 2 or tensor not in node.inputs:
        return None, None
    other = node.inputs[1 - node.inputs.index(tensor)]
    return float_value(nodes, other), other


def _with_added(nodes, layer):
    """The layer with the bias of the Add behind it, where it has none of its own."""
    node, linear = layer.node, layer.linear
    if linear.b is not None:
        return layer
    add = nodes.only_consumer(layer.output)
    value, name = added_constant(nodes, add, layer.output)
    axis = -1 if node.op != "Conv" else 1 - linear.w.ndim
    b = channel_constant(value, linear.outputs, axis)
    if b is None:
        return layer
    return replace(layer, linear=replace(linear, b=b), add=add, output=add.outputs[0], bias_name=name)


def float_layers(nodes):
    """Every layer of the graph whose weights are constant and in floating point.

    Parameters
    ----------
    nodes : Nodes

    Returns
    -------
    list of FloatLayer
    """
    layers = []
    for node in nodes.nodes:
        if not is_op(node, *_READERS) or node.input(0) is None or nodes.is_constant(node.input(0)):
            continue
        linear = _READERS[node.op](nodes, node)
        if linear is not None:
            layer = FloatLayer(
                node=node, linear=linear, input=node.input(0), output=node.outputs[0], bias_name=node.input(2)
            )
            layers.append(_with_added(nodes, layer))
    return layers
