"""Train and quantize the digits network from scratch: ``python -m plusb.gen.digits.train --out DIR``.

Everything random comes from one seed, so on one machine a second run writes the same bytes. Another BLAS sums in
another order and gives other weights of the same quality.
"""

import argparse
import itertools
import math
import sys
from pathlib import Path

import numpy as np

from ...sim.golden import gemm_epilogue, quantize_multiplier
from .network import INPUT_SCALE, INPUT_ZERO_POINT, LAYER_NAMES, PIXEL_MAX, float_activations, load

__all__ = ["fit", "main", "quantize", "split"]

SEED = 1998  # The year of the data set.
SIZES = (64, 128, 64, 10)
HELD_OUT_PER_DIGIT = 36  # About a fifth of the 174 to 183 images of each digit.
EPOCHS = 60
BATCH = 32
RATE = 2e-3


def split(labels, rng):
    """Choose the images to hold out, equally many of every digit.

    Parameters
    ----------
    labels : int array, shape (M,)
        The digit in each image.
    rng : numpy.random.Generator
        Source of the choice.

    Returns
    -------
    bool array, shape (M,)
        True where an image is held out.
    """
    held_out = np.zeros(len(labels), bool)
    for digit in range(10):
        held_out[rng.permutation(np.flatnonzero(labels == digit))[:HELD_OUT_PER_DIGIT]] = True
    return held_out


def fit(images, labels, rng):
    """Minimize the cross entropy by Adam, at a rate that falls linearly to zero.

    Parameters
    ----------
    images : int array, shape (M, 64)
        Pixels, 0 to 16.
    labels : int array, shape (M,)
        The digit in each image.
    rng : numpy.random.Generator
        Source of the initial weights and of the order of the images.

    Returns
    -------
    list of (float32 array (K, N), float32 array (N,))
        Weights and bias of each layer.
    """
    x, targets = images / PIXEL_MAX, np.eye(10)[labels]
    params = []
    for k, n in itertools.pairwise(SIZES):
        params += [rng.normal(0, math.sqrt(2 / k), (k, n)), np.zeros(n)]  # He: ReLU then keeps the variance.
    means, squares = [np.zeros_like(p) for p in params], [np.zeros_like(p) for p in params]

    batches = len(x) // BATCH  # What is left over differs from epoch to epoch.
    steps = EPOCHS * batches
    for step in range(steps):
        if step % batches == 0:
            order = rng.permutation(len(x))[: batches * BATCH].reshape(batches, BATCH)
        batch = order[step % batches]
        rate = RATE * (1 - step / steps)
        gradients = _gradients(params, x[batch], targets[batch])
        for p, g, mean, square in zip(params, gradients, means, squares, strict=True):
            mean += 0.1 * (g - mean)
            square += 0.001 * (g * g - square)
            # Both averages start at zero; the divisors undo that.
            p -= rate * (mean / (1 - 0.9 ** (step + 1))) / (np.sqrt(square / (1 - 0.999 ** (step + 1))) + 1e-8)
    return [(w.astype(np.float32), b.astype(np.float32)) for w, b in zip(params[::2], params[1::2], strict=True)]


def _gradients(params, x, targets):
    """Gradients of a batch's mean cross entropy, in the order of ``params``."""
    weights = params[::2]
    *activations, scores = float_activations(list(zip(weights, params[1::2], strict=True)), x)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    delta = (odds / odds.sum(axis=1, keepdims=True) - targets) / len(x)
    gradients = []
    for w, a in zip(reversed(weights), reversed(activations), strict=True):
        gradients = [a.T @ delta, delta.sum(axis=0), *gradients]
        delta = (delta @ w.T) * (a > 0)
    return gradients


def quantize(layers, images):
    """Quantize after training: int8 weights per channel, int8 activations calibrated by their range on ``images``.

    Parameters
    ----------
    layers : list of (float32 array (K, N), float32 array (N,))
        Weights and bias of each layer.
    images : int array, shape (M, 64)
        Training images to calibrate with.

    Returns
    -------
    dict of str to array
        The contents of ``model.npz``.
    """
    # Scales are rounded to float32 before anything is derived from them, since that is what a .tflite file holds.
    ranges = [_range(a) for a in float_activations(layers, images / PIXEL_MAX)[1:]]
    scales = np.array([INPUT_SCALE, *(scale for scale, _ in ranges)], np.float32)
    zero_points = np.array([INPUT_ZERO_POINT, *(zero_point for _, zero_point in ranges)], np.int32)
    model = {"scales": scales, "zero_points": zero_points}
    exact = scales.astype(np.float64)
    for name, (w, b), s_in, s_out in zip(LAYER_NAMES, layers, exact[:-1], exact[1:], strict=True):
        w_scale = (np.abs(w).max(axis=0) / 127).astype(np.float32)  # -128 stays unused: symmetric.
        s_acc = s_in * w_scale.astype(np.float64)
        multiplier, shift = quantize_multiplier(s_acc / s_out)
        model |= {
            f"{name}_w": np.clip(np.rint(w / w_scale.astype(np.float64)), -127, 127).astype(np.int8),
            f"{name}_w_scale": w_scale,
            f"{name}_bias": np.rint(b / s_acc).astype(np.int32),
            f"{name}_multiplier": multiplier.astype(np.int32),
            f"{name}_shift": shift.astype(np.int32),
            f"{name}_float_w": w,
            f"{name}_float_b": b,
        }
    return model


def _range(values):
    """Scale and zero point that spread -128..127 over ``values`` and 0, which must be exact for ReLU."""
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    scale = np.float32((high - low) / 255)
    return scale, round(-128 - low / float(scale))


def main(argv=None):
    """Train, quantize, write ``model.npz`` and ``test.npz``, print both accuracies; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m plusb.gen.digits.train", description="Retrain the digits network.")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write model.npz and test.npz")
    args = parser.parse_args(argv)
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        print("error: retraining needs scikit-learn (pip install 'plusb[dev]')", file=sys.stderr)
        return 2

    digits = load_digits()
    images, labels = digits.data.astype(np.uint8), digits.target.astype(np.uint8)
    rng = np.random.default_rng(SEED)
    held_out = split(labels, rng)
    layers = fit(images[~held_out], labels[~held_out], rng)
    model = quantize(layers, images[~held_out])
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        _save(args.out / "model.npz", model)
        _save(args.out / "test.npz", {"images": images[held_out], "labels": labels[held_out]})
    except OSError as error:
        print(f"error: cannot write {args.out}: {error.strerror}", file=sys.stderr)
        return 2

    net = load(args.out)
    x = net.quantize_input(net.images)
    for layer in net.layers:
        x = gemm_epilogue(
            x,
            layer.w,
            bias=layer.bias,
            family=layer.family,
            multiplier=layer.multiplier,
            shift=layer.shift,
            zp_out=layer.zp_out,
            lo=layer.lo,
            hi=layer.hi,
        )
    print(f"float accuracy: {net.float_accuracy():.2%} of {len(net.labels)} held-out images")
    print(f"int8 accuracy:  {net.accuracy(x):.2%} of {len(net.labels)} held-out images")
    return 0


def _save(path, arrays):
    """Write an archive and only then give it its name, so that a failure leaves the old one whole."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, **arrays)
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
