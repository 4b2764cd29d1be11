"""A random operator as the bytes of a .onnx file."""

import numpy as np
import onnx

__all__ = ["onnx_model"]


def onnx_model(operator):
    """Bytes of a model of one operator.

    Parameters
    ----------
    operator : Operator

    Notes
    -----
    A QLinearConv's activations are those of the operator with the channels moved to the second place.
    """
    helper, op = onnx.helper, operator.op
    w = operator.w[:, 0, 0].T if operator.is_matrix else np.moveaxis(operator.w, 3, 1)
    per_channel = operator.s_w.size > 1
    constants = {
        "s_in": operator.s_in,
        "zx": operator.x.dtype.type(operator.zx),
        "w": np.ascontiguousarray(w),
        "s_w": operator.s_w if per_channel else operator.s_w[0],
        "zw": np.zeros(operator.s_w.shape if per_channel else (), np.int8),
        "s_out": operator.s_out,
        "zy": operator.x.dtype.type(operator.zy),
    }
    head, tail, bias = ["x", "s_in", "zx", "w", "s_w", "zw"], ["s_out", "zy"], []
    if operator.bias is not None:
        constants["bias"], bias = operator.bias, ["bias"]
    attributes, domain = {}, ""
    if op == "QGemm":
        domain, inputs = "com.microsoft", [*head, *(bias or [""]), *tail]
    else:
        inputs = [*head, *tail, *bias]
    if op == "QLinearConv":
        before = [(size - 1) // 2 for size in operator.w.shape[1:3]]
        after = [size - 1 - b for size, b in zip(operator.w.shape[1:3], before, strict=True)]
        attributes["pads"] = [*before, *after]
    kind = helper.np_dtype_to_tensor_dtype(operator.x.dtype)
    shape = lambda values: values if operator.is_matrix else (values[0], values[3], *values[1:3])  # noqa: E731
    graph = helper.make_graph(
        [helper.make_node(op, inputs, ["y"], domain=domain, **attributes)],
        "one operator",
        [helper.make_tensor_value_info("x", kind, shape(operator.x.shape))],
        [helper.make_tensor_value_info("y", kind, shape(operator.out_shape))],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
