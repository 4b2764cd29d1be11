"""Small networks in floating point: convolutions with batch norm, dense layers, their gradients, and Adam."""

from dataclasses import dataclass, field

import numpy as np

from ..models import Im2col

__all__ = ["EPS", "FloatLayer", "fit", "forward", "make_layers"]

EPS = 1e-3
"""Added to the variance of every batch norm."""


_PART = 1 << 17
"""Multiplications of a product below which no BLAS starts threads. They would cost more time than they save on such
small products, most of all where other programs run, and sum in an order of their own."""


def _parts(rows, size):
    """``rows`` as a stack of parts for products of ``size`` multiplications a row, and the rest."""
    step = max(1, _PART // size)
    whole = len(rows) // step * step
    return rows[:whole].reshape(-1, step, rows.shape[1]), rows[whole:]


def _product(rows, w):
    """``rows @ w``, part by part."""
    stack, rest = _parts(rows, w.size)
    return np.concatenate([(stack @ w).reshape(-1, w.shape[1]), rest @ w])


def _summed_product(a, b):
    """``a.T @ b``, part by part."""
    size = a.shape[1] * b.shape[1]
    (stack_a, rest_a), (stack_b, rest_b) = _parts(a, size), _parts(b, size)
    return (stack_a.transpose(0, 2, 1) @ stack_b).sum(axis=0) + rest_a.T @ rest_b


@dataclass(kw_only=True, eq=False)
class FloatLayer:
    """A layer in training.

    Parameters
    ----------
    w : float32 array, shape (outputs, kernel height, kernel width, inputs)
    b : float32 array, shape (outputs,)
        The bias; of a layer with batch norm its beta.
    gamma : float32 array, shape (outputs,), or None
        Gain of the batch norm; None where there is none.
    geometry : Im2col or None
        None for a dense layer.
    relu : bool
    cache : dict
        What the last forward pass keeps for the gradients; ``mean`` and ``var`` of a batch norm among it.
    """

    w: np.ndarray
    b: np.ndarray
    gamma: np.ndarray | None
    geometry: Im2col | None
    relu: bool
    cache: dict = field(default_factory=dict)

    @property
    def parameters(self):
        """The arrays that training changes in place."""
        return [self.w, self.b] if self.gamma is None else [self.w, self.b, self.gamma]

    def forward(self, x):
        """The output for a batch, normalized by the batch's own statistics."""
        rows = self.geometry.matrix(x, 0) if self.geometry else x.reshape(len(x), -1)
        y = _product(rows, self.w.reshape(len(self.w), -1).T)
        cache = {"shape": x.shape, "rows": rows}
        if self.gamma is not None:
            cache["mean"], cache["var"] = y.mean(axis=0), y.var(axis=0)
            cache["unit"] = (y - cache["mean"]) / np.sqrt(cache["var"] + EPS)
            y = cache["unit"] * self.gamma
        y = y + self.b
        if self.relu:
            y = np.maximum(y, 0)
        self.cache = cache | {"y": y}
        return self.geometry.image(y, len(x)) if self.geometry else y

    def backward(self, delta):
        """Gradients of the parameters, in their order, and of the input."""
        cache = self.cache
        delta = delta.reshape(cache["y"].shape)
        if self.relu:
            delta = delta * (cache["y"] > 0)
        gradients = [delta.sum(axis=0)]
        if self.gamma is not None:
            unit = cache["unit"]
            gradients.append((delta * unit).sum(axis=0))
            delta = delta * self.gamma
            delta = (delta - delta.mean(axis=0) - unit * (delta * unit).mean(axis=0)) / np.sqrt(cache["var"] + EPS)
        gradients.insert(0, _summed_product(delta, cache["rows"]).reshape(self.w.shape))
        rows = _product(delta, self.w.reshape(len(self.w), -1))
        return gradients, self._scatter(rows) if self.geometry else rows.reshape(cache["shape"])

    def _scatter(self, rows):
        """The transpose of ``geometry.matrix``."""
        g, (batch, height, width, channels) = self.geometry, self.cache["shape"]
        rows = rows.reshape(batch, *g.out_size, *g.kernel, channels)
        x = np.zeros((batch, height + 2 * g.kernel[0], width + 2 * g.kernel[1], channels), rows.dtype)
        spans = [(size - 1) * stride + 1 for size, stride in zip(g.out_size, g.stride, strict=True)]
        for i, j in np.ndindex(*g.kernel):
            x[:, i : i + spans[0] : g.stride[0], j : j + spans[1] : g.stride[1]] += rows[:, :, :, i, j]
        return x[:, g.pad[0] : g.pad[0] + height, g.pad[1] : g.pad[1] + width]


def make_layers(image, convolutions, dense, rng):
    """Untrained layers for ``image`` = (height, width, channels).

    Parameters
    ----------
    image : tuple of int
    convolutions : sequence of (outputs, stride)
        3 × 3, padded to the same size, with batch norm and ReLU.
    dense : sequence of int
        Outputs of the dense layers; ReLU between them.
    rng : numpy.random.Generator
    """
    height, width, channels = image
    layers = []
    for outputs, stride in convolutions:
        out = (-(-height // stride), -(-width // stride))
        pad = tuple(max(0, (o - 1) * stride + 3 - i) // 2 for o, i in zip(out, (height, width), strict=True))
        geometry = Im2col(in_size=(height, width), out_size=out, kernel=(3, 3), stride=(stride, stride), pad=pad)
        layers.append(_layer(rng, (outputs, 3, 3, channels), geometry, norm=True, relu=True))
        (height, width), channels = out, outputs
    inputs = height * width * channels
    for i, outputs in enumerate(dense):
        layers.append(_layer(rng, (outputs, 1, 1, inputs), None, norm=False, relu=i < len(dense) - 1))
        inputs = outputs
    return layers


def _layer(rng, shape, geometry, *, norm, relu):
    w = rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape).astype(np.float32)  # He: ReLU then keeps the variance.
    b = np.zeros(shape[0], np.float32)
    return FloatLayer(w=w, b=b, gamma=np.ones_like(b) if norm else None, geometry=geometry, relu=relu)


def forward(layers, x):
    """Scores of a batch."""
    for layer in layers:
        x = layer.forward(x)
    return x


def fit(layers, x, labels, rng, *, epochs, rate=3e-3, batch=50):
    """Minimize the cross entropy by Adam at a rate that falls linearly to zero; leaves the statistics of all of ``x``
    in the caches.
    """
    parameters = [p for layer in layers for p in layer.parameters]
    means, squares = [np.zeros_like(p) for p in parameters], [np.zeros_like(p) for p in parameters]
    targets = np.eye(10, dtype=np.float32)[labels]
    batches = len(x) // batch
    for step in range(epochs * batches):
        if step % batches == 0:
            order = rng.permutation(len(x))[: batches * batch].reshape(batches, batch)
        chosen = order[step % batches]
        scores = forward(layers, x[chosen])
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        delta = (odds / odds.sum(axis=1, keepdims=True) - targets[chosen]) / np.float32(batch)
        gradients = []
        for layer in reversed(layers):
            own, delta = layer.backward(delta)
            gradients = own + gradients
        now = np.float32(rate * (1 - step / (epochs * batches)))
        for p, g, mean, square in zip(parameters, gradients, means, squares, strict=True):
            mean += np.float32(0.1) * (g - mean)
            square += np.float32(0.001) * (g * g - square)
            m, s = mean / np.float32(1 - 0.9 ** (step + 1)), square / np.float32(1 - 0.999 ** (step + 1))
            p -= now * m / (np.sqrt(s) + np.float32(1e-8))
    forward(layers, x)
