"""Networks trained on the spot from committed seeds."""

import numpy as np

from .data import load_data
from .float_network import fit, make_layers
from .network import SpecNetwork
from .quantize import fold, quantize, with_dead_channels

__all__ = ["ARCHITECTURES", "trained_networks"]

ARCHITECTURES = ("mlp", "cnn", "cnn-dead")
"""A perceptron; a CNN with batch norm; the same CNN with a dead channel in each convolution."""

_LAYERS = {
    "mlp": {"convolutions": (), "dense": (64, 32, 10)},
    "cnn": {"convolutions": ((8, 2), (16, 2), (16, 1)), "dense": (10,)},
}
_EPOCHS = {("shapes", "mlp"): 25, ("shapes", "cnn"): 12, ("digits", "mlp"): 30, ("digits", "cnn"): 10}
_SEED = 20240607


def trained_networks(data, architectures, seeds, progress=None):
    """Train and quantize.

    Parameters
    ----------
    data : str
        One of ``DATA``.
    architectures : sequence of str
        Of `ARCHITECTURES`.
    seeds : int
        How many of each: seeds 0 to ``seeds - 1``.
    progress : callable, optional
        ``progress(text)`` is told what begins.

    Returns
    -------
    dict of str to list of SpecNetwork
        By name, such as ``cnn shapes``; the networks of one name differ in their seed, and share the test images.
    """
    images = load_data(data)
    found = {f"{architecture} {data}": [] for architecture in architectures}
    for kind in _LAYERS:
        wanted = [a for a in architectures if a.split("-")[0] == kind]
        for seed in range(seeds if wanted else 0):
            if progress is not None:
                progress(f"training {kind} on {data}, seed {seed}")
            layers = _train(images, kind, data, seed)
            for architecture in wanted:
                found[f"{architecture} {data}"].append(_network(images, layers, architecture, f"{architecture} {data}"))
    return found


def _train(images, kind, data, seed):
    rng = np.random.default_rng([_SEED, seed])
    layers = make_layers(images.train.shape[1:], **_LAYERS[kind], rng=rng)
    fit(layers, images.train, images.train_labels, rng, epochs=_EPOCHS[data, kind])
    return fold(layers)


def _network(images, layers, architecture, name):
    layers = with_dead_channels(layers) if architecture.endswith("-dead") else layers
    specs = quantize(layers, images.train[:500].astype(np.float64), len(images.test))
    inputs = (np.rint(images.test * np.float32(255)).astype(np.int16) - 128).astype(np.int8)
    return SpecNetwork(name=name, layers=specs, inputs=inputs, labels=images.test_labels)
