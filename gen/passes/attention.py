"""Multi-head softmax attention as the attention passes see it, with the unfolded computation."""

from dataclasses import dataclass

import numpy as np

from .errors import FoldError
from .linear import Linear

__all__ = ["Attention"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Attention:
    """``o(softmax(q k^T / sqrt(d) + mask) v)`` with its four projections and what may stand in the way of a fold.

    Parameters
    ----------
    q, k, v, o : Linear
    heads : int
        Of the queries.
    kv_heads : int, optional
        Of keys and values; ``heads`` if left out, fewer for grouped queries.
    rope : bool
        Whether rotary position embedding follows the projections of queries and keys.
    qk_norm : bool
        Whether queries and keys are normalized.
    sink : bool
        Whether the softmax sees more than ``q k^T``: a learned logit, an appended zero key, or the "+1" of softmax1.
    """

    q: Linear
    k: Linear
    v: Linear
    o: Linear
    heads: int = 1
    kv_heads: int | None = None
    rope: bool = False
    qk_norm: bool = False
    sink: bool = False

    def __post_init__(self):
        if self.kv_heads is None:
            object.__setattr__(self, "kv_heads", self.heads)
        if self.heads % self.kv_heads or self.q.outputs % self.heads:
            raise ValueError(f"{self.heads} heads must divide {self.q.outputs} and be a multiple of {self.kv_heads}")
        d = self.q.outputs // self.heads
        if self.k.outputs != d * self.kv_heads or self.v.outputs % self.kv_heads:
            raise ValueError(f"{self.kv_heads} heads of {d} must make up the {self.k.outputs} keys")
        if self.o.inputs != self.v.outputs * (self.heads // self.kv_heads):
            raise ValueError(
                f"o must read {self.v.outputs * (self.heads // self.kv_heads)} values, not {self.o.inputs}"
            )

    def refuse(self, **blocks):
        """Raise `FoldError` for the first of the named properties that is set: name to the reason it blocks."""
        for name, reason in blocks.items():
            if getattr(self, name):
                raise FoldError(reason)

    def __call__(self, x, mask=0.0):
        """The unfolded computation without RoPE, QK-norm or sink: ``x`` is (positions, inputs), ``mask`` is added."""
        if self.rope or self.qk_norm or self.sink:
            raise TypeError("only plain attention can be called")
        q, k, v = (layer(x).reshape(len(x), n, -1) for layer, n in
                   ((self.q, self.heads), (self.k, self.kv_heads), (self.v, self.kv_heads)))  # fmt: skip
        k, v = (np.repeat(t, self.heads // self.kv_heads, axis=1) for t in (k, v))
        logits = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(q.shape[-1]) + mask
        odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
        shares = odds / odds.sum(axis=-1, keepdims=True)
        return self.o(np.einsum("hij,jhd->ihd", shares, v).reshape(len(x), -1))
