"""Examine a model file: every pass, where it would fold and why, or what blocks it."""

from pathlib import Path

from ..models import ModelError
from .finding import Finding

__all__ = ["examine"]

_QUANTIZED = {"QLinearMatMul", "QLinearConv", "QGemm", "MatMulInteger", "ConvInteger", "QuantizeLinear"}


def examine(source):
    """Examine a .tflite or .onnx file; nothing of it is executed.

    Parameters
    ----------
    source : path

    Returns
    -------
    list of Finding

    Raises
    ------
    ModelError
        If the file cannot be read, is damaged, or holds a model that cannot be used; or if the packages that read it
        are not installed.
    """
    path = Path(source)
    if path.suffix not in (".tflite", ".onnx"):
        raise ModelError(f"a model must be a .tflite or .onnx file, not {path.name!r}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}") from error
    try:
        return _tflite(data) if path.suffix == ".tflite" else _onnx(data)
    except ModuleNotFoundError as error:
        raise ModelError(f"package {error.name} is missing; install plusb[models]") from error


def _check_order(nodes):
    """Raise unless every node reads what earlier ones made, so that no path through the graph is endless."""
    for node in nodes.nodes:
        for name in node.inputs:
            maker = nodes.producer.get(name)
            if maker is not None and maker.index >= node.index:
                raise node.error("read before any operator wrote it", name)


def _tflite(data):
    from ..models.tflite_front import tflite_graph
    from ..models.tflite_parse import parse
    from .find_quantized import find_quantized

    return find_quantized(tflite_graph(parse(data)).layers, "tflm")


def _onnx(data) -> list[Finding]:
    from ..models.onnx_front import onnx_graph
    from ..models.onnx_nodes import Nodes
    from ..models.onnx_parse import parse_onnx
    from .find_attention import find_attention
    from .find_batch_norm import find_batch_norm
    from .find_float_bias import find_float_bias
    from .find_layer_norm import find_layer_norm
    from .find_parallel import find_parallel
    from .find_quantized import find_quantized
    from .onnx_layers import float_layers

    try:
        model = parse_onnx(data)
        nodes = Nodes(model)
        _check_order(nodes)
        quantized = any(node.op in _QUANTIZED for node in nodes.nodes)
        found = find_quantized(onnx_graph(model)[0].layers, "ort") if quantized else []
    except UnicodeDecodeError as error:
        raise ModelError(f"damaged ONNX file: a name is not UTF-8 ({error})") from error
    try:
        layers = float_layers(nodes)
        if not layers and not quantized:
            raise ModelError("the model has no layer with constant weights that a pass could change")
        for find in (find_batch_norm, find_layer_norm, find_attention, find_parallel, find_float_bias):
            found += find(nodes, layers)
    except ModelError:
        raise
    except (ValueError, TypeError) as error:
        raise ModelError(f"a layer's constants cannot be used: {error}") from error
    return found
