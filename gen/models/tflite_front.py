"""A .tflite file to a `Graph`: int8 FULLY_CONNECTED, CONV_2D and DEPTHWISE_CONV_2D become layers."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from .clamp import CLAMPS
from .errors import ModelError
from .graph import Graph, HostOp
from .im2col import Im2col
from .spec import LayerSpec
from .tensor import Quantization
from .tflite_parse import BUILTIN_NAMES, text
from .tflite_tensors import read_tensors

__all__ = ["tflite_graph"]

_ACTIVATIONS = {
    schema.ActivationFunctionType.NONE: "none",
    schema.ActivationFunctionType.RELU: "relu",
    schema.ActivationFunctionType.RELU6: "relu6",
    schema.ActivationFunctionType.RELU_N1_TO_1: "relu_n1_to_1",
}
_MAX_STEP = 1 << 16


class _Operator:
    """One operator with its operands looked up and its shared checks."""

    def __init__(self, index, raw, model, tensors):
        if not 0 <= raw.opcodeIndex < len(model.operatorCodes):
            raise ModelError(f"operator code {raw.opcodeIndex} does not exist", operator=f"#{index}")
        code = model.operatorCodes[raw.opcodeIndex]
        number = max(code.builtinCode, code.deprecatedBuiltinCode)
        self.op = BUILTIN_NAMES.get(number, f"BUILTIN_{number}")
        if self.op == "CUSTOM":
            self.op = f"CUSTOM:{text(code.customCode)}"
        self.index, self.options, self.tensors = index, raw.builtinOptions, tensors
        self.name = f"{index}:{self.op}"
        self.inputs = self._keys(raw.inputs, "input", optional=True)
        self.outputs = self._keys(raw.outputs, "output", optional=False)
        if not self.outputs:
            raise self.error("it has no output")

    def _keys(self, raw, what, optional):
        keys = [] if raw is None else [int(k) for k in raw]
        for key in keys:
            if key not in self.tensors and not (optional and key == -1):
                raise self.error(f"{what} tensor {key} does not exist")
        return keys

    def error(self, message, tensor=None):
        return ModelError(message, operator=self.name, tensor=tensor.name if tensor else None)

    def operand(self, position):
        """The tensor at an input position, or None where it is left out."""
        if position >= len(self.inputs) or self.inputs[position] == -1:
            return None
        return self.tensors[self.inputs[position]]

    def option(self, field, low=0, high=_MAX_STEP):
        value = getattr(self.options, field, None)
        if value is None or not low <= value <= high:
            raise self.error(f"{field} must be in {low}..{high}, not {value!r}")
        return int(value)

    def host(self):
        """This operator as a step for the host."""
        live = tuple(k for k in self.inputs if k != -1 and self.tensors[k].data is None)
        return HostOp(name=self.name, op=self.op, index=self.index, inputs=live, outputs=tuple(self.outputs))


def _per_tensor(op, tensor, dtype):
    """Scale and zero point of an activation tensor; raises unless it is ``dtype`` with one scale."""
    if tensor.dtype != dtype:
        raise op.error(f"activations must be {np.dtype(dtype)}, not {tensor.dtype}", tensor)
    quantization = tensor.quantization
    if quantization is None or quantization.per_channel:
        raise op.error("activations must have exactly one scale", tensor)
    zero = int(quantization.zero_point[0])
    if not -128 <= zero <= 127:
        raise op.error(f"the zero point must be an int8, not {zero}", tensor)
    return quantization.scale[0], zero


def _weights(op, axis):
    """The constant int8 weights and their quantization; per-channel scales must run along ``axis``."""
    tensor = op.operand(1)
    if tensor is None or tensor.data is None:
        raise op.error("weights must be constant", tensor)
    if tensor.dtype != np.int8:
        raise op.error(f"weights must be int8, not {tensor.dtype}", tensor)
    quantization = tensor.quantization
    if quantization is None:
        raise op.error("weights must be quantized", tensor)
    if quantization.per_channel and quantization.axis != axis:
        raise op.error(f"per-channel scales must run along dimension {axis}, not {quantization.axis}", tensor)
    if quantization.zero_point.any():
        raise op.error("int8 weights must have the zero point 0", tensor)
    return tensor, quantization


def _bias(op, outputs):
    tensor = op.operand(2)
    if tensor is None:
        return None
    if tensor.dtype != np.int32:
        raise op.error(f"the bias must be int32, not {tensor.dtype}", tensor)
    if tensor.data is None:
        raise op.error("the bias must be constant", tensor)
    if tensor.data.size != outputs:
        raise op.error(f"{tensor.data.size} biases do not fit {outputs} outputs", tensor)
    return tensor.data.reshape(-1).astype(np.int64)


def _spec(op, w, quantization: Quantization, geometry, groups):
    """What all three operators share."""
    x, y = op.operand(0), op.tensors[op.outputs[0]]
    if x.data is not None:
        raise op.error("the input must not be constant", x)
    s_in, z_in = _per_tensor(op, x, np.int8)
    s_out, z_out = _per_tensor(op, y, np.int8)
    fused = op.options.fusedActivationFunction
    if fused not in _ACTIVATIONS:
        raise op.error(f"fused activation {fused!r} is not supported; NONE, RELU, RELU6 and RELU_N1_TO_1 are")
    return LayerSpec(
        name=op.name,
        op=op.op,
        index=op.index,
        input=x.key,
        output=y.key,
        in_shape=x.shape,
        out_shape=y.shape,
        x_dtype=np.dtype(np.int8),
        y_dtype=np.dtype(np.int8),
        w=w,
        w_zero=np.zeros(w.shape[0], np.int64),
        bias=_bias(op, w.shape[0]),
        s_in=s_in,
        s_w=quantization.scale,
        s_out=s_out,
        z_in=z_in,
        z_out=z_out,
        clamp=CLAMPS[_ACTIVATIONS[fused]],
        geometry=geometry,
        groups=groups,
    )


def _fully_connected(op):
    tensor, quantization = _weights(op, axis=0)
    if len(tensor.shape) != 2:
        raise op.error(f"weights must have two dimensions, not {len(tensor.shape)}", tensor)
    if op.options.weightsFormat != 0:
        raise op.error("shuffled weights are not supported", tensor)
    outputs, k = tensor.shape
    x, y = op.operand(0), op.tensors[op.outputs[0]]
    size = int(np.prod(x.shape))
    if size % k or int(np.prod(y.shape)) != size // k * outputs:
        raise op.error(f"shapes {list(x.shape)} x {list(tensor.shape)} -> {list(y.shape)} do not fit", x)
    return _spec(op, tensor.data.reshape(outputs, 1, 1, k), quantization, None, 1)


def _out_size(op, size, kernel, stride, dilation):
    """Output size and padding before, for one direction."""
    reach = (kernel - 1) * dilation + 1
    padding = op.option("padding", 0, 1)
    if padding == schema.Padding.VALID:
        return (size - reach) // stride + 1, 0
    out = -(-size // stride)
    return out, max(0, (out - 1) * stride + reach - size) // 2


def _convolution(op, kernel, w, quantization, groups):
    x, y = op.operand(0), op.tensors[op.outputs[0]]
    stride = (op.option("strideH", 1), op.option("strideW", 1))
    dilation = (op.option("dilationHFactor", 1), op.option("dilationWFactor", 1))
    sizes = [_out_size(op, x.shape[1 + d], kernel[d], stride[d], dilation[d]) for d in (0, 1)]
    out_size, pad = tuple(s[0] for s in sizes), tuple(s[1] for s in sizes)
    if y.shape != (x.shape[0], *out_size, w.shape[0]):
        raise op.error(f"shape {list(y.shape)} should be {[x.shape[0], *out_size, w.shape[0]]}", y)
    geometry = Im2col(in_size=x.shape[1:3], out_size=out_size, kernel=kernel, stride=stride, dilation=dilation, pad=pad)
    return _spec(op, w, quantization, geometry, groups)


def _image(op):
    x = op.operand(0)
    if len(x.shape) != 4 or len(op.tensors[op.outputs[0]].shape) != 4:
        raise op.error(f"images must have four dimensions, not {list(x.shape)}", x)
    return x.shape[3]


def _conv_2d(op):
    tensor, quantization = _weights(op, axis=0)
    channels = _image(op)
    if len(tensor.shape) != 4 or channels % tensor.shape[3]:
        raise op.error(f"weights {list(tensor.shape)} do not fit {channels} channels", tensor)
    return _convolution(op, tensor.shape[1:3], tensor.data, quantization, channels // tensor.shape[3])


def _depthwise_conv_2d(op):
    tensor, quantization = _weights(op, axis=3)
    channels = _image(op)
    if len(tensor.shape) != 4 or tensor.shape[0] != 1 or tensor.shape[3] % channels:
        raise op.error(f"weights {list(tensor.shape)} do not fit {channels} channels", tensor)
    w = tensor.data.transpose(3, 1, 2, 0)
    return _convolution(op, tensor.shape[1:3], np.ascontiguousarray(w), quantization, channels)


_READERS = {
    "FULLY_CONNECTED": (_fully_connected, schema.FullyConnectedOptionsT),
    "CONV_2D": (_conv_2d, schema.Conv2DOptionsT),
    "DEPTHWISE_CONV_2D": (_depthwise_conv_2d, schema.DepthwiseConv2DOptionsT),
}


def _step(op):
    """The operator as a layer, or as a step of the host where it is of another kind or in floating point."""
    if op.op not in _READERS:
        return op.host()
    read, options = _READERS[op.op]
    if not isinstance(op.options, options):
        raise op.error("its options are missing or those of another operator")
    if op.operand(0) is None:
        raise op.error("its input is missing")
    if op.operand(0).dtype == np.float32 and op.tensors[op.outputs[0]].dtype == np.float32:
        return op.host()
    return read(op)


def tflite_graph(model):
    """The `Graph` of a parsed model (``ModelT``, see `tflite_parse.parse`). Raises `ModelError`."""
    tensors = read_tensors(model)
    raw = model.subgraphs[0]
    for what, keys in (("input", raw.inputs), ("output", raw.outputs)):
        for key in [] if keys is None else keys:
            if int(key) not in tensors:
                raise ModelError(f"{what} tensor {int(key)} of the model does not exist")
    operators = [_Operator(i, operator, model, tensors) for i, operator in enumerate(raw.operators or [])]
    return Graph(
        tensors=tensors,
        steps=tuple(_step(op) for op in operators),
        inputs=tuple(int(k) for k in (raw.inputs if raw.inputs is not None else ())),
        outputs=tuple(int(k) for k in (raw.outputs if raw.outputs is not None else ())),
    )
