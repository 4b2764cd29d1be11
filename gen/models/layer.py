"""A layer as matrix products: the form in which the golden model and the hardware execute it."""

from dataclasses import dataclass

import numpy as np

from ..gemm import Gemm
from .spec import LayerSpec

__all__ = ["GemmGroup", "GemmLayer"]


@dataclass(frozen=True, kw_only=True, eq=False)
class GemmGroup:
    """One matrix product of a layer.

    Parameters
    ----------
    gemm : Gemm
    inputs, outputs : slice
        The channels it reads and writes.
    repeated : int array, optional
        Columns of the activation matrix that follow it once more, for weights of more than 8 bits.
    """

    gemm: Gemm
    inputs: slice
    outputs: slice
    repeated: np.ndarray | None = None

    def widened(self, matrix):
        """The activation matrix with its repeated columns."""
        return matrix if self.repeated is None else np.concatenate([matrix, matrix[:, self.repeated]], axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class GemmLayer:
    """A `LayerSpec` lowered for one runtime and one grouping.

    Everything is in the int8 domain: unsigned activations enter less 128 and unsigned results leave plus 128, which
    changes zero points and clamp bounds only.

    Parameters
    ----------
    spec : LayerSpec
    geometry : Im2col or None
        With the block of the grouping; None for a plain matrix.
    groups : tuple of GemmGroup
    z_in : int
        Fill of the padding, in the int8 domain.
    """

    spec: LayerSpec
    geometry: object
    groups: tuple
    z_in: int

    @property
    def name(self):
        """Name of the operator."""
        return self.spec.name

    @property
    def op(self):
        """Kind of the operator in its own format."""
        return self.spec.op

    @property
    def input(self):
        """Key of the tensor it reads."""
        return self.spec.input

    @property
    def output(self):
        """Key of the tensor it writes."""
        return self.spec.output

    @property
    def macs(self):
        """Multiplications of the layer itself, whatever the grouping adds."""
        return self.spec.macs

    @property
    def m(self):
        """Rows of each of its matrix products."""
        return self.geometry.rows(self.spec.batch) if self.geometry else self.spec.batch

    def matrices(self, x):
        """The activation matrix of each product.

        Parameters
        ----------
        x : int8 or uint8 array of the input tensor's shape

        Returns
        -------
        list of (int8 array of shape (M, K), Gemm)
        """
        spec = self.spec
        x = np.asarray(x)
        if x.shape != spec.in_shape or x.dtype != spec.x_dtype:
            raise ValueError(
                f"the input of {self.name} must be {np.dtype(spec.x_dtype)} of shape {spec.in_shape}, "
                f"not {x.dtype} of shape {x.shape}"
            )
        if x.dtype == np.uint8:
            x = (x ^ np.uint8(128)).view(np.int8)
        if self.geometry is None:
            return [(group.widened(x.reshape(self.m, -1)), group.gemm) for group in self.groups]
        if spec.channels_first:
            x = np.moveaxis(x, 1, -1)
        x = x.reshape(spec.batch, *self.geometry.in_size, -1)
        return [
            (group.widened(self.geometry.matrix(x[..., group.inputs], self.z_in)), group.gemm) for group in self.groups
        ]

    def assemble(self, results):
        """The output tensor from the result of each product, in the order of `matrices`.

        Parameters
        ----------
        results : sequence of int arrays of shape (M, N)

        Returns
        -------
        array of the output tensor's shape and type
        """
        spec = self.spec
        if self.geometry is None:
            y = np.asarray(results[0])
        else:
            y = np.concatenate([self.geometry.image(np.asarray(r), spec.batch) for r in results], axis=-1)
            if spec.channels_first:
                y = np.moveaxis(y, -1, 1)
        if np.dtype(spec.y_dtype) == np.uint8:
            y = y.astype(np.int64) + 128
        return y.astype(spec.y_dtype).reshape(spec.out_shape)
