"""Files that people hand to a model, as arrays of its inputs' types.

One rule decides how a number is read: an array of the input's own type is taken as it is; anything else holds real
values and is quantized with the input's own scale. ``raw`` says that the file's numbers are the quantized ones.
"""

from pathlib import Path

import numpy as np

from .errors import ModelError, one_line
from .images import IMAGES, load_image

__all__ = ["load_inputs", "quantized"]

_KNOWN = ".npy, .npz, .bin, or an image (" + ", ".join(IMAGES) + ")"


def load_inputs(path, graph, *, raw=False, hop=None):
    """The inputs in a file.

    * ``.npy``: one array of the input's shape, or several of them stacked.
    * ``.npz``: an array for each of the model's inputs, by its name (or a single array).
    * ``.bin``: little-endian float32, one input after the other, or one each ``hop`` values: frames of features.
    * An image: see :func:`~plusb.gen.models.images.load_image`.

    Parameters
    ----------
    path : path
    graph : Graph
    raw : bool
        The file's numbers are quantized already; those of a ``.bin`` or an image are bytes of the input's type.
    hop : int or None
        Values from one input to the next in a ``.bin``; as many as an input has if left out.

    Returns
    -------
    inputs : list of list of array
        For each inference one array for each of the model's inputs.
    note : str
        How the file was read.

    Raises
    ------
    ModelError
        If the file cannot be read or does not fit the model.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".wav":
        raise ModelError(f"{path}: a sound must be turned into the model's features first; give those as .npy or .bin")
    if suffix not in (".npy", ".npz", ".bin", *IMAGES):
        raise ModelError(f"an input must be {_KNOWN}, not {path.name!r}")
    if hop is not None and suffix != ".bin":
        raise ModelError(f"{path}: a hop is for .bin files only")
    if suffix != ".npz" and len(graph.inputs) != 1:
        names = ", ".join(graph.tensors[key].name for key in graph.inputs)
        raise ModelError(f"{path}: the model has {len(graph.inputs)} inputs; give an .npz with {names}")
    tensor = graph.tensors[graph.inputs[0]]
    try:
        if suffix == ".npz":
            return _archive(path, graph, raw)
        if suffix == ".npy":
            arrays, how = _stacked(np.load(path, allow_pickle=False), tensor, raw, path)
        elif suffix == ".bin":
            arrays, how = _frames(path, tensor, raw, hop)
        else:
            array, how = load_image(path, tensor, raw)
            arrays = [array if raw else quantized(array, tensor)]
    except ModelError:
        raise
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or one_line(error)}") from error
    except (ValueError, EOFError) as error:
        raise ModelError(f"{path}: cannot be read: {one_line(error)}") from error
    return [[array] for array in arrays], how


def quantized(values, tensor):
    """Real values as the input's type: ``round(value / scale) + zero_point``, at most the type's ends."""
    values = np.asarray(values, np.float32)
    if tensor.dtype.kind == "f":
        return values.astype(tensor.dtype)
    if not np.isfinite(values).all():
        raise ModelError("the input must be finite, and some values are not", tensor=tensor.name)
    if tensor.quantization is None:
        scale, zero = np.float32(1), 0
    else:
        scale, zero = tensor.quantization.scale[0], int(tensor.quantization.zero_point[0])
    info = np.iinfo(tensor.dtype)
    return np.clip(np.rint(values.astype(np.float64) / np.float64(scale)) + zero, info.min, info.max).astype(
        tensor.dtype
    )


def _scale_of(tensor):
    if tensor.dtype.kind == "f":
        return "taken as they are"
    if tensor.quantization is None:
        return "rounded"
    scale, zero = tensor.quantization.scale[0], tensor.quantization.zero_point[0]
    return f"quantized with scale {scale:.6g}, zero point {zero}"


def _typed(array, tensor, raw, where):
    """``array`` as the tensor's type, and how."""
    if array.dtype == tensor.dtype:
        return array, f"{tensor.dtype} as it is"
    if array.dtype.kind not in "iuf":
        raise ModelError(f"{where}: must hold numbers, not {array.dtype}")
    if not raw and (array.dtype.kind == "f" or tensor.dtype.kind == "f"):
        return quantized(array, tensor), f"real values, {_scale_of(tensor)}"
    if not raw:
        raise ModelError(
            f"{where}: holds {array.dtype} and the model takes {tensor.dtype}; give real values as floats, or --raw"
        )
    whole = array.astype(tensor.dtype)
    if not np.array_equal(whole, array):
        raise ModelError(f"{where}: holds values that are no {tensor.dtype}")
    return whole, f"{array.dtype} that hold {tensor.dtype}"


def _stacked(array, tensor, raw, where):
    """One input, or several, of an array."""
    shape = tuple(tensor.shape)
    single = shape[0] == 1
    if array.shape == shape or (single and array.shape == shape[1:]):
        stack = array.reshape(1, *shape)
    elif array.shape[1:] == shape or (single and array.ndim == len(shape) and array.shape[1:] == shape[1:]):
        stack = array.reshape(-1, *shape)
    else:
        raise ModelError(f"{where}: must be of shape {list(shape)}, or several of them, not {list(array.shape)}")
    if not len(stack):
        raise ModelError(f"{where}: holds no input")
    values, how = _typed(stack, tensor, raw, where)
    return list(values), how


def _archive(path, graph, raw):
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or one_line(error)}") from error
    except Exception as error:  # Of a damaged archive: zipfile's and NumPy's errors share no base class.
        raise ModelError(f"{path}: cannot be read: {one_line(error)}") from error
    tensors = [graph.tensors[key] for key in graph.inputs]
    if len(tensors) == len(arrays) == 1:
        arrays = {tensors[0].name: next(iter(arrays.values()))}
    missing = [tensor.name for tensor in tensors if tensor.name not in arrays]
    if missing:
        raise ModelError(f"{path}: has no array {missing[0]!r}; it holds {', '.join(arrays) or 'none'}")
    parts = [_stacked(arrays[t.name], t, raw, f"{path}: {t.name}") for t in tensors]
    counts = {len(stack) for stack, _ in parts}
    if len(counts) > 1:
        raise ModelError(f"{path}: its arrays must hold equally many inputs, not {', '.join(map(str, sorted(counts)))}")
    return [list(arrays) for arrays in zip(*(stack for stack, _ in parts), strict=True)], parts[0][1]


def _frames(path, tensor, raw, hop):
    kind = tensor.dtype.newbyteorder("<") if raw else np.dtype("<f4")
    data = path.read_bytes()
    if len(data) % kind.itemsize:
        raise ModelError(f"{path}: must hold whole {kind} values, not {len(data)} bytes")
    values = np.frombuffer(data, kind)
    size = int(np.prod(tensor.shape))
    if values.size < size or (hop is None and values.size % size):
        raise ModelError(
            f"{path}: must hold inputs of {size} {kind} values, not {values.size} values; --hop lets them overlap"
        )
    count = (values.size - size) // (hop or size) + 1
    stack = np.stack([values[i * (hop or size) :][:size].reshape(tensor.shape) for i in range(count)])
    values, how = _typed(stack.astype(stack.dtype.newbyteorder("=")), tensor, raw, path)
    return list(values), how if hop is None else f"{how}, one each {hop} values"
