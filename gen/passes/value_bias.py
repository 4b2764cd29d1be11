"""The bias of the attention values, folded into the output projection.

Identity: the weights ``p_ij`` of a softmax sum to 1 over j, so ``sum_j p_ij (v_j + b_v) = sum_j p_ij v_j + b_v`` and
``W_o (... + b_v) + b_o = W_o (...) + (b_o + W_o b_v)``. With grouped queries b_v is repeated for each query head.
Source: Namazifar et al., "Role of Bias Terms in Dot-Product Attention" (arXiv:2302.08626); the contract, section 5.
"""

from dataclasses import replace

import numpy as np

from .attention import Attention

__all__ = ["fold_value_bias"]


def fold_value_bias(attention: Attention):
    """The same attention with the value bias in the bias of the output projection.

    RoPE and QK-norm act on queries and keys only and do not block this fold.

    Raises
    ------
    FoldError
        Where the softmax has a sink: the weights of the real keys then sum to less than 1.
    """
    attention.refuse(sink="the softmax has a sink, so the weights of the values sum to less than 1")
    v, o = attention.v, attention.o
    each = v.bias.reshape(attention.kv_heads, -1)
    b_v = np.repeat(each, attention.heads // attention.kv_heads, axis=0).reshape(-1)
    return replace(attention, v=replace(v, b=None), o=replace(o, b=o.bias + o.w @ b_v))
