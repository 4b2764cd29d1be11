"""Open a .tflite file on one of the four runtimes that execute it."""

from .errors import ModelError
from .litert_runtime import LiteRt
from .session import Session
from .tflite_front import tflite_graph
from .tflite_parse import parse

__all__ = ["TFLITE_RUNTIMES", "open_tflite"]

TFLITE_RUNTIMES = ("litert-ref", "litert", "litert-xnnpack", "tflm")


def open_tflite(data, runtime="litert-ref", grouping=None):
    """A `Session` for the bytes of a .tflite file.

    Parameters
    ----------
    data : bytes
    runtime : str
        One of `TFLITE_RUNTIMES`.
    grouping : callable, optional
        See `Session`.

    Raises
    ------
    ModelError
        If the file is damaged or the model cannot be used.
    """
    if runtime not in TFLITE_RUNTIMES:
        raise ModelError(f"the runtime of a .tflite file must be one of {', '.join(TFLITE_RUNTIMES)}, not {runtime!r}")
    model = parse(data)
    graph = tflite_graph(model)
    if runtime == "tflm":
        from .tflm_runtime import Tflm

        return Session(graph, runtime, Tflm(model, graph.tensors), grouping)
    return Session(graph, runtime, LiteRt(model, runtime), grouping)
