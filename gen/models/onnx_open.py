"""Open a .onnx file on ONNX Runtime."""

from .errors import ModelError
from .onnx_front import onnx_graph
from .onnx_parse import parse_onnx
from .ort_runtime import OnnxRuntime
from .session import Session

__all__ = ["open_onnx"]


def open_onnx(data, runtime="ort", grouping=None):
    """A `Session` for the bytes of a .onnx file.

    Parameters
    ----------
    data : bytes
    runtime : str
        ``ort``, the only one.
    grouping : callable, optional
        See `Session`.

    Raises
    ------
    ModelError
        If the file is damaged or the model cannot be used.
    """
    if runtime != "ort":
        raise ModelError(f"the runtime of a .onnx file must be ort, not {runtime!r}")
    try:
        model = parse_onnx(data)
        graph, members = onnx_graph(model)
    except UnicodeDecodeError as error:
        raise ModelError(f"damaged ONNX file: a name is not UTF-8 ({error})") from error
    return Session(graph, runtime, OnnxRuntime(model, graph, members), grouping)
