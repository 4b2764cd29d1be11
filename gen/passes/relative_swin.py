"""Swin's two-dimensional window bias as a one-dimensional table.

Identity: for token ``i = (yi, xi)`` of a window of H x W, Swin reads its table at
``(yi - yj + H - 1)(2W - 1) + (xi - xj + W - 1)``, which is ``r[i] - c[j]`` with ``c[j] = yj (2W - 1) + xj`` and
``r[i] = yi (2W - 1) + xi + (H - 1)(2W - 1) + (W - 1)``: (2H - 1)(2W - 1) words instead of (HW)**2.
Source: Liu et al., "Swin Transformer" (arXiv:2103.14030), section 3.2; the contract, section 5.
"""

import numpy as np

from ._check import real_array
from .errors import FoldError
from .relative_bias import RelativeBias

__all__ = ["swin_relative_bias"]


def swin_relative_bias(table, window):
    """The `RelativeBias` of a Swin window.

    Parameters
    ----------
    table : float array, shape ((2H - 1)(2W - 1), heads)
        ``relative_position_bias_table`` as the model stores it.
    window : (int, int)
        H and W.

    Raises
    ------
    FoldError
        If the table has another length, such as that of another window.
    """
    table = real_array(table, "table")
    height, width = window
    row = 2 * width - 1
    entries = (2 * height - 1) * row
    if table.ndim != 2 or table.shape[0] != entries:
        raise FoldError(f"a window of {height} x {width} needs a table of {entries} entries, not {list(table.shape)}")
    y, x = np.divmod(np.arange(height * width, dtype=np.int64), width)
    c = y * row + x
    return RelativeBias(table=table.T, r=c + (height - 1) * row + width - 1, c=c)
