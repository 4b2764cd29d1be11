"""A .tflite or .onnx model with a data set, as a subject of the study."""

import zipfile
from pathlib import Path

import numpy as np

from ..models import Grouping, ModelError, golden_gemm, lower_layer, open_model

__all__ = ["ModelNetwork", "load_npz", "open_network"]


def load_npz(path):
    """Arrays ``x`` and, where there is one, ``y`` of a .npz file; raises `ModelError`."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile) or "x" not in archive:
                raise ModelError(f"{path}: a data set must be a .npz file with an array x (and y, the labels)")
            x, y = archive["x"], archive["y"] if "y" in archive else None
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}") from error
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{path}: not a .npz file: {error}") from error
    if x.ndim < 2 or not len(x):
        raise ModelError(f"{path}: x must have the shape (samples, ...), not {list(x.shape)}")
    if y is not None and (y.dtype.kind not in "iu" or y.shape != (len(x),)):
        raise ModelError(f"{path}: y must hold {len(x)} integers, not {y.dtype} of shape {list(y.shape)}")
    return x, y


class ModelNetwork:
    """A model whose layers the golden model computes, and whose other operators its runtime.

    Parameters
    ----------
    session : Session
    inputs : list of array
        One for each run of the model; a run may hold several samples.
    samples : int
        How many samples there are; the last run may be filled up.
    labels : int array or None
    """

    def __init__(self, session, inputs, samples, labels):
        self._session, self._inputs, self._samples, self.labels = session, inputs, samples, labels
        self.layers = session.graph.layers

    def scores(self, change):
        """The first output of the model, shape (samples, outputs), with every layer replaced by ``change(spec)``."""
        lowered = (lower_layer(change(spec), self._session.runtime, Grouping()) for spec in self.layers)
        gemms = {group.gemm.name: group.gemm for layer in lowered for group in layer.groups}
        # A zero point that the model computes while it runs is folded into the product at hand, not into these.
        live = {layer.name for layer in self.layers if layer.z_key is not None}

        def compute(x, gemm):
            return golden_gemm(x, gemm if gemm.name.split("[")[0] in live else gemms[gemm.name])

        answers = []
        for x in self._inputs:
            answer = self._session.run([x], compute)[self._session.graph.outputs[0]]
            answers.append(np.asarray(answer).reshape(len(x), -1))
        return np.concatenate(answers)[: self._samples]


def open_network(model, data, runtime=None):
    """A `ModelNetwork` of files.

    Parameters
    ----------
    model : path
        .tflite or .onnx, with one input whose first dimension is the batch.
    data : path
        .npz with ``x`` (samples, ...) in the input's type, or in floats, which are then quantized; and labels ``y``.
    runtime : str, optional
        See `open_model`.

    Raises
    ------
    ModelError
    """
    session = open_model(model, runtime, lambda spec: Grouping())
    if len(session.graph.inputs) != 1:
        raise ModelError(
            f"{Path(model).name}: a model with one input is needed, and this has {len(session.graph.inputs)}"
        )
    tensor = session.graph.tensors[session.graph.inputs[0]]
    x, y = load_npz(data)
    if x[0].size != np.prod(tensor.shape[1:], dtype=np.int64):
        raise ModelError(f"{data}: samples of shape {list(x.shape[1:])} do not fit the input {list(tensor.shape)}")
    x = _typed(x, tensor, data)
    batch, samples = tensor.shape[0], len(x)
    x = np.concatenate([x, np.repeat(x[-1:], -samples % batch, axis=0)]).reshape(-1, *tensor.shape)
    return ModelNetwork(session, list(x), samples, y)


def _typed(x, tensor, data):
    """Samples in the type of the input; floats are quantized as the input states."""
    if x.dtype == tensor.dtype:
        return x
    if tensor.dtype.kind == "f" and x.dtype.kind == "f":
        return x.astype(tensor.dtype)
    if x.dtype.kind == "f" and tensor.quantization is not None and np.isfinite(x).all():
        info, q = np.iinfo(tensor.dtype), tensor.quantization
        steps = np.rint(x / np.float64(q.scale[0])) + int(q.zero_point[0])
        return np.clip(steps, info.min, info.max).astype(tensor.dtype)
    raise ModelError(f"{data}: x must be {tensor.dtype}, or finite floats for a quantized input, not {x.dtype}")
