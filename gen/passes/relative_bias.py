"""Relative-position bias as a table: ``B[i, j] = T[r[i] - c[j]]`` instead of a stream of M x N words.

The forms of T5, ALiBi and Swin are made by `relative_t5`, `relative_alibi` and `relative_swin`.
Source: the contract, section 5.
"""

from dataclasses import dataclass

import numpy as np

from ._check import real_array

__all__ = ["RelativeBias", "positions"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RelativeBias:
    """A bias that depends on a difference of positions.

    Parameters
    ----------
    table : float64 array, shape (heads, entries)
    r : int64 array, shape (M,)
        Index of each query.
    c : int64 array, shape (N,)
        Index of each key; every ``r[i] - c[j]`` is an index of the table.
    """

    table: np.ndarray
    r: np.ndarray
    c: np.ndarray

    def __post_init__(self):
        table = real_array(self.table, "table")
        if table.ndim != 2:
            raise ValueError(f"table must have the shape (heads, entries), not {table.shape!r}")
        low = int(np.min(self.r)) - int(np.max(self.c))
        high = int(np.max(self.r)) - int(np.min(self.c))
        if low < 0 or high >= table.shape[1]:
            raise ValueError(f"r[i] - c[j] must be in 0..{table.shape[1] - 1}, not {low}..{high}")
        object.__setattr__(self, "table", table)

    @property
    def words(self):
        """Words of one head's table; the bias it replaces has ``len(r) * len(c)``."""
        return self.table.shape[1]

    def dense(self):
        """The whole bias, shape (heads, M, N)."""
        return self.table[:, self.r[:, np.newaxis] - self.c]

    def quantized(self, scale):
        """For each head the (table, r, c) that the epilogue adds to accumulators of ``scale``, in int64."""
        return [(np.rint(head / scale).astype(np.int64), self.r, self.c) for head in self.table]


def positions(queries, keys, first_query=0):
    """Index vectors ``r``, ``c`` and the relative position ``j - i`` of every table entry, for positions in a line.

    Parameters
    ----------
    queries, keys : int
        M and N.
    first_query : int
        Position of the first query where the first key has 0, for decoding with a cache.

    Returns
    -------
    r, c, relative : int64 arrays, shapes (M,), (N,), (M + N - 1,)
    """
    if queries < 1 or keys < 1:
        raise ValueError(f"there must be at least one query and key, not {queries} and {keys}")
    r = np.arange(queries, dtype=np.int64) + (keys - 1)
    c = np.arange(keys, dtype=np.int64)
    return r, c, keys - 1 - np.arange(queries + keys - 1, dtype=np.int64) - first_query
