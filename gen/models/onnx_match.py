"""What a matcher returns: a layer, and the nodes it stands for."""

from dataclasses import dataclass

import numpy as np

from .im2col import Im2col
from .onnx_geometry import conv_geometry, conv_weights, matrix_shape
from .spec import LayerSpec

__all__ = ["Match", "Product", "convolution", "matrix"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Match:
    """One layer found in the graph.

    Parameters
    ----------
    spec : LayerSpec
    nodes : tuple of int
        Indices of the nodes it replaces.
    """

    spec: LayerSpec
    nodes: tuple


@dataclass(frozen=True, kw_only=True, eq=False)
class Product:
    """Weights in the layout of `LayerSpec`, with the shape of what they multiply.

    Parameters
    ----------
    w : array (outputs, height, width, inputs)
    out_shape : tuple of int
    geometry : Im2col or None
    groups : int
    """

    w: np.ndarray
    out_shape: tuple
    geometry: Im2col | None = None
    groups: int = 1

    @property
    def layout(self):
        """The fields of a `LayerSpec` that follow from it."""
        return {
            "w": self.w,
            "out_shape": self.out_shape,
            "geometry": self.geometry,
            "groups": self.groups,
            "channels_first": self.geometry is not None,
        }


def convolution(node, x_shape, w):
    """The `Product` of a convolution with weights (outputs, inputs, *kernel)."""
    geometry, groups, out_shape = conv_geometry(node, x_shape, w)
    return Product(w=conv_weights(w), out_shape=out_shape, geometry=geometry, groups=groups)


def matrix(node, x_shape, w):
    """The `Product` of a matrix product with weights (K, N)."""
    out_shape = matrix_shape(node, x_shape, *w.shape)
    return Product(w=np.ascontiguousarray(w.T)[:, None, None, :], out_shape=out_shape)
