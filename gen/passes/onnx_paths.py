"""Chains of operators that only rearrange a tensor, followed through an ONNX graph and replayed on an array."""

import numpy as np

from .errors import FoldError
from .onnx_layers import float_value, is_op, setting

__all__ = ["back_through", "forward_through", "replay"]

_NORMS = {
    "LayerNormalization",
    "RMSNormalization",
    "SimplifiedLayerNormalization",
    "InstanceNormalization",
    "GroupNormalization",
    "LpNormalization",
}
_ROTARY = {"RotaryEmbedding", "Add", "Sub", "Concat", "Slice", "Neg"}
_MOVES = ("Reshape", "Transpose", "Identity")


def _scalar_factor(nodes, node):
    """Whether a node multiplies or divides by one constant number."""
    if not is_op(node, "Mul", "Div"):
        return False
    candidates = node.inputs if node.op == "Mul" else node.inputs[1:]
    values = [float_value(nodes, name) for name in candidates]
    return any(value is not None and value.size == 1 for value in values)


def _blame(node):
    """Why a path ends at ``node``."""
    if node is None:
        return "no layer with constant weights is behind it"
    if node.op in _NORMS:
        return f"QK-norm ({node.name}) follows the bias"
    if node.op in ("Mul", "Div"):
        return f"RoPE or QK-norm ({node.name}, by a factor that varies) follows the bias"
    if node.op in _ROTARY:
        return f"RoPE or another mixing of terms ({node.name}) follows the bias"
    return f"{node.name} lies between"


def back_through(nodes, tensor, ends, *, scaling=False):
    """Follow ``tensor`` back to a layer's output.

    Parameters
    ----------
    nodes : Nodes
    tensor : str
    ends : dict of str to FloatLayer
        Layers by their output.
    scaling : bool
        Whether factors of one number are passed over too.

    Returns
    -------
    FloatLayer, list of Node
        The layer and the nodes behind it, first to last.

    Raises
    ------
    FoldError
        Naming the operator that is in the way.
    """
    path = []
    while tensor not in ends:
        node = nodes.producer.get(tensor)
        if not (is_op(node, *_MOVES) or (scaling and _scalar_factor(nodes, node))):
            raise FoldError(_blame(node))
        if nodes.only_consumer(node.outputs[0]) is None:
            raise FoldError(f"the result of {node.name} is read more than once")
        path.insert(0, node)
        tensor = next(name for name in node.inputs if not nodes.is_constant(name))
    layer = ends[tensor]
    if nodes.only_consumer(layer.output) is None:
        raise FoldError(f"the result of {layer.name} is read more than once")
    return layer, path


def forward_through(nodes, tensor, starts):
    """Follow ``tensor`` to the only layer that reads it.

    Parameters
    ----------
    nodes : Nodes
    tensor : str
    starts : dict of int to FloatLayer
        Layers by the index of their node.

    Returns
    -------
    FloatLayer, list of Node
    """
    path = []
    while True:
        node = nodes.only_consumer(tensor)
        if node is None:
            raise FoldError("the attention's result is read more than once")
        if node.index in starts and starts[node.index].input == tensor:
            return starts[node.index], path
        if not is_op(node, *_MOVES):
            raise FoldError(f"{node.name} lies between the attention and the output projection")
        path.append(node)
        tensor = node.outputs[0]


def replay(nodes, path, x):
    """Apply the moves of a path to an array; factors are left out, as they change no position.

    Raises
    ------
    FoldError
        If a shape is not constant or does not fit.
    """
    for node in path:
        if node.op == "Transpose":
            axes = setting(node, "perm", list(range(x.ndim))[::-1], int)
            if sorted(axes) != list(range(x.ndim)):
                raise FoldError(f"{node.name} transposes {len(axes)} dimensions, and the tensor has {x.ndim}")
            x = x.transpose(axes)
        elif node.op == "Reshape":
            if not nodes.is_constant(node.input(1)):
                raise FoldError(f"the shape of {node.name} is not constant")
            shape = np.asarray(nodes.constant(node.input(1), node)).reshape(-1).tolist()
            if not setting(node, "allowzero", 0, int):
                shape = [x.shape[i] if d == 0 and i < x.ndim else d for i, d in enumerate(shape)]
            try:
                x = x.reshape(shape)
            except ValueError as error:
                raise FoldError(f"the shape of {node.name} does not fit: {error}") from error
    return x
