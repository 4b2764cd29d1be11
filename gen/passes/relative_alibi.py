"""ALiBi as a table: a penalty that grows linearly with the distance.

Identity: ``B[h, i, j] = -slope[h] |i - j|`` is ``T[t] = -slope |t - (N - 1)|`` with ``r[i] = i + N - 1``, ``c[j] = j``.
The causal form ``slope (j - i)`` is the same where a key is not masked.
Source: Press, Smith and Lewis, "Train Short, Test Long" (arXiv:2108.12409), section 3; the contract, section 5.
"""

import math

import numpy as np

from .relative_bias import RelativeBias, positions

__all__ = ["alibi_relative_bias", "alibi_slopes"]


def alibi_slopes(heads):
    """The published slopes: ``2**(-8 k / n)`` for n heads, a power of two; else those of the next lower one, and every
    second of the next higher one.
    """
    if heads < 1:
        raise ValueError(f"heads must be at least 1, not {heads!r}")
    lower = 1 << (heads.bit_length() - 1)
    slopes = [math.pow(2, -8 * (k + 1) / lower) for k in range(lower)]
    slopes += [math.pow(2, -4 * (2 * k + 1) / lower) for k in range(heads - lower)]
    return np.array(slopes)


def alibi_relative_bias(heads, queries, keys, *, first_query=0):
    """The `RelativeBias` of ALiBi for ``heads`` heads; see `positions` for the rest."""
    r, c, relative = positions(queries, keys, first_query)
    return RelativeBias(table=-alibi_slopes(heads)[:, np.newaxis] * np.abs(relative), r=r, c=c)
