"""Bytes of a .onnx file to a checked ``ModelProto``."""

import math

import onnx
from google.protobuf.message import DecodeError

from .errors import ModelError, one_line
from .tensor import MAX_BYTES

__all__ = ["node_name", "parse_onnx"]

_MAX_FILE = 1 << 28
_MAX_NODES = 50_000


def node_name(node, index):
    """How errors and tables call a node."""
    return f"{index}:{node.op_type}" + (f" {node.name}" if node.name else "")


def _check_initializer(tensor):
    if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
        raise ModelError("data outside of the file are not supported", tensor=tensor.name)
    if any(d < 0 for d in tensor.dims):
        raise ModelError(f"shape must be static, not {list(tensor.dims)}", tensor=tensor.name)
    if math.prod(tensor.dims) > MAX_BYTES:
        raise ModelError(f"tensors of more than {MAX_BYTES} elements are refused", tensor=tensor.name)


def _check_node(node, name):
    for attribute in node.attribute:
        if attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) or attribute.HasField("g"):
            raise ModelError("control flow (a graph inside of a node) is not supported", operator=name)
        if attribute.ref_attr_name:
            raise ModelError("attributes by reference are not supported", operator=name)
        if attribute.HasField("t"):
            _check_initializer(attribute.t)


def parse_onnx(data):
    """The ``ModelProto`` of ``data`` (bytes). Raises `ModelError`."""
    data = bytes(data)
    if len(data) > _MAX_FILE:
        raise ModelError(f"a file of {len(data)} bytes is refused; the limit is {_MAX_FILE}")
    try:
        model = onnx.load_model_from_string(data)
    except (DecodeError, ValueError, TypeError) as error:
        raise ModelError(f"damaged ONNX file: {one_line(error)}") from error
    graph = model.graph
    if not graph.node or not graph.output or not model.opset_import:
        raise ModelError("not an ONNX model: it has no operators, outputs or operator set")
    if model.functions:
        raise ModelError("model-local functions are not supported")
    if graph.sparse_initializer:
        raise ModelError("sparse initializers are not supported")
    if len(graph.node) > _MAX_NODES:
        raise ModelError(f"a model with more than {_MAX_NODES} operators is refused")
    for tensor in graph.initializer:
        _check_initializer(tensor)
    for i, node in enumerate(graph.node):
        _check_node(node, node_name(node, i))
    return model
