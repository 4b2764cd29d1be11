"""The tensors of a TFLite model, checked: types, shapes, quantization and constant data."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from .errors import ModelError
from .tensor import Quantization, Tensor, check_shape
from .tflite_parse import text

__all__ = ["read_tensors"]

_T = schema.TensorType
_DTYPES = {
    _T.FLOAT32: np.float32,
    _T.FLOAT16: np.float16,
    _T.FLOAT64: np.float64,
    _T.INT8: np.int8,
    _T.UINT8: np.uint8,
    _T.INT16: np.int16,
    _T.UINT16: np.uint16,
    _T.INT32: np.int32,
    _T.UINT32: np.uint32,
    _T.INT64: np.int64,
    _T.UINT64: np.uint64,
    _T.BOOL: np.bool_,
}


def _quantization(raw, shape, name):
    if raw is None or raw.scale is None or len(raw.scale) == 0:
        return None
    scale = np.array(raw.scale, np.float32)
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise ModelError("scales must be positive and finite", tensor=name)
    zero = np.zeros(scale.size, np.int64)
    if raw.zeroPoint is not None and len(raw.zeroPoint):
        if len(raw.zeroPoint) not in (1, scale.size):
            raise ModelError(f"{len(raw.zeroPoint)} zero points do not fit {scale.size} scales", tensor=name)
        zero = np.broadcast_to(np.array(raw.zeroPoint, np.int64), scale.shape)
    axis = int(raw.quantizedDimension or 0)
    if scale.size > 1 and not (0 <= axis < len(shape) and shape[axis] == scale.size):
        raise ModelError(f"{scale.size} scales on dimension {axis} do not fit shape {list(shape)}", tensor=name)
    return Quantization(scale=scale, zero_point=zero, axis=axis)


def _constant(buffers, index, shape, dtype, name):
    """The value of a constant, or None for a tensor that operators fill."""
    if not 0 <= index < len(buffers):
        raise ModelError(f"buffer {index} does not exist; there are {len(buffers)}", tensor=name)
    data = buffers[index].data
    if data is None or len(data) == 0:
        return None
    if dtype is None:
        raise ModelError("constants of this type are not supported", tensor=name)
    want = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if len(data) != want:
        raise ModelError(f"the buffer holds {len(data)} bytes but shape {list(shape)} needs {want}", tensor=name)
    return np.frombuffer(bytes(data), dtype.newbyteorder("<")).astype(dtype).reshape(shape)


def _read_tensor(raw, index, buffers):
    name = text(raw.name)
    if raw.isVariable:
        raise ModelError("variable tensors (state between inferences) are not supported", tensor=name)
    shape = [] if raw.shape is None else raw.shape
    signature = shape if raw.shapeSignature is None or len(raw.shapeSignature) == 0 else raw.shapeSignature
    if len(signature) != len(shape) or any(s < 0 for s in list(signature)[1:]):
        raise ModelError(f"shape must be static but for the batch, not {list(map(int, signature))}", tensor=name)
    dtype = np.dtype(_DTYPES[raw.type]) if raw.type in _DTYPES else None
    shape = check_shape(shape, dtype.itemsize if dtype else 8, tensor=name)
    return Tensor(
        key=index,
        name=name,
        shape=shape,
        dtype=dtype,
        quantization=_quantization(raw.quantization, shape, name),
        data=_constant(buffers, raw.buffer, shape, dtype, name),
    )


def read_tensors(model):
    """Every tensor of the only subgraph of a ``ModelT``, by index. Raises `ModelError`."""
    return {i: _read_tensor(raw, i, model.buffers) for i, raw in enumerate(model.subgraphs[0].tensors)}
