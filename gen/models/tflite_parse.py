"""Bytes of a .tflite file to its object tree, with every count checked before the parser allocates for it.

The FlatBuffers reader for Python has no verifier: it follows any offset. So the vectors' lengths are first held against
the file's size and against a budget for the whole model, which bounds time and memory, and whatever the parser raises
on the way becomes a `ModelError`.
"""

import struct

from ai_edge_litert import schema_py_generated as schema

from .errors import ModelError

__all__ = ["BUILTIN_NAMES", "pack", "parse", "text"]

BUILTIN_NAMES = {code: name for name, code in vars(schema.BuiltinOperator).items() if isinstance(code, int)}
"""Operator names by their code."""

_MAX_FILE = 1 << 28
_MAX_TABLES = 50_000
_MAX_RANK = 8
_PARSER_ERRORS = (
    struct.error,
    ValueError,
    TypeError,
    IndexError,
    KeyError,
    AttributeError,
    OverflowError,
    RecursionError,
)


class _Budget:
    """Counts tables, vector elements and bytes of one file."""

    def __init__(self, size):
        self.size, self.tables, self.bytes = size, 0, 0

    def take_bytes(self, what, count):
        """Bytes that are copied; vectors that share their bytes must not multiply them."""
        self.bytes += self.take(what, count, width=1)
        self.take(what, self.bytes, width=1)

    def take(self, what, count, width=4, most=None):
        if count < 0 or count * width > self.size or (most is not None and count > most):
            raise ModelError(f"damaged file: {count} {what} cannot be")
        return count

    def take_tables(self, what, count):
        self.tables += self.take(what, count)
        if self.tables > _MAX_TABLES:
            raise ModelError(f"a model with more than {_MAX_TABLES} tables is refused")
        return range(count)


def _check_tensor(budget, tensor):
    budget.take_bytes("characters", len(tensor.Name() or b""))
    budget.take("dimensions", tensor.ShapeLength(), most=_MAX_RANK)
    budget.take("dimensions", tensor.ShapeSignatureLength(), most=_MAX_RANK)
    budget.take_tables("variant tensors", tensor.VariantTensorsLength())
    if tensor.Sparsity() is not None:
        raise ModelError("sparse tensors are not supported", tensor=text(tensor.Name()))
    quantization = tensor.Quantization()
    if quantization is not None:
        if quantization.DetailsType():
            raise ModelError("custom or blockwise quantization is not supported", tensor=text(tensor.Name()))
        for count in (quantization.ScaleLength(), quantization.ZeroPointLength()):
            budget.take("scales", count)


def _check_counts(model, size):
    """Walk the tables that hold tables, without copying anything."""
    budget = _Budget(size)
    if model.SubgraphsLength() != 1:
        raise ModelError(f"exactly one subgraph is supported, not {model.SubgraphsLength()}")
    budget.take_tables("operator codes", model.OperatorCodesLength())
    for i in budget.take_tables("buffers", model.BuffersLength()):
        buffer = model.Buffers(i)
        if buffer.Offset() > 1:
            raise ModelError(f"buffer {i} lies outside of the flatbuffer, which is not supported")
        budget.take_bytes("bytes", buffer.DataLength())
    graph = model.Subgraphs(0)
    for count in (graph.InputsLength(), graph.OutputsLength()):
        budget.take("tensor indices", count)
    for i in budget.take_tables("tensors", graph.TensorsLength()):
        _check_tensor(budget, graph.Tensors(i))
    for i in budget.take_tables("operators", graph.OperatorsLength()):
        operator = graph.Operators(i)
        for count in (operator.InputsLength(), operator.OutputsLength(), operator.IntermediatesLength()):
            budget.take("tensor indices", count, most=1024)
        if operator.BuiltinOptions2Type():
            raise ModelError(f"operator {i} has StableHLO options, which are not supported")


def text(raw):
    """A name of the flatbuffer as ``str``."""
    return raw.decode("utf-8", "replace") if raw else "?"


def parse(data):
    """The ``ModelT`` object tree of ``data`` (bytes), reduced to its graph. Raises `ModelError`."""
    data = bytes(data)
    if len(data) > _MAX_FILE:
        raise ModelError(f"a file of {len(data)} bytes is refused; the limit is {_MAX_FILE}")
    if len(data) < 16 or data[4:8] != b"TFL3":
        raise ModelError("not a TFLite model: the TFL3 identifier is missing")
    try:
        root = schema.Model.GetRootAs(data, 0)
        _check_counts(root, len(data))
        for drop in ("metadata", "metadataBuffer", "signatureDefs"):
            if getattr(root, f"{drop[0].upper()}{drop[1:]}Length")() * 4 > len(data):
                raise ModelError(f"damaged file: the length of {drop} exceeds the file")
        model = _unpack(root)
    except ModelError:
        raise
    except _PARSER_ERRORS as error:
        raise ModelError(f"damaged TFLite file: {error}") from error
    if not model.operatorCodes or not model.buffers or not model.subgraphs[0].tensors:
        raise ModelError("damaged TFLite file: no operator codes, buffers or tensors")
    return model


def _unpack(root):
    """The object tree without metadata and signatures, which no operator needs."""
    model = schema.ModelT()
    model.version = root.Version()
    model.description = b"plusb"
    model.operatorCodes = [
        schema.OperatorCodeT.InitFromObj(root.OperatorCodes(i)) for i in range(root.OperatorCodesLength())
    ]
    model.subgraphs = [schema.SubGraphT.InitFromObj(root.Subgraphs(0))]
    model.buffers = [schema.BufferT.InitFromObj(root.Buffers(i)) for i in range(root.BuffersLength())]
    for tensor in model.subgraphs[0].tensors or []:
        tensor.name = text(tensor.name).encode()  # The runtimes' Python interfaces die of names that are not UTF-8.
    return model


def pack(model):
    """Bytes of a ``ModelT``: a well-formed flatbuffer, whatever file the tree came from."""
    import flatbuffers

    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
