"""The committed digits network as a subject of the study."""

from pathlib import Path

import numpy as np

from .. import digits
from ..digits import network
from ..models import LayerSpec
from ..models.clamp import CLAMPS
from .network import SpecNetwork

__all__ = ["committed_digits"]


def committed_digits():
    """The 64-128-64-10 perceptron with its 360 held-out images, as a `SpecNetwork`."""
    net = network.load()
    with np.load(Path(digits.__file__).parent / "model.npz", allow_pickle=False) as archive:
        model = dict(archive)
    count = len(net.images)
    layers = []
    for i, name in enumerate(network.LAYER_NAMES):
        w = model[f"{name}_w"]
        layers.append(
            LayerSpec(
                name=name,
                op="FULLY_CONNECTED",
                index=i,
                input=i,
                output=i + 1,
                in_shape=(count, w.shape[0]),
                out_shape=(count, w.shape[1]),
                x_dtype=np.dtype(np.int8),
                y_dtype=np.dtype(np.int8),
                w=np.ascontiguousarray(w.T)[:, None, None, :],
                w_zero=np.zeros(w.shape[1], np.int64),
                bias=model[f"{name}_bias"].astype(np.int64),
                s_in=model["scales"][i],
                s_w=model[f"{name}_w_scale"],
                s_out=model["scales"][i + 1],
                z_in=int(model["zero_points"][i]),
                z_out=int(model["zero_points"][i + 1]),
                clamp=CLAMPS["none" if name == network.LAYER_NAMES[-1] else "relu"],
            )
        )
    return SpecNetwork(
        name="digits",
        layers=tuple(layers),
        inputs=net.quantize_input(net.images),
        labels=net.labels.astype(np.int64),
        runtime="tflm",
    )
