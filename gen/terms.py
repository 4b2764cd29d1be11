"""What a matrix product brings to its epilogue beside weights and scales."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Terms"]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Optional terms of one product of M rows and N columns; ``None`` (or 0) leaves a term out.

    Names and meanings are those of :func:`plusb.sim.golden.add_terms`.

    Parameters
    ----------
    bias_scalar : int
        One bias for all elements.
    bias_row : int array, shape (M,)
        Bias of each row.
    bias_tile : int array, shape (M, N)
        Bias of each element.
    bias_relative : (table, r, c)
        Bias ``table[r[i] - c[j]]``.
    zx : int array, shape (M,)
        Activation zero point of each row.
    residual : (res, z_res, m_res)
        Adds ``(res[i, j] - z_res) * m_res``; ``res`` of shape (M, N), the others integers.
    """

    bias_scalar: int = 0
    bias_row: np.ndarray | None = None
    bias_tile: np.ndarray | None = None
    bias_relative: tuple | None = None
    zx: np.ndarray | None = None
    residual: tuple | None = None
