"""The nodes of an ONNX graph with what pattern matching asks of them: constants, producers, consumers, attributes."""

import numpy as np
import onnx
from onnx import numpy_helper

from .errors import ModelError
from .onnx_parse import node_name
from .tensor import check_shape

__all__ = ["Node", "Nodes"]

_CONSTANT_ERRORS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)


class Node:
    """One node of the graph, with its attributes as Python values."""

    def __init__(self, proto, index):
        self.proto, self.index, self.op, self.domain = proto, index, proto.op_type, proto.domain
        self.name = node_name(proto, index)
        self.inputs, self.outputs = list(proto.input), [name for name in proto.output if name]
        try:
            self._attributes = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
        except (ValueError, TypeError) as error:
            raise self.error(f"damaged attribute: {error}") from error

    def error(self, message, tensor=None):
        """A `ModelError` at this node."""
        return ModelError(message, operator=self.name, tensor=tensor)

    def input(self, position):
        """The name at an input position, or None where it is left out."""
        return self.inputs[position] or None if position < len(self.inputs) else None

    def attribute(self, name, default, kind):
        """The value of an attribute of type ``kind`` (for lists: of its elements)."""
        value = self._attributes.get(name, default)
        elements = value if isinstance(value, list) else [value]
        if isinstance(default, list) != isinstance(value, list) and default is not None:
            raise self.error(f"attribute {name} is of the wrong kind: {value!r}")
        if value is not None and not all(isinstance(element, kind) for element in elements):
            raise self.error(f"attribute {name} must be {kind.__name__}, not {value!r}")
        return value


class Nodes:
    """All nodes of a parsed model."""

    def __init__(self, model):
        self.model = model
        self.nodes = [Node(proto, i) for i, proto in enumerate(model.graph.node)]
        self._initializers = {tensor.name: tensor for tensor in model.graph.initializer}
        for node in self.nodes:
            if node.op == "Constant" and node.domain in ("", "ai.onnx") and node.proto.attribute and node.outputs:
                value = node.proto.attribute[0]
                if value.name == "value" and value.HasField("t"):
                    self._initializers[node.outputs[0]] = value.t
        self._values = {}
        self.producer, self.consumers = {}, {}
        for node in self.nodes:
            for name in node.outputs:
                if name in self.producer:
                    raise node.error("written twice", name)
                self.producer[name] = node
            for name in node.inputs:
                self.consumers.setdefault(name, []).append(node)
        self.inputs = tuple(v.name for v in model.graph.input if v.name not in self._initializers)
        self.outputs = tuple(v.name for v in model.graph.output)

    def is_constant(self, name):
        """Whether a tensor is known before the model runs."""
        return name in self._initializers

    @property
    def constants(self):
        """Names of all constants."""
        return self._initializers.keys()

    def constant(self, name, node):
        """The array of a constant; raises at ``node`` where it is none."""
        if name is None or name not in self._initializers:
            raise node.error("must be constant", name or "(left out)")
        if name not in self._values:
            try:
                self._values[name] = np.asarray(numpy_helper.to_array(self._initializers[name]))
            except _CONSTANT_ERRORS as error:
                raise node.error(f"damaged constant: {error}", name) from error
        return self._values[name]

    def only_consumer(self, name):
        """The node that alone reads ``name``, or None; an output of the model is read by more than nodes."""
        readers = self.consumers.get(name, [])
        return readers[0] if len(readers) == 1 and name not in self.outputs else None

    def scale(self, name, node, size=None):
        """A positive float32 scale: one number, or with ``size`` also one an output channel."""
        value = self.constant(name, node)
        if value.dtype != np.float32 or not (value.size == 1 or (size and value.shape == (size,))):
            wanted = f"one float32 or {size}" if size else "one float32"
            raise node.error(f"the scale must be {wanted}, not {value.dtype} of shape {list(value.shape)}", name)
        if not (np.isfinite(value).all() and (value > 0).all()):
            raise node.error("scales must be positive and finite", name)
        return value.reshape(-1) if size else np.float32(value.reshape(-1)[0])

    def zero_point(self, name, node, size=None):
        """A zero point as int64 with its dtype; 0 of uint8 where it is left out."""
        value = np.zeros(1, np.uint8) if name is None else self.constant(name, node)
        if value.dtype not in (np.int8, np.uint8) or not (value.size == 1 or (size and value.shape == (size,))):
            wanted = f"one int8 or uint8 or {size}" if size else "one int8 or uint8"
            raise node.error(f"the zero point must be {wanted}, not {value.dtype} of {list(value.shape)}", name)
        flat = value.reshape(-1).astype(np.int64)
        return (np.broadcast_to(flat, (size,)) if size else int(flat[0])), value.dtype

    def bias(self, name, node, size):
        """An int32 bias as int64, or None."""
        if name is None:
            return None
        value = self.constant(name, node)
        if value.dtype != np.int32:
            raise node.error(f"the bias must be int32, not {value.dtype}", name)
        if value.size != size:
            raise node.error(f"{value.size} biases do not fit {size} outputs", name)
        return value.reshape(-1).astype(np.int64)

    def weights(self, name, node, dims):
        """Constant int8 or uint8 weights of ``dims`` dimensions."""
        value = self.constant(name, node)
        if value.dtype not in (np.int8, np.uint8):
            raise node.error(f"weights must be int8 or uint8, not {value.dtype}", name)
        if value.ndim not in dims or value.size == 0:
            raise node.error(f"weights of shape {list(value.shape)} are not supported", name)
        check_shape(value.shape, 1, operator=node.name, tensor=name)
        return value
