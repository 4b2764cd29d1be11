"""A trained network to int8 layers as TensorFlow Lite's converter makes them, batch norm folded."""

from dataclasses import dataclass

import numpy as np

from ..models import Im2col, LayerSpec
from ..models.clamp import CLAMPS
from ..passes import BatchNorm, Linear, fold_batch_norm
from .float_network import EPS

__all__ = ["FoldedLayer", "float_scores", "fold", "quantize", "with_dead_channels"]

_BIAS_LIMIT = 1 << 30
"""The converter raises the weight scale of a channel until its bias is at most this (``AdjustWeightsForBiasScale``)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldedLayer:
    """A layer ready to be quantized.

    Parameters
    ----------
    linear : Linear
        Weights of shape (outputs, kernel height, kernel width, inputs).
    geometry : Im2col or None
    relu : bool
    """

    linear: Linear
    geometry: Im2col | None
    relu: bool

    def __call__(self, x):
        """The layer's output in floating point."""
        rows = self.geometry.matrix(x, 0) if self.geometry else x.reshape(len(x), -1)
        y = rows @ self.linear.w.reshape(self.linear.outputs, -1).T + self.linear.b
        y = np.maximum(y, 0) if self.relu else y
        return self.geometry.image(y, len(x)) if self.geometry else y


def fold(layers):
    """The trained layers with their batch norms folded, by the pass of `plusb.gen.passes`."""
    folded = []
    for layer in layers:
        padding = layer.geometry is not None
        if layer.gamma is None:
            linear = Linear(w=layer.w, b=layer.b)
        else:
            norm = BatchNorm(gamma=layer.gamma, beta=layer.b, mean=layer.cache["mean"], var=layer.cache["var"], eps=EPS)
            linear = fold_batch_norm(Linear(w=layer.w, zero_padding=padding), norm)
        folded.append(FoldedLayer(linear=linear, geometry=layer.geometry, relu=layer.relu))
    return folded


def with_dead_channels(layers):
    """The same function with one more channel in each convolution, which weight decay has left almost without weights.

    Its weights are about 1e-9 and its bias -0.1, so that ReLU makes it 0, and nothing behind it reads it: the float
    network and the int32 one compute what they did. Real models have many of these: in vww_96_int8 of MLPerf Tiny
    975 biases need more than 24 bits.
    """
    changed, dead = [], 0
    for layer in layers:
        w, b = layer.linear.w, layer.linear.b
        if dead:
            # Behind a convolution a dense layer sees its channels at every pixel.
            pixels = 1 if layer.geometry else w.shape[-1] // dead
            channels = w.shape[-1] // pixels
            w = w.reshape(*w.shape[:-1], pixels, channels)
            w = np.concatenate([w, np.zeros((*w.shape[:-1], 1))], axis=-1).reshape(*w.shape[:3], -1)
        dead = 0
        if layer.geometry:
            dead = layer.linear.outputs
            w, b = np.concatenate([w, np.full((1, *w.shape[1:]), 1e-9)]), np.append(b, -0.1)
        changed.append(FoldedLayer(linear=Linear(w=w, b=b), geometry=layer.geometry, relu=layer.relu))
    return changed


def float_scores(layers, x):
    """Every activation in order, the input first and the scores last."""
    activations = [x]
    for layer in layers:
        activations.append(layer(activations[-1]))
    return activations


def _range(values):
    """Scale and zero point that spread -128..127 over ``values`` and 0."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    scale = np.float32((high - low) / 255)
    return scale, round(-128 - low / float(scale))


def quantize(layers, calibration, images):
    """Quantize, weights per channel in convolutions and per tensor in dense layers, activations by their range.

    Parameters
    ----------
    layers : list of FoldedLayer
    calibration : float array, shape (images, height, width, 1)
        Training images, 0 to 1.
    images : int
        Batch of the layers.

    Returns
    -------
    tuple of LayerSpec
    """
    activations = float_scores(layers, calibration)
    ranges = [(np.float32(1 / 255), -128), *map(_range, activations[1:])]
    specs = []
    for i, layer in enumerate(layers):
        (s_in, z_in), (s_out, z_out) = ranges[i : i + 2]
        w, b = layer.linear.w, layer.linear.b
        largest = np.abs(w).max(axis=(1, 2, 3)) if layer.geometry else np.abs(w).max(keepdims=True).reshape(1)
        s_w = np.maximum(largest / 127, np.abs(b) / (float(s_in) * _BIAS_LIMIT) if layer.geometry else 0)
        s_w = s_w.astype(np.float32)
        exact = s_w.astype(np.float64)
        q = np.rint(w / exact.reshape(-1, 1, 1, 1)).astype(np.int8)
        taps = (*activations[i].shape[1:],) if layer.geometry else (w.shape[-1],)
        specs.append(
            LayerSpec(
                name=f"{i}",
                op="CONV_2D" if layer.geometry else "FULLY_CONNECTED",
                index=i,
                input=i,
                output=i + 1,
                in_shape=(images, *taps),
                out_shape=(images, *activations[i + 1].shape[1:]),
                x_dtype=np.dtype(np.int8),
                y_dtype=np.dtype(np.int8),
                w=q,
                w_zero=np.zeros(len(w), np.int64),
                bias=np.rint(b / (float(s_in) * exact)).astype(np.int64),
                s_in=s_in,
                s_w=s_w,
                s_out=s_out,
                z_in=z_in,
                z_out=z_out,
                clamp=CLAMPS["relu" if layer.relu else "none"],
                geometry=layer.geometry,
            )
        )
    return tuple(specs)
