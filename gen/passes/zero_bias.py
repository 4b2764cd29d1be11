"""Biases that are zero in every column, for which the bypass is built or selected.

Identity: ``W x + 0 = W x``. LLaMA and PaLM have no biases at all; converters write zeros for them.
Source: Touvron et al. (arXiv:2302.13971), Chowdhery et al. (arXiv:2204.02311); the contract, section 5.
"""

import numpy as np

from .errors import FoldError

__all__ = ["bypass_bias"]


def bypass_bias(bias):
    """Return None if the bias, shape (N,) or None, can be bypassed; raises `FoldError` where a column is not zero."""
    if bias is not None:
        count = int(np.count_nonzero(bias))
        if count:
            raise FoldError(f"{count} of {np.size(bias)} biases are not zero")
