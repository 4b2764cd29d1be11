"""The committed digits network: three int8 layers, their float originals, and the held-out images to judge both."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...rtl.numeric import Family
from ...sim.golden import fold_zero_point
from ..gemm import Gemm

__all__ = ["INPUT_SCALE", "INPUT_ZERO_POINT", "LAYER_NAMES", "PIXEL_MAX", "DigitsNetwork", "float_activations", "load"]

LAYER_NAMES = ("fc1", "fc2", "fc3")

# A pixel counts the ink in a 4x4 block, 0 to 16. Fifteen codes a grey level is the largest whole step that fits eight
# bits (16*15 = 240), so quantizing the input loses nothing and needs no floating point on the host.
PIXEL_MAX = 16
CODES_PER_LEVEL = 15
INPUT_SCALE = np.float32(1 / (PIXEL_MAX * CODES_PER_LEVEL))
INPUT_ZERO_POINT = -128


@dataclass(frozen=True, kw_only=True)
class DigitsNetwork:
    """A 64-128-64-10 perceptron for 8x8 digits, quantized and in float. Taking the argmax is the host's business.

    Parameters
    ----------
    layers : tuple of Gemm
        The int8 layers in order; all but the last end in ReLU. The output of one is the input of the next.
    float_layers : tuple of (float32 array (K, N), float32 array (N,))
        Weights and bias of each layer before quantization.
    images : uint8 array, shape (M, 64)
        Held-out images, row by row, 0 (paper) to 16 (ink).
    labels : uint8 array, shape (M,)
        The digit in each image.
    """

    layers: tuple[Gemm, ...]
    float_layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    images: np.ndarray
    labels: np.ndarray

    def quantize_input(self, images):
        """The int8 array, shape (M, 64), the first layer reads for ``images``. Raises ``TypeError``, ``ValueError``."""
        images = _checked(images)
        return (images.astype(np.int16) * CODES_PER_LEVEL + INPUT_ZERO_POINT).astype(np.int8)

    def float_logits(self, images):
        """The float network's ten scores for each image, shape (M, 10). Raises ``TypeError``, ``ValueError``."""
        return float_activations(self.float_layers, _checked(images) / PIXEL_MAX)[-1]

    def accuracy(self, scores):
        """Share of the held-out images whose label has the highest of ``scores``, shape (M, 10), float or int8."""
        return float(np.mean(np.argmax(scores, axis=1) == self.labels))

    def float_accuracy(self):
        """Accuracy of the float network on the held-out images."""
        return self.accuracy(self.float_logits(self.images))


def float_activations(layers, x):
    """What every layer reads, in order, and last the scores.

    Parameters
    ----------
    layers : sequence of (array (K, N), array (N,))
        Weights and bias of each layer.
    x : float64 array, shape (M, K)
        Input, 0 to 1. In float64 the scores hardly depend on the order in which a BLAS sums.
    """
    *hidden, last = layers
    activations = [x]
    for w, b in hidden:
        activations.append(np.maximum(activations[-1] @ w + b, 0))
    w, b = last
    return [*activations, activations[-1] @ w + b]


def load(folder=Path(__file__).parent):
    """Read a network written by :mod:`plusb.gen.digits.train`, by default the committed one.

    Parameters
    ----------
    folder : path
        Holds ``model.npz`` and ``test.npz``.

    Returns
    -------
    DigitsNetwork
    """
    with np.load(Path(folder) / "model.npz", allow_pickle=False) as archive:
        model = dict(archive)
    with np.load(Path(folder) / "test.npz", allow_pickle=False) as archive:
        images, labels = archive["images"], archive["labels"]
    # Entry i describes what layer i reads, entry i+1 what it writes.
    zero_points = model["zero_points"].tolist()
    return DigitsNetwork(
        layers=tuple(
            _layer(model, name, zp_in, zp_out, relu=name != LAYER_NAMES[-1])
            for name, zp_in, zp_out in zip(LAYER_NAMES, zero_points[:-1], zero_points[1:], strict=True)
        ),
        float_layers=tuple((model[f"{name}_float_w"], model[f"{name}_float_b"]) for name in LAYER_NAMES),
        images=images,
        labels=labels,
    )


def _layer(model, name, zp_in, zp_out, *, relu):
    w = model[f"{name}_w"]
    return Gemm(
        name=name,
        op="FULLY_CONNECTED",
        w=w,
        bias=fold_zero_point(model[f"{name}_bias"], w, zp_in),  # The hardware never sees zp_in.
        family=Family.gemmlowp,
        multiplier=model[f"{name}_multiplier"].astype(np.int64),
        shift=model[f"{name}_shift"].astype(np.int64),
        zp_out=zp_out,
        # ReLU costs nothing: real zero is zp_out, so it is the lower clamp bound.
        lo=zp_out if relu else -128,
    )


def _checked(images):
    images = np.asarray(images)
    if images.ndim != 2 or images.shape[1] != 64:
        raise ValueError(f"images must have the shape (M, 64), not {images.shape!r}")
    if images.dtype.kind not in "iu":
        raise TypeError(f"images must be integers, not {images.dtype.name}")
    outside = images[(images < 0) | (images > PIXEL_MAX)]
    if outside.size:
        raise ValueError(f"images must be in 0..{PIXEL_MAX}, not {outside[0]}")
    return images
