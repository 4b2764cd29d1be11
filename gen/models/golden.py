"""Layers executed by the golden model."""

from ..reference import product_stages

__all__ = ["golden_gemm", "run_layer"]


def golden_gemm(x, gemm):
    """One matrix product by the golden model.

    Parameters
    ----------
    x : int array, shape (M, K)
    gemm : Gemm

    Returns
    -------
    int64 array, shape (M, N)
    """
    return product_stages(gemm, x).out


def run_layer(layer, x, compute=golden_gemm):
    """The output tensor of a `GemmLayer`.

    Parameters
    ----------
    layer : GemmLayer
    x : array
        The input tensor.
    compute : callable
        ``compute(x_matrix, gemm)`` gives the (M, N) result; the golden model if left out, hardware elsewhere.
    """
    return layer.assemble([compute(matrix, gemm) for matrix, gemm in layer.matrices(x)])
