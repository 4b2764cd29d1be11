"""Attention in an ONNX graph, ``softmax(Q K^T) V``: what becomes of the biases of keys, values and queries."""

from dataclasses import dataclass, replace

import numpy as np

from .errors import FoldError
from .finding import Finding, attempt
from .onnx_layers import is_op, setting
from .onnx_paths import back_through, forward_through, replay
from .onnx_shapes import example_shapes

__all__ = ["find_attention"]

_FUSED = ("Attention", "MultiHeadAttention", "GroupQueryAttention", "QAttention", "PackedMultiHeadAttention")
_LARGEST = 1 << 24


@dataclass(frozen=True, kw_only=True, eq=False)
class _Core:
    """The nodes of one attention: Softmax, the product of scores (or None), and the product with the values."""

    softmax: object
    scores: object
    context: object


def _scores(nodes, softmax):
    """The MatMul whose result a Softmax sees through factors and masks, or the node that hides it."""
    node = nodes.producer.get(softmax.input(0))
    while is_op(node, "Add", "Mul", "Div", "Where", "Identity", "Cast"):
        made = [nodes.producer.get(name) for name in node.inputs if name and not nodes.is_constant(name)]
        towards = [n for n in made if is_op(n, "MatMul", "Add", "Mul", "Div", "Where", "Identity", "Cast")]
        if len(towards) != 1:
            return node
        node = towards[0]
    return node


def _cores(nodes):
    for softmax in nodes.nodes:
        if not is_op(softmax, "Softmax"):
            continue
        made = softmax.outputs[0]
        context = nodes.only_consumer(made)
        while is_op(context, "Identity", "Dropout", "Cast"):
            made = context.outputs[0]
            context = nodes.only_consumer(made)
        if is_op(context, "MatMul") and context.input(0) == made and not nodes.is_constant(context.input(1)):
            yield _Core(softmax=softmax, scores=_scores(nodes, softmax), context=context)


def _follow(nodes, shapes, layer, path):
    """Where the channels of a layer's result go: their numbers, the same at every position, at the path's end."""
    shape = shapes.get(layer.output)
    if shape is None or shape[-1] != layer.linear.outputs or np.prod(shape) > _LARGEST:
        raise FoldError(f"the shape of the result of {layer.name} is not known")
    return replay(nodes, path, np.broadcast_to(np.arange(shape[-1]), shape))


class _Attention:
    """The findings of one `_Core`."""

    def __init__(self, nodes, layers, shapes, core):
        self.nodes, self.shapes, self.core = nodes, shapes, core
        self.by_output = {layer.output: layer for layer in layers}
        self.by_node = {layer.node.index: layer for layer in layers}

    def _softmax_over_keys(self):
        axis = setting(self.core.softmax, "axis", -1, int)
        shape = self.shapes.get(self.core.softmax.input(0))
        if axis != -1 and (shape is None or axis != len(shape) - 1):
            raise FoldError(f"the softmax runs along axis {axis}, not along the keys")
        if not is_op(self.core.scores, "MatMul"):
            name = self.core.scores.name if self.core.scores else "nothing that is recognized"
            raise FoldError(f"the softmax sees {name} instead of Q K^T")

    def _operand(self, position):
        """A layer and its path to an operand of Q K^T."""
        self._softmax_over_keys()
        return back_through(self.nodes, self.core.scores.input(position), self.by_output, scaling=True)

    def _key(self):
        layer, path = self._operand(1)
        if layer.linear.b is None or not layer.linear.b.any():
            raise FoldError(f"{layer.name} has no key bias to drop")
        channels = _follow(self.nodes, self.shapes, layer, path)
        if (channels != channels[..., :1]).any():
            raise FoldError("the channels of the keys do not end up along the contracted dimension")
        return layer, replace(layer.linear, b=None)

    def _query(self):
        layer, _ = self._operand(0)
        if layer.linear.b is None or not layer.linear.b.any():
            return None
        raise FoldError(
            f"the query bias of {layer.name} is not redundant: b_q . k_j differs from key to key, so it stays"
        )

    def _value(self):
        self._softmax_over_keys()
        layer, path = back_through(self.nodes, self.core.context.input(1), self.by_output)
        if layer.linear.b is None or not layer.linear.b.any():
            raise FoldError(f"{layer.name} has no value bias to fold")
        channels = _follow(self.nodes, self.shapes, layer, path)
        if channels.ndim < 2 or (channels != channels[..., :1, :]).any():
            raise FoldError("the channels of the values do not end up along the last dimension")
        output, onward = forward_through(self.nodes, self.core.context.outputs[0], self.by_node)
        queries = self.shapes.get(self.core.softmax.outputs[0], channels.shape)[-2]
        rows = np.repeat(channels[..., :1, :], queries, axis=-2)
        rows = replay(self.nodes, onward, rows)
        order = rows.reshape(-1, rows.shape[-1])
        if order.shape[1] != output.linear.inputs or (order != order[0]).any():
            raise FoldError(f"the channels that {output.name} reads are not those of the values")
        linear = output.linear
        return layer, output, replace(linear, b=linear.bias + linear.w @ layer.linear.b[order[0]])

    def findings(self):
        where = f"{self.core.softmax.name} + {self.core.context.name}"
        yield attempt(
            "key-bias", where, self._key, lambda r: f"the key bias of {r[0].name} cancels in the softmax: drop it"
        )
        yield attempt(
            "value-bias", where, self._value, lambda r: f"the value bias of {r[0].name} goes into that of {r[1].name}"
        )
        query = attempt("query-bias", where, self._query, "")
        if not query.folds and "not redundant" in query.why:
            yield query


def find_attention(nodes, layers):
    """The findings for every attention of the graph.

    Parameters
    ----------
    nodes : Nodes
    layers : list of FloatLayer

    Returns
    -------
    list of Finding
        ``result`` of a key bias is (the layer, its `Linear` without it), of a value bias (layer, output projection, its
        new `Linear`).
    """
    fused = [
        Finding(
            rule="key-bias",
            where=node.name,
            folds=False,
            why="a fused attention operator, whose biases are not examined",
        )
        for node in nodes.nodes
        if node.op in _FUSED
    ]
    cores = list(_cores(nodes))
    if not cores:
        return fused
    shapes = example_shapes(nodes.model)
    return fused + [f for core in cores for f in _Attention(nodes, layers, shapes, core).findings()]
