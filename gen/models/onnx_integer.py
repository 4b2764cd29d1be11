"""MatMulInteger and ConvInteger: layers that end in their accumulators, which the host rescales.

The rescale (Cast, Mul, Add, QuantizeLinear) rounds up to four times in float32. Only by luck does a multiplier with a
shift and an integer bias equal it on all reachable accumulators (measured on random layers of 8 channels: 53 of 67
without an Add, none of 66 with an arbitrary one), so it stays where it is, in the runtime.

Their zero point may be computed while the model runs (dynamic quantization); it is then folded into the bias anew for
every input, which reloads the bias and nothing else.
"""

import numpy as np

from .onnx_match import Match, convolution, matrix
from .spec import LayerSpec

__all__ = ["match_integer"]


def match_integer(nodes, tensors, node):
    """The `Match` of ``node``, or None for other operators and for products of two activations."""
    if node.op not in ("MatMulInteger", "ConvInteger") or node.domain not in ("", "ai.onnx"):
        return None
    x, w_name, z_in = node.input(0), node.input(1), node.input(2)
    if x is None or nodes.is_constant(x) or not nodes.is_constant(w_name):
        return None
    shape = tensors[x].shape
    if node.op == "ConvInteger":
        product = convolution(node, shape, nodes.weights(w_name, node, (3, 4)))
    else:
        product = matrix(node, shape, nodes.weights(w_name, node, (2,)))
    n = product.w.shape[0]
    w_zero = np.zeros(n, np.int64) if node.input(3) is None else nodes.zero_point(node.input(3), node, n)[0]
    dynamic = z_in is not None and not nodes.is_constant(z_in)
    if dynamic and int(np.prod(tensors[z_in].shape)) != 1:
        raise node.error("activations must have exactly one zero point", z_in)
    spec = LayerSpec(
        name=node.name,
        op=node.op,
        index=node.index,
        input=x,
        output=node.outputs[0],
        in_shape=shape,
        x_dtype=tensors[x].dtype,
        y_dtype=np.dtype(np.int32),
        w_zero=w_zero,
        bias=None,
        s_in=np.float32(1),
        s_w=np.ones(1, np.float32),
        s_out=np.float32(1),
        z_in=0 if dynamic or z_in is None else nodes.zero_point(z_in, node)[0],
        z_out=0,
        z_key=z_in if dynamic else None,
        **product.layout,
    )
    return Match(spec=spec, nodes=(node.index,))
