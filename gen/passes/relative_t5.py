"""T5's relative-position bias, with its buckets expanded to a table.

Identity: ``B[h, i, j] = E[bucket(j - i), h]`` depends on ``i - j`` only, so ``T[t] = E[bucket(N - 1 - t)]`` with
``r[i] = i + N - 1`` and ``c[j] = j``: M + N - 1 words.
Source: Raffel et al. (arXiv:1910.10683), section 2.1, and mesh-tensorflow's ``_relative_position_bucket``, whose
logarithm is in float32; the contract, section 5.
"""

import math

import numpy as np

from ._check import real_array
from .relative_bias import RelativeBias, positions

__all__ = ["t5_bucket", "t5_relative_bias"]


def t5_bucket(relative, *, bidirectional=True, buckets=32, max_distance=128):
    """Bucket of each relative position ``j - i``.

    Parameters
    ----------
    relative : int array
        Position of the key less that of the query.
    bidirectional : bool
        Half of the buckets for keys behind the query; else such keys count as at distance 0.
    buckets, max_distance : int

    Returns
    -------
    int64 array of the same shape
    """
    relative = np.asarray(relative, np.int64)
    first = np.zeros(relative.shape, np.int64)
    if bidirectional:
        buckets //= 2
        first = np.where(relative > 0, buckets, 0)
        distance = np.abs(relative)
    else:
        distance = np.maximum(-relative, 0)
    exact = buckets // 2
    if exact < 1 or max_distance <= exact:
        raise ValueError(f"max_distance must be more than {exact}, the distances with a bucket of their own")
    ratio = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(exact))
    steps = ratio / np.float32(math.log(max_distance / exact)) * np.float32(buckets - exact)
    far = np.minimum(exact + steps.astype(np.int64), buckets - 1)
    return first + np.where(distance < exact, distance, far)


def t5_relative_bias(embedding, queries, keys, *, bidirectional=True, max_distance=128, first_query=0):
    """The `RelativeBias` of T5's embedding.

    Parameters
    ----------
    embedding : float array, shape (buckets, heads)
    queries, keys : int
    bidirectional : bool
        True in the encoder, False in the decoder.
    max_distance : int
    first_query : int
        See `positions`.
    """
    embedding = real_array(embedding, "embedding")
    if embedding.ndim != 2:
        raise ValueError(f"embedding must have the shape (buckets, heads), not {embedding.shape!r}")
    r, c, relative = positions(queries, keys, first_query)
    bucket = t5_bucket(relative, bidirectional=bidirectional, buckets=embedding.shape[0], max_distance=max_distance)
    return RelativeBias(table=embedding[bucket].T, r=r, c=c)
