"""A quantized network without host operators, and the images it is judged by."""

from dataclasses import dataclass

import numpy as np

from ..models import lower_layer, run_layer

__all__ = ["SpecNetwork"]


@dataclass(frozen=True, kw_only=True, eq=False)
class SpecNetwork:
    """Layers in a row, each reading what the one before wrote.

    Parameters
    ----------
    name : str
    layers : tuple of LayerSpec
        Their batch is the number of images.
    inputs : int8 array, shape (images, ...)
    labels : int array, shape (images,), or None
    runtime : str
        Whose rounding it uses; see `plusb.gen.models`. The default is LiteRT's own, and the fastest to compute here.
    """

    name: str
    layers: tuple
    inputs: np.ndarray
    labels: np.ndarray | None
    runtime: str = "litert-xnnpack"

    def scores(self, change):
        """The last layer's outputs, shape (images, outputs), with every layer replaced by ``change(spec)``."""
        x = self.inputs
        for spec in self.layers:
            x = run_layer(lower_layer(change(spec), self.runtime), x.reshape(spec.in_shape))
        return x.reshape(len(self.inputs), -1)
