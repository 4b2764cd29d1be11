"""Operators that state their quantization themselves: QLinearConv, QLinearMatMul and com.microsoft QGemm."""

import numpy as np

from .onnx_match import Match, convolution, matrix
from .spec import LayerSpec

__all__ = ["match_qoperator"]


def _layer(nodes, tensors, node, product, places, bias):
    """The match of one node; ``places`` are the inputs x, x_scale, x_zero, w_scale, w_zero, y_scale, y_zero."""
    x, x_scale, x_zero, w_scale, w_zero, y_scale, y_zero = (node.input(p) for p in places)
    n = product.w.shape[0]
    z_in, x_dtype = nodes.zero_point(x_zero, node)
    z_out, y_dtype = nodes.zero_point(y_zero, node)
    z_w, w_dtype = nodes.zero_point(w_zero, node, n)
    for name, dtype in ((x, x_dtype), (node.outputs[0], y_dtype)):
        if tensors[name].dtype != dtype:
            raise node.error(f"must be {dtype} like its zero point, not {tensors[name].dtype}", name)
    if w_dtype != product.w.dtype:
        raise node.error(f"must be {product.w.dtype} like the weights, not {w_dtype}", w_zero)
    spec = LayerSpec(
        name=node.name,
        op=node.op,
        index=node.index,
        input=x,
        output=node.outputs[0],
        in_shape=tensors[x].shape,
        x_dtype=x_dtype,
        y_dtype=y_dtype,
        w_zero=z_w,
        bias=nodes.bias(bias, node, n),
        s_in=nodes.scale(x_scale, node),
        s_w=nodes.scale(w_scale, node, n),
        s_out=nodes.scale(y_scale, node),
        z_in=z_in,
        z_out=z_out,
        **product.layout,
    )
    return Match(spec=spec, nodes=(node.index,))


def _qlinear_conv(nodes, tensors, node):
    w = nodes.weights(node.input(3), node, (3, 4))
    product = convolution(node, tensors[node.input(0)].shape, w)
    return _layer(nodes, tensors, node, product, (0, 1, 2, 4, 5, 6, 7), node.input(8))


def _qlinear_matmul(nodes, tensors, node):
    w = nodes.weights(node.input(3), node, (2,))
    product = matrix(node, tensors[node.input(0)].shape, w)
    return _layer(nodes, tensors, node, product, (0, 1, 2, 4, 5, 6, 7), None)


def _qgemm(nodes, tensors, node):
    if node.input(7) is None:
        return None
    if node.attribute("alpha", 1.0, float) != 1.0 or node.attribute("transA", 0, int):
        raise node.error("only alpha = 1 and transA = 0 are supported")
    w = nodes.weights(node.input(3), node, (2,))
    w = w.T if node.attribute("transB", 0, int) else w
    product = matrix(node, tensors[node.input(0)].shape, np.ascontiguousarray(w))
    return _layer(nodes, tensors, node, product, (0, 1, 2, 4, 5, 7, 8), node.input(6))


_MATCHERS = {
    ("", "QLinearConv"): _qlinear_conv,
    ("", "QLinearMatMul"): _qlinear_matmul,
    ("com.microsoft", "QLinearConv"): _qlinear_conv,
    ("com.microsoft", "QGemm"): _qgemm,
}


def match_qoperator(nodes, tensors, node):
    """The `Match` of ``node``, or None for other operators, products of two activations, and float results of QGemm."""
    matcher = _MATCHERS.get(("" if node.domain == "ai.onnx" else node.domain, node.op))
    x, w = node.input(0), node.input(3)
    if matcher is None or x is None or nodes.is_constant(x) or (w is not None and not nodes.is_constant(w)):
        return None
    if node.op == "QLinearConv" and node.attribute("channels_last", 0, int):
        raise node.error("channels_last is not supported")
    return matcher(nodes, tensors, node)
