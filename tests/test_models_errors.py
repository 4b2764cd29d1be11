"""Unsupported and damaged .tflite files, and files that are no models: one error that names operator and tensor."""

import struct

import numpy as np
import pytest
from plusb.gen.models import ModelError, open_model

from .models_tflite import convolution, fully_connected, schema

FC = fully_connected(np.random.default_rng(0), 2, 6, 4)
CONV = convolution(np.random.default_rng(0), (6, 6), 4, 4, (3, 3))
DEPTHWISE = convolution(np.random.default_rng(0), (6, 6), 4, 4, (3, 3), depthwise=True)


def edited(data, change):
    from plusb.gen.models.tflite_parse import pack, parse

    model = parse(data)
    change(model, model.subgraphs[0], model.subgraphs[0].operators[0])
    return pack(model)


def tensor(index, **fields):
    """An edit that sets fields of a tensor."""

    def change(model, graph, operator):
        for name, value in fields.items():
            setattr(graph.tensors[index], name, value)

    return change


def quantization(index, **fields):
    """An edit that sets fields of a tensor's quantization."""

    def change(model, graph, operator):
        for name, value in fields.items():
            setattr(graph.tensors[index].quantization, name, value)

    return change


def option(**fields):
    """An edit that sets the operator's options."""

    def change(model, graph, operator):
        for name, value in fields.items():
            setattr(operator.builtinOptions, name, value)

    return change


def wired(inputs, outputs=(3,)):
    """An edit that gives the operator other tensors."""

    def change(model, graph, operator):
        operator.inputs, operator.outputs = np.array(inputs, np.int32), np.array(outputs, np.int32)

    return change


def _second_subgraph(model, graph, operator):
    model.subgraphs.append(graph)


def _no_buffer(model, graph, operator):
    model.buffers[1].data = model.buffers[1].data[:-1]


def _other_options(model, graph, operator):
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.AddOptions, schema.AddOptionsT()


CASES = [
    (FC, tensor(2, type=schema.TensorType.INT64), r"tensor t2: the buffer holds 16 bytes but shape \[4\] needs 32"),
    (
        fully_connected(np.random.default_rng(0), 2, 6, 4, bias_dtype=np.int64),
        None,
        "operator 0:FULLY_CONNECTED, tensor t2: the bias must be int32, not int64",
    ),
    (
        FC,
        tensor(0, type=schema.TensorType.INT16),
        "operator 0:FULLY_CONNECTED, tensor t0: activations must be int8, not int16",
    ),
    (
        FC,
        tensor(1, type=schema.TensorType.UINT8),
        "operator 0:FULLY_CONNECTED, tensor t1: weights must be int8, not uint8",
    ),
    (FC, tensor(1, buffer=0), "operator 0:FULLY_CONNECTED, tensor t1: weights must be constant"),
    (FC, tensor(2, buffer=0), "operator 0:FULLY_CONNECTED, tensor t2: the bias must be constant"),
    (FC, tensor(0, buffer=99), "tensor t0: buffer 99 does not exist; there are 3"),
    (FC, tensor(0, isVariable=True), "tensor t0: variable tensors"),
    (
        FC,
        tensor(0, shape=np.array([2, -1], np.int32)),
        r"tensor t0: shape must be static but for the batch, not \[2, -1\]",
    ),
    (FC, tensor(0, shapeSignature=np.array([-1, -1], np.int32)), "tensor t0: shape must be static but for the batch"),
    (FC, tensor(0, shape=np.array([0, 6], np.int32)), r"tensor t0: shape must be static and not empty, not \[0, 6\]"),
    (
        FC,
        tensor(0, shape=np.array([1 << 20, 1 << 20], np.int32)),
        "tensor t0: tensors of more than 268435456 bytes are refused",
    ),
    (FC, tensor(0, quantization=None), "tensor t0: activations must have exactly one scale"),
    (FC, tensor(1, quantization=None), "tensor t1: weights must be quantized"),
    (FC, quantization(0, scale=np.zeros(1, np.float32)), "tensor t0: scales must be positive and finite"),
    (FC, quantization(0, zeroPoint=np.array([200])), "tensor t0: the zero point must be an int8, not 200"),
    (FC, quantization(1, zeroPoint=np.array([1])), "tensor t1: int8 weights must have the zero point 0"),
    (
        FC,
        quantization(1, scale=np.ones(6, np.float32), quantizedDimension=1),
        "tensor t1: per-channel scales must run along dimension 0, not 1",
    ),
    (
        FC,
        quantization(1, scale=np.ones(3, np.float32)),
        r"tensor t1: 3 scales on dimension 0 do not fit shape \[4, 6\]",
    ),
    (FC, quantization(0, scale=np.ones(2, np.float32)), "tensor t0: activations must have exactly one scale"),
    (
        FC,
        quantization(1, scale=np.ones(4, np.float32), zeroPoint=np.zeros(3, np.int64)),
        "3 zero points do not fit 4 scales",
    ),
    (FC, option(fusedActivationFunction=4), "operator 0:FULLY_CONNECTED: fused activation 4 is not supported"),
    (FC, option(weightsFormat=1), "operator 0:FULLY_CONNECTED, tensor t1: shuffled weights are not supported"),
    (FC, _other_options, "operator 0:FULLY_CONNECTED: its options are missing or those of another operator"),
    (FC, wired([7, 1, 2]), "operator 0:FULLY_CONNECTED: input tensor 7 does not exist"),
    (FC, wired([-1, 1, 2]), "operator 0:FULLY_CONNECTED: its input is missing"),
    (
        FC,
        wired([0, 1, 2], [0]),
        r"operator 0:FULLY_CONNECTED, tensor t0: shapes \[2, 6\] x \[4, 6\] -> \[2, 6\] do not fit",
    ),
    (FC, wired([0, 1, 2], []), "operator 0:FULLY_CONNECTED: it has no output"),
    (FC, lambda m, g, o: setattr(o, "opcodeIndex", 5), "operator #0: operator code 5 does not exist"),
    (FC, lambda m, g, o: setattr(g, "outputs", np.array([9], np.int32)), "output tensor 9 of the model does not exist"),
    (
        FC,
        lambda m, g, o: setattr(g, "inputs", np.array([], np.int32)),
        "operator 0:FULLY_CONNECTED, tensor t0: read before any",
    ),
    (FC, lambda m, g, o: setattr(m.operatorCodes[0], "builtinCode", 25), "the model has no quantized matrix product"),
    (FC, _second_subgraph, "exactly one subgraph is supported, not 2"),
    (FC, _no_buffer, r"tensor t1: the buffer holds 23 bytes but shape \[4, 6\] needs 24"),
    (CONV, option(padding=2), "operator 0:CONV_2D: padding must be in 0..1, not 2"),
    (CONV, option(strideH=0), "operator 0:CONV_2D: strideH must be in 1..65536, not 0"),
    (CONV, option(strideW=2), r"operator 0:CONV_2D, tensor t3: shape \[1, 6, 6, 4\] should be \[1, 6, 3, 4\]"),
    (
        CONV,
        tensor(1, shape=np.array([4, 4, 3, 3], np.int32)),
        r"tensor t1: weights \[4, 4, 3, 3\] do not fit 4 channels",
    ),
    (CONV, tensor(0, shape=np.array([6, 24], np.int32)), r"tensor t0: images must have four dimensions, not \[6, 24\]"),
    (
        DEPTHWISE,
        tensor(1, shape=np.array([3, 3, 1, 4], np.int32)),
        r"tensor t1: weights \[3, 3, 1, 4\] do not fit 4 channels",
    ),
    (
        DEPTHWISE,
        quantization(1, quantizedDimension=0),
        r"tensor t1: 4 scales on dimension 0 do not fit shape \[1, 3, 3, 4\]",
    ),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_unsupported_models(case):
    data, change, text = CASES[case]
    with pytest.raises(ModelError, match=text):
        open_model(edited(data, change) if change else data, "litert-ref")


@pytest.mark.parametrize("size", [0, 4, 8, 15, 16, 40, 100, 200, 300, len(FC) - 1])
def test_truncated_files(size):
    with pytest.raises(ModelError):
        open_model(FC[:size], "litert-ref")


def test_vectors_that_share_their_bytes_do_not_multiply_memory():
    """A file of 400 kB in which 40,000 tensors are one, whose name of 40 kB would become 1.6 GB."""
    count = 40_000
    data = bytearray(FC) + bytes(-len(FC) % 4)
    graph = schema.Model.GetRootAs(FC, 0).Subgraphs(0)
    field = graph._tab.Pos + graph._tab.Offset(4)
    vector = len(data)
    layout = vector + 4 + 4 * count
    table, name = layout + 12, layout + 20
    data += struct.pack("<I", count)
    for i in range(count):
        data += struct.pack("<I", table - (vector + 4 + 4 * i))
    data += struct.pack("<HHHHHH", 12, 8, 0, 0, 0, 4)  # Of the fields, only the fourth, the name, is there.
    data += struct.pack("<iI", table - layout, name - (table + 4))
    data += struct.pack("<I", count) + b"n" * count + bytes(4)
    struct.pack_into("<I", data, field, vector - field)
    with pytest.raises(ModelError, match=r"damaged file: .* characters cannot be"):
        open_model(bytes(data), "litert-ref")


def test_what_is_no_model(tmp_path):
    for name, content, text in (
        ("a.txt", b"", r"a model must be a .tflite or .onnx file, not 'a.txt'"),
        ("a.tflite", b"TFL3" * 10, "damaged TFLite file|not a TFLite model"),
        ("b.tflite", b"\0" * 40, "not a TFLite model: the TFL3 identifier is missing"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelError, match=text):
            open_model(tmp_path / name)
    with pytest.raises(ModelError, match="No such file or directory"):
        open_model(tmp_path / "absent.tflite")


def test_runtimes_that_do_not_fit_the_file():
    with pytest.raises(ModelError, match=r"the runtime of a .tflite file must be one of litert-ref, .*, not 'ort'"):
        open_model(FC, "ort")
    with pytest.raises(ModelError, match=r"the runtime of a .onnx file must be ort, not 'tflm'"):
        open_model(b"\x08\x08", "tflm")
