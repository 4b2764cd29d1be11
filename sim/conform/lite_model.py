"""A random operator as the bytes of a .tflite file."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from ...gen.models.tflite_parse import pack

__all__ = ["lite_model"]

_OPTIONS = {
    "FULLY_CONNECTED": schema.FullyConnectedOptionsT,
    "CONV_2D": schema.Conv2DOptionsT,
    "DEPTHWISE_CONV_2D": schema.DepthwiseConv2DOptionsT,
}
#: Operator versions that say of int8 and of weights with a scale a channel.
_VERSIONS = {"FULLY_CONNECTED": (4, 12), "CONV_2D": (3, 3), "DEPTHWISE_CONV_2D": (3, 3)}


def lite_model(operator):
    """Bytes of a model of one operator.

    Parameters
    ----------
    operator : Operator
        Of int8 activations.
    """
    kind, op = schema.TensorType, operator.op
    w, axis = operator.w, 0
    if operator.is_matrix:
        w = w[:, 0, 0]
    elif operator.is_depthwise:
        w, axis = w.transpose(3, 1, 2, 0), 3
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.subgraphs = 3, [schema.BufferT()], [graph]
    model.description, graph.name, graph.tensors = b"one operator", b"main", []

    def add(shape, scale, zero, data=None, tensor_kind=kind.INT8, dimension=0):
        tensor, quantization = schema.TensorT(), schema.QuantizationParametersT()
        tensor.name, tensor.shape, tensor.type = (
            f"t{len(graph.tensors)}".encode(),
            np.array(shape, np.int32),
            tensor_kind,
        )
        quantization.scale = np.atleast_1d(np.asarray(scale, np.float32))
        quantization.zeroPoint = np.full(len(quantization.scale), zero, np.int64)
        quantization.quantizedDimension = dimension
        tensor.quantization, tensor.buffer = quantization, 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            model.buffers.append(buffer)
            tensor.buffer = len(model.buffers) - 1
        graph.tensors.append(tensor)
        return len(graph.tensors) - 1

    x = add(operator.x.shape, operator.s_in, operator.zx)
    inputs = [x, add(w.shape, operator.s_w, 0, w, dimension=axis)]
    if operator.bias is not None:
        scale = operator.s_in * operator.s_w
        inputs.append(add(operator.bias.shape, scale, 0, operator.bias.astype(np.int32), kind.INT32))
    elif operator.is_matrix:
        inputs.append(-1)
    y = add(operator.out_shape, operator.s_out, operator.zy)

    options, node, code = _OPTIONS[op](), schema.OperatorT(), schema.OperatorCodeT()
    if not operator.is_matrix:
        options.padding = schema.Padding.SAME
        options.strideW = options.strideH = options.dilationWFactor = options.dilationHFactor = 1
    if operator.is_depthwise:
        options.depthMultiplier = 1
    node.opcodeIndex, node.inputs, node.outputs = 0, np.array(inputs, np.int32), np.array([y], np.int32)
    node.builtinOptions = options
    node.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__[:-1])
    code.builtinCode, code.version = getattr(schema.BuiltinOperator, op), _VERSIONS[op][operator.s_w.size > 1]
    code.deprecatedBuiltinCode = code.builtinCode
    graph.operators, model.operatorCodes = [node], [code]
    graph.inputs, graph.outputs = np.array([x], np.int32), np.array([y], np.int32)
    return pack(model)
