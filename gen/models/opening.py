"""Open a model file of either format on the runtime it is to be compared with."""

from pathlib import Path

from .errors import ModelError

__all__ = ["RUNTIMES", "open_model"]

RUNTIMES = ("litert-ref", "litert", "litert-xnnpack", "tflm", "ort")
"""Every runtime; the first four execute .tflite files, the last one .onnx files."""


def open_model(source, runtime=None, grouping=None):
    """A `Session` for a file.

    Parameters
    ----------
    source : path or bytes
        A .tflite or .onnx file. Bytes are told apart by TFLite's identifier, paths by their suffix.
    runtime : str, optional
        One of `RUNTIMES`; ``litert-xnnpack``, which is LiteRT's default, or ``ort`` if left out.
    grouping : callable, optional
        ``grouping(spec)`` gives the `Grouping` of a layer; see `choose_grouping`.

    Returns
    -------
    Session

    Raises
    ------
    ModelError
        If the file cannot be read, is damaged, or holds a model that cannot be used; or if the packages that read it
        are not installed.
    """
    if isinstance(source, bytes | bytearray):
        data, lite = bytes(source), bytes(source[4:8]) == b"TFL3"
    else:
        path = Path(source)
        if path.suffix not in (".tflite", ".onnx"):
            raise ModelError(f"a model must be a .tflite or .onnx file, not {path.name!r}")
        lite = path.suffix == ".tflite"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ModelError(f"{path}: {error.strerror}") from error
    try:
        if lite:
            from .tflite_open import open_tflite

            return open_tflite(data, runtime or "litert-xnnpack", grouping)
        from .onnx_open import open_onnx

        return open_onnx(data, runtime or "ort", grouping)
    except ModuleNotFoundError as error:
        raise ModelError(f"package {error.name} is missing; install plusb[models]") from error
