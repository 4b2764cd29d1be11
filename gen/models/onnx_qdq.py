"""Gemm, MatMul and Conv between DequantizeLinear and QuantizeLinear, with the Relu or Clip between them."""

import numpy as np

from .clamp import clamp_bounds
from .onnx_match import Match, convolution, matrix
from .spec import LayerSpec

__all__ = ["match_qdq"]

_TOLERANCE = 1e-3
"""Relative difference of the bias scale from ``s_in * s_w``; the runtime does not look at it."""


def _dequantized(nodes, name):
    """The DequantizeLinear that made ``name``, or None."""
    node = nodes.producer.get(name)
    return node if node is not None and node.op == "DequantizeLinear" else None


def _scale_axis(node, shape, default=1):
    axis = node.attribute("axis", default, int)
    if node.attribute("block_size", 0, int):
        raise node.error("blockwise quantization is not supported")
    if not -len(shape) <= axis < len(shape):
        raise node.error(f"axis {axis} does not fit shape {list(shape)}")
    return axis % len(shape)


def _weights(nodes, dq, dims, axis):
    """Constant weights with scales and zero points, one an element of dimension ``axis``."""
    w = nodes.weights(dq.input(0), dq, dims)
    n = w.shape[axis]
    scale = nodes.scale(dq.input(1), dq, n)
    if scale.size > 1 and _scale_axis(dq, w.shape) != axis:
        raise dq.error(f"per-channel scales must run along dimension {axis}", dq.input(0))
    if dq.input(2) is None:
        return w, scale, np.zeros(n, np.int64)
    zero, dtype = nodes.zero_point(dq.input(2), dq, n)
    if dtype != w.dtype:
        raise dq.error(f"must be {w.dtype} like the weights, not {dtype}", dq.input(2))
    return w, scale, zero


def _bias(nodes, node, s_in, s_w, n):
    name = node.input(2)
    if name is None:
        return None
    dq = _dequantized(nodes, name)
    if dq is None:
        raise node.error("the bias must be int32 behind a DequantizeLinear", name)
    bias = nodes.bias(dq.input(0), dq, n)
    stated = nodes.scale(dq.input(1), dq, n)
    if not np.allclose(stated, s_in * s_w, rtol=_TOLERANCE, atol=0):
        raise dq.error("the bias must have the scale s_in * s_w", dq.input(1))
    if dq.input(2) is not None and np.any(nodes.constant(dq.input(2), dq)):
        raise dq.error("the bias must have the zero point 0", dq.input(2))
    return bias


def _product(nodes, tensors, node, x, dq):
    """The `Product` with weight scales and zero points."""
    shape = tensors[x].shape
    if node.op == "Conv":
        w, scale, zero = _weights(nodes, dq, (3, 4), 0)
        return convolution(node, shape, w), scale, zero
    transposed = bool(node.attribute("transB", 0, int)) if node.op == "Gemm" else False
    if node.op == "Gemm":
        plain = node.attribute("alpha", 1.0, float) == 1.0 and node.attribute("beta", 1.0, float) == 1.0
        if not plain or node.attribute("transA", 0, int):
            raise node.error("only alpha = 1, beta = 1 and transA = 0 are supported")
    w, scale, zero = _weights(nodes, dq, (2,), 0 if transposed else 1)
    return matrix(node, shape, w.T if transposed else w), scale, zero


def _activation(nodes, node):
    """The Relu or Clip behind ``node`` (or ``node`` itself), its real bounds, and the nodes on the way."""
    following = nodes.only_consumer(node.outputs[0])
    if following is None or following.op not in ("Relu", "Clip"):
        return node, (None, None), []
    if following.op == "Relu":
        return following, (0.0, None), [following.index]
    bounds = []
    for position, attribute in ((1, "min"), (2, "max")):
        name = following.input(position)
        if name is None:
            bounds.append(following.attribute(attribute, None, float))
        else:
            bounds.append(float(np.asarray(nodes.constant(name, following)).reshape(-1)[0]))
    if any(b is not None and not np.isfinite(b) for b in bounds):
        bounds = [b if b is None or np.isfinite(b) else None for b in bounds]
    return following, tuple(bounds), [following.index]


def match_qdq(nodes, tensors, node):
    """The `Match` of ``node``, or None where it is of another kind, in floating point, or of two activations."""
    if node.op not in ("Gemm", "MatMul", "Conv") or node.domain not in ("", "ai.onnx"):
        return None
    dq_x, dq_w = _dequantized(nodes, node.input(0)), _dequantized(nodes, node.input(1))
    if dq_x is None or dq_w is None or nodes.is_constant(dq_x.input(0)) or not nodes.is_constant(dq_w.input(0)):
        return None
    last, clamp, way = _activation(nodes, node)
    quantize = nodes.only_consumer(last.outputs[0])
    if quantize is None or quantize.op != "QuantizeLinear":
        return None
    x, y = dq_x.input(0), quantize.outputs[0]
    product, s_w, w_zero = _product(nodes, tensors, node, x, dq_w)
    n = product.w.shape[0]
    s_in, (z_in, x_dtype) = nodes.scale(dq_x.input(1), dq_x), nodes.zero_point(dq_x.input(2), dq_x)
    s_out, (z_out, y_dtype) = nodes.scale(quantize.input(1), quantize), nodes.zero_point(quantize.input(2), quantize)
    for key, dtype, at in ((x, x_dtype, dq_x), (y, y_dtype, quantize)):
        if dq_x.input(2) is None and key == x:
            x_dtype = dtype = tensors[x].dtype
        if tensors[key].dtype != dtype or dtype not in (np.int8, np.uint8):
            raise at.error(f"activations must be int8 or uint8 like their zero point, not {tensors[key].dtype}", key)
    # The runtime leaves out an activation that the output type clamps anyway, and else computes in float32.
    full = clamp_bounds((None, None), s_out, z_out, y_dtype, "ort")
    spec = LayerSpec(
        name=node.name,
        op=f"{node.op} (QDQ)",
        index=node.index,
        input=x,
        output=y,
        in_shape=tensors[x].shape,
        x_dtype=np.dtype(x_dtype),
        y_dtype=np.dtype(y_dtype),
        w_zero=w_zero,
        bias=_bias(nodes, node, s_in, s_w, n) if node.op != "MatMul" else None,
        s_in=s_in,
        s_w=s_w,
        s_out=s_out,
        z_in=z_in,
        z_out=z_out,
        clamp=clamp,
        float_in_runtime=clamp_bounds(clamp, s_out, z_out, y_dtype, "ort") != full,
        **product.layout,
    )
    return Match(spec=spec, nodes=(node.index, *way, quantize.index))
