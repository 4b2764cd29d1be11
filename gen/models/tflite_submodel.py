"""Other models made of a model's parts: one operator alone, or the whole with every result as an output.

Convolutions without a bias get one of zeros: LiteRT's kernels refuse such a CONV_2D, and its optimized ones and TFLM
crash on such a DEPTHWISE_CONV_2D.
"""

import copy

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from .tflite_parse import pack

__all__ = ["one_operator", "with_all_outputs", "with_biases"]

_CONVOLUTIONS = (schema.BuiltinOperator.CONV_2D, schema.BuiltinOperator.DEPTHWISE_CONV_2D)


def with_biases(model):
    """The same ``ModelT`` with a bias of zeros wherever a convolution has none."""
    model, graph = copy.copy(model), copy.copy(model.subgraphs[0])
    model.subgraphs = [graph]
    graph.tensors, graph.operators, model.buffers = list(graph.tensors), list(graph.operators), list(model.buffers)
    for i, operator in enumerate(graph.operators or []):
        code = model.operatorCodes[operator.opcodeIndex]
        if max(code.builtinCode, code.deprecatedBuiltinCode) not in _CONVOLUTIONS:
            continue
        inputs = [int(k) for k in operator.inputs]
        if len(inputs) > 2 and inputs[2] != -1:
            continue
        operator = graph.operators[i] = copy.copy(operator)
        operator.inputs = np.array([*inputs[:2], len(graph.tensors)], np.int32)
        graph.tensors.append(_zero_bias(graph, operator, len(model.buffers)))
        buffer = schema.BufferT()
        buffer.data = np.zeros(4 * int(graph.tensors[-1].shape[0]), np.uint8)
        model.buffers.append(buffer)
    return model


def _zero_bias(graph, operator, buffer):
    x, w = (graph.tensors[int(k)] for k in operator.inputs[:2])
    outputs = int(graph.tensors[int(operator.outputs[0])].shape[-1])
    bias = schema.TensorT()
    bias.name, bias.type, bias.buffer = b"zero bias", schema.TensorType.INT32, buffer
    bias.shape = np.array([outputs], np.int32)
    if x.quantization is not None and x.quantization.scale is not None and w.quantization is not None:
        bias.quantization = schema.QuantizationParametersT()
        bias.quantization.scale = np.float32(x.quantization.scale[0]) * np.array(w.quantization.scale, np.float32)
        bias.quantization.zeroPoint = np.zeros(bias.quantization.scale.size, np.int64)
    return bias


def one_operator(model, index):
    """A model of operator ``index`` alone.

    Parameters
    ----------
    model : ModelT
    index : int

    Returns
    -------
    bytes, list of int, list of int
        The file, and the tensors of ``model`` that its inputs and outputs are, in order.
    """
    graph = model.subgraphs[0]
    operator = copy.copy(graph.operators[index])
    wanted = [int(k) for k in operator.inputs if k != -1] if operator.inputs is not None else []
    wanted = list(dict.fromkeys(wanted + [int(k) for k in operator.outputs]))
    place = {key: i for i, key in enumerate(wanted)}
    tensors, buffers = [], [schema.BufferT()]
    live = []
    for key in wanted:
        tensor = copy.copy(graph.tensors[key])
        tensor.shapeSignature = None
        data = model.buffers[tensor.buffer].data
        if data is None or len(data) == 0:
            tensor.buffer = 0
            live.append(key)
        else:
            buffers.append(model.buffers[tensor.buffer])
            tensor.buffer = len(buffers) - 1
        tensors.append(tensor)
    outputs = [int(k) for k in operator.outputs]
    inputs = [key for key in live if key not in outputs]
    operator.inputs = np.array([place.get(int(k), -1) for k in operator.inputs], np.int32)
    operator.outputs = np.array([place[k] for k in outputs], np.int32)
    code, operator.opcodeIndex = model.operatorCodes[operator.opcodeIndex], 0
    alone = schema.SubGraphT()
    alone.name, alone.tensors, alone.operators = b"main", tensors, [operator]
    alone.inputs = np.array([place[k] for k in inputs], np.int32)
    alone.outputs = np.array([place[k] for k in outputs], np.int32)
    return _packed(model, alone, buffers, [code]), inputs, outputs


def with_all_outputs(model):
    """The same model with every operator's results among its outputs, so that a delegate must write them.

    Returns
    -------
    bytes, list of int
        The file, and the tensors that its outputs are, in order.
    """
    graph = copy.copy(model.subgraphs[0])
    keys = list(dict.fromkeys(int(k) for operator in graph.operators for k in operator.outputs))
    graph.outputs = np.array(keys, np.int32)
    graph.tensors = [copy.copy(tensor) for tensor in graph.tensors]
    for tensor in graph.tensors:
        tensor.shapeSignature = None
    return _packed(model, graph, model.buffers, model.operatorCodes), keys


def _packed(model, graph, buffers, codes):
    whole = schema.ModelT()
    whole.version, whole.description = model.version, model.description
    whole.operatorCodes, whole.subgraphs, whole.buffers = codes, [graph], buffers
    return pack(whole)
