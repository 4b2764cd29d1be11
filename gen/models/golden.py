"""Layers executed by the golden model."""

from ...sim.golden import gemm_epilogue

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
    return gemm_epilogue(
        x,
        gemm.w,
        bias=gemm.bias,
        family=gemm.family,
        multiplier=gemm.multiplier,
        shift=gemm.shift,
        scale=gemm.scale,
        zp_out=gemm.zp_out,
        lo=gemm.lo,
        hi=gemm.hi,
    )


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
