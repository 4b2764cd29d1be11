"""Shape and type of every tensor of an ONNX model, by ONNX Runtime's own inference, which knows its own operators."""

import re

import numpy as np
import onnx

from .errors import ModelError
from .ort_runtime import ort_session
from .tensor import Tensor, check_shape

__all__ = ["describe"]

_DTYPES = {
    "float": np.float32,
    "float16": np.float16,
    "double": np.float64,
    "int8": np.int8,
    "uint8": np.uint8,
    "int16": np.int16,
    "uint16": np.uint16,
    "int32": np.int32,
    "uint32": np.uint32,
    "int64": np.int64,
    "uint64": np.uint64,
    "bool": np.bool_,
}


def _tensor(name, kind, shape):
    match = re.fullmatch(r"tensor\((\w+)\)", kind)
    if not match:
        raise ModelError(f"values of type {kind} are not supported", tensor=name)
    dtype = np.dtype(_DTYPES[match[1]]) if match[1] in _DTYPES else None
    if not all(isinstance(d, int) for d in shape):
        raise ModelError(f"shape must be static, not {shape}; fix the model's input dimensions", tensor=name)
    return Tensor(
        key=name, name=name, shape=check_shape(shape, dtype.itemsize if dtype else 8, tensor=name), dtype=dtype
    )


def describe(nodes):
    """Every tensor that is no constant, by name; and ``data`` is left None, also for constants, which `Nodes` holds.

    Parameters
    ----------
    nodes : Nodes

    Returns
    -------
    dict of str to Tensor
    """
    probe = onnx.ModelProto()
    probe.CopyFrom(nodes.model)
    for value in probe.graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name in nodes.inputs and not all(d.HasField("dim_value") and d.dim_value > 0 for d in dims):
            raise ModelError("shape must be static; fix the model's input dimensions", tensor=value.name)
    own = {output.name for output in probe.graph.output}
    constants = set(nodes.constants)
    names = [name for node in nodes.nodes for name in node.outputs if name not in own and name not in constants]
    probe.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    session = ort_session(probe, optimize=False)
    values = [*session.get_inputs(), *session.get_outputs()]
    return {value.name: _tensor(value.name, value.type, value.shape) for value in values}
