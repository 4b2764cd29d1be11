"""Images as inputs of a model."""

import numpy as np

from .errors import ModelError, one_line

__all__ = ["IMAGES", "load_image"]

#: Suffixes of the files.
IMAGES = (".bmp", ".png", ".jpg", ".jpeg", ".pgm", ".ppm")

#: What real values pixels of 0 to 255 stand for, by what is usual.
_RANGES = {"0 to 1": (0.0, 1.0), "-1 to 1": (-1.0, 1.0), "0 to 255": (0.0, 255.0)}


def load_image(path, tensor, raw):
    """An image as an array of the input's shape.

    Gray images are repeated for three channels and colors averaged for one; other sizes are scaled. A pixel stands for
    a real value from 0 to 1, -1 to 1 or 0 to 255: whichever range is nearest to the one that the input can hold.

    Parameters
    ----------
    path : Path
    tensor : Tensor
        The model's input.
    raw : bool
        The pixels' bytes are the values themselves (for int8: 200 is -56), so the size must fit.

    Returns
    -------
    array : float32 array, or of the input's type where ``raw``
    how : str
        What was done.

    Raises
    ------
    ModelError
        If the model's input is no image, or the file is none.
    """
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise ModelError(f"package {error.name} is missing; install plusb[models]") from error
    shape = tuple(tensor.shape)
    channels_last = len(shape) == 4 and shape[3] in (1, 3)
    if shape[:1] != (1,) or len(shape) != 4 or not (channels_last or shape[1] in (1, 3)):
        raise ModelError(f"{path}: an image cannot be the model's input of shape {list(shape)}", tensor=tensor.name)
    height, width, channels = shape[1:] if channels_last else (*shape[2:], shape[1])
    try:
        with Image.open(path) as opened:
            image = opened.convert("RGB" if channels == 3 else "L")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ModelError(f"{path}: cannot be read: {one_line(error)}") from error
    how, size = "", f"{image.size[0]} x {image.size[1]}"
    if image.size != (width, height):
        if raw:
            raise ModelError(f"{path}: must be {width} x {height} pixels to be taken raw, not {size}")
        how = f", scaled from {size} to {width} x {height}"
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(image, np.uint8).reshape(1, height, width, channels)
    if not channels_last:
        pixels = np.ascontiguousarray(np.moveaxis(pixels, 3, 1))
    if raw:
        if tensor.dtype.itemsize != 1:
            raise ModelError(f"{path}: pixels are bytes and cannot be taken raw as {tensor.dtype}", tensor=tensor.name)
        return pixels.view(tensor.dtype), f"pixels taken as {tensor.dtype}"
    name, (low, high) = _nearest_range(tensor)
    return (low + pixels.astype(np.float32) * ((high - low) / 255)).astype(np.float32), f"pixels stand for {name}{how}"


def _nearest_range(tensor):
    """Name and ends of the range of real values nearest to the input's."""
    if tensor.dtype.kind == "f":
        return "0 to 1", _RANGES["0 to 1"]
    if tensor.quantization is None:
        return "0 to 255", _RANGES["0 to 255"]
    info = np.iinfo(tensor.dtype)
    scale, zero = float(tensor.quantization.scale[0]), int(tensor.quantization.zero_point[0])
    low, high = scale * (info.min - zero), scale * (info.max - zero)
    return min(_RANGES.items(), key=lambda item: (abs(item[1][0] - low) + abs(item[1][1] - high)) / item[1][1])
