"""Relative-position bias in table form against the form the models state, element by element."""

import numpy as np
import pytest
from plusb.gen.passes import (
    FoldError,
    RelativeBias,
    alibi_relative_bias,
    alibi_slopes,
    swin_relative_bias,
    t5_bucket,
    t5_relative_bias,
)
from plusb.sim.golden import add_terms


def exact_bucket(relative, bidirectional, buckets, max_distance):
    """T5's bucket from whole numbers alone: no logarithm, so nothing to round."""
    first = 0
    if bidirectional:
        buckets //= 2
        first, distance = (buckets if relative > 0 else 0), abs(relative)
    else:
        distance = max(-relative, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    # floor(log(d/e) / log(m/e) * n) is the largest s with (m/e)**s <= (d/e)**n.
    n, step = buckets - exact, 0
    while step < n - 1 and max_distance ** (step + 1) * exact**n <= distance**n * exact ** (step + 1):
        step += 1
    return first + exact + step


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (16, 100), (64, 256)])
def test_t5_buckets(bidirectional, buckets, max_distance):
    relative = np.arange(-400, 401)
    got = t5_bucket(relative, bidirectional=bidirectional, buckets=buckets, max_distance=max_distance)
    want = [exact_bucket(int(d), bidirectional, buckets, max_distance) for d in relative]
    assert got.tolist() == want


def test_t5_against_its_own_form():
    rng = np.random.default_rng(1)
    embedding = rng.normal(size=(32, 4))
    for queries, keys, first in [(40, 40, 0), (3, 50, 0), (1, 200, 199), (5, 3, 0)]:
        bias = t5_relative_bias(embedding, queries, keys, first_query=first)
        relative = np.arange(keys)[None, :] - (np.arange(queries)[:, None] + first)
        np.testing.assert_array_equal(bias.dense(), embedding[t5_bucket(relative)].transpose(2, 0, 1))
        assert bias.words == queries + keys - 1


def test_alibi_against_its_own_form():
    for heads in (1, 2, 8, 12, 20):
        bias = alibi_relative_bias(heads, 9, 14)
        distance = np.abs(np.arange(14)[None, :] - np.arange(9)[:, None])
        np.testing.assert_array_equal(bias.dense(), -alibi_slopes(heads)[:, None, None] * distance)


def test_alibi_slopes():
    assert alibi_slopes(8).tolist() == [2.0**-k for k in range(1, 9)]
    # As published for a number of heads that is no power of two: those of 8, then the odd ones of 16.
    assert alibi_slopes(12).tolist() == [2.0**-k for k in range(1, 9)] + [2.0 ** -(k / 2) for k in (1, 3, 5, 7)]
    with pytest.raises(ValueError, match=r"^heads must be at least 1, not 0$"):
        alibi_slopes(0)


@pytest.mark.parametrize("window", [(7, 7), (3, 5), (1, 4), (1, 1)])
def test_swin_against_its_own_form(window):
    height, width = window
    rng = np.random.default_rng(2)
    table = rng.normal(size=((2 * height - 1) * (2 * width - 1), 3))
    # The index as Swin's code computes it.
    coords = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij")).reshape(2, -1)
    relative = (coords[:, :, None] - coords[:, None, :]).transpose(1, 2, 0).copy()
    relative[:, :, 0] += height - 1
    relative[:, :, 1] += width - 1
    relative[:, :, 0] *= 2 * width - 1
    index = relative.sum(-1)
    bias = swin_relative_bias(table, window)
    np.testing.assert_array_equal(bias.dense(), table[index].transpose(2, 0, 1))
    np.testing.assert_array_equal(bias.r[:, None] - bias.c, index)


def test_swin_refuses_another_window():
    with pytest.raises(FoldError, match=r"^a window of 7 x 7 needs a table of 169 entries, not \[225, 3\]$"):
        swin_relative_bias(np.zeros((225, 3)), (7, 7))


def test_the_epilogue_adds_the_table():
    rng = np.random.default_rng(3)
    bias = alibi_relative_bias(2, 6, 8)
    acc = rng.integers(-1000, 1000, (6, 8))
    for head, form in enumerate(bias.quantized(1 / 64)):
        want = acc + np.rint(bias.dense()[head] * 64).astype(int)
        np.testing.assert_array_equal(add_terms(acc, bias_relative=form), want)


def test_checks():
    with pytest.raises(ValueError, match=r"^r\[i\] - c\[j\] must be in 0..4, not 0..5$"):
        RelativeBias(table=np.zeros((1, 5)), r=np.array([2, 5]), c=np.array([0, 2]))
    with pytest.raises(ValueError, match=r"^table must have the shape \(heads, entries\), not \(5,\)$"):
        RelativeBias(table=np.zeros(5), r=np.array([2]), c=np.array([0]))
    with pytest.raises(ValueError, match=r"^there must be at least one query and key, not 0 and 3$"):
        alibi_relative_bias(1, 0, 3)
    with pytest.raises(ValueError, match=r"^embedding must have the shape \(buckets, heads\), not \(32,\)$"):
        t5_relative_bias(np.zeros(32), 3, 3)
    with pytest.raises(
        ValueError, match=r"^max_distance must be more than 8, the distances with a bucket of their own$"
    ):
        t5_bucket(np.arange(3), max_distance=8)
