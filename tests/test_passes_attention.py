"""Key and value bias of attention against the unfolded computation; and that refusals and the query bias are right."""

from dataclasses import replace

import numpy as np
import pytest
from plusb.gen.passes import Attention, FoldError, drop_key_bias, fold_value_bias

from .passes_float import random_linear

MASK = np.where(np.tri(11, dtype=bool), 0.0, -1e30)


def random_attention(heads=4, kv_heads=4, d=3, inputs=10, **blocks):
    rng = np.random.default_rng(heads)
    return Attention(
        q=random_linear(rng, heads * d, inputs),
        k=random_linear(rng, kv_heads * d, inputs),
        v=random_linear(rng, kv_heads * d, inputs),
        o=random_linear(rng, 7, heads * d),
        heads=heads,
        kv_heads=kv_heads,
        **blocks,
    ), rng.normal(size=(11, inputs))


@pytest.mark.parametrize("mask", [0.0, MASK], ids=["full", "causal"])
@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (4, 4), (4, 2), (4, 1)])
def test_folded(heads, kv_heads, mask):
    attention, x = random_attention(heads, kv_heads)
    folded = fold_value_bias(drop_key_bias(attention))
    assert folded.k.b is None
    assert folded.v.b is None
    np.testing.assert_allclose(folded(x, mask), attention(x, mask), atol=1e-11)


def test_the_query_bias_is_not_redundant():
    attention, x = random_attention()
    without = replace(attention, q=replace(attention.q, b=None))
    assert np.abs(without(x) - attention(x)).max() > 0.01


def rope(x):
    """Rotary embedding of (positions, 2) by the position."""
    angle = np.arange(len(x))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.einsum("abi,ib->ia", turn, x)


def norm(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


@pytest.mark.parametrize(("between", "name"), [(rope, "rope"), (norm, "qk_norm")])
def test_rope_and_qk_norm_block_the_key_bias(between, name):
    attention, x = random_attention(1, 1, d=2)

    def shares(k):
        logits = between(attention.q(x)) @ between(k(x)).T
        odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return odds / odds.sum(axis=-1, keepdims=True)

    # The bias matters there, so it is right to refuse.
    assert np.abs(shares(attention.k) - shares(replace(attention.k, b=None))).max() > 0.01
    with pytest.raises(FoldError) as error:
        drop_key_bias(replace(attention, **{name: True}))
    assert "so it differs from key to key" in str(error.value)
    assert str(error.value).startswith(("RoPE", "QK-norm"))
    fold_value_bias(replace(attention, **{name: True}))  # not concerned


def test_a_sink_blocks_both():
    attention, _ = random_attention(sink=True)
    with pytest.raises(
        FoldError, match=r"^the softmax has a sink that the key bias does not reach, so it changes the sink's share$"
    ):
        drop_key_bias(attention)
    with pytest.raises(FoldError, match=r"^the softmax has a sink, so the weights of the values sum to less than 1$"):
        fold_value_bias(attention)
    with pytest.raises(TypeError, match=r"^only plain attention can be called$"):
        attention(np.ones((2, 10)))


def test_shapes_are_checked():
    attention, _ = random_attention()
    with pytest.raises(ValueError, match=r"^4 heads must divide 12 and be a multiple of 3$"):
        replace(attention, kv_heads=3)
    with pytest.raises(ValueError, match=r"^2 heads of 3 must make up the 12 keys$"):
        replace(attention, kv_heads=2)
    with pytest.raises(ValueError, match=r"^o must read 12 values, not 10$"):
        replace(attention, o=attention.q)
