"""Image sets to train on: drawn shapes, which need nothing, and scikit-learn's handwritten digits."""

from dataclasses import dataclass

import numpy as np

__all__ = ["DATA", "Images", "load_data"]

DATA = ("shapes", "digits")
"""Names of the sets."""

_SEED = 1712
_TRAIN, _TEST, _SIZE = 4000, 8000, 12


@dataclass(frozen=True, kw_only=True, eq=False)
class Images:
    """Images of ten classes in shades of grey, split for good.

    Parameters
    ----------
    train, test : float32 array, shape (images, height, width, 1)
        0 to 1.
    train_labels, test_labels : int64 array, shape (images,)
    """

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


def load_data(name):
    """The `Images` of one of `DATA`; raises ``ModuleNotFoundError`` where ``digits`` has no scikit-learn."""
    return _shapes() if name == "shapes" else _digits()


def _draw(u, v):
    """The ten shapes, 0 or 1, shape (classes, ...), at coordinates of which -1..1 is the shape's own square."""
    r, box, narrow = u * u + v * v, np.maximum(abs(u), abs(v)), np.minimum(abs(u), abs(v))
    s, t = (u + v) / np.sqrt(2), (u - v) / np.sqrt(2)
    return np.stack(
        [
            r < 0.9,
            (r < 1) & (r > 0.35),
            box < 0.8,
            (box < 0.9) & (box > 0.5),
            (box < 1) & (narrow < 0.3),
            (np.maximum(abs(s), abs(t)) < 1.1) & (np.minimum(abs(s), abs(t)) < 0.3),
            (abs(u) < 1) & (abs(v) < 0.35),
            (abs(v) < 1) & (abs(u) < 0.35),
            (v > -0.9) & (v < 0.9) & (abs(u) < (0.9 + v) / 1.8),
            (v > -0.9) & (v < 0.9) & (abs(u) < (0.9 - v) / 1.8),
        ]
    )


def _shapes():
    rng = np.random.default_rng(_SEED)
    count = _TRAIN + _TEST
    labels = rng.integers(0, 10, count)
    shape = (count, 1, 1)
    size, center = rng.uniform(2.4, 4.2, shape), rng.uniform(4, _SIZE - 5, (2, *shape))
    tilt, contrast = rng.normal(0, 0.12, shape), rng.uniform(0.4, 0.9, shape)
    y, x = np.mgrid[:_SIZE, :_SIZE].astype(np.float64)
    dx, dy = (x - center[0]) / size, (y - center[1]) / size
    u, v = dx * np.cos(tilt) - dy * np.sin(tilt), dx * np.sin(tilt) + dy * np.cos(tilt)
    drawn = _draw(u, v)[labels, np.arange(count)]
    noisy = np.clip(0.1 + contrast * drawn + rng.normal(0, 0.08, drawn.shape), 0, 1)
    images = noisy.astype(np.float32)[..., None]
    return Images(
        train=images[:_TRAIN], train_labels=labels[:_TRAIN], test=images[_TRAIN:], test_labels=labels[_TRAIN:]
    )


def _digits():
    from sklearn.datasets import load_digits

    from ..digits.train import SEED, split

    digits = load_digits()
    images, labels = (digits.images / 16).astype(np.float32)[..., None], digits.target.astype(np.int64)
    held_out = split(labels, np.random.default_rng(SEED))
    return Images(
        train=images[~held_out],
        train_labels=labels[~held_out],
        test=images[held_out],
        test_labels=labels[held_out],
    )
