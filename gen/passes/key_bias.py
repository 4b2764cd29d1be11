"""The bias of the attention keys, which changes nothing and is dropped.

Identity: ``q_i . (k_j + b_k) = q_i . k_j + q_i . b_k``, and the second term is the same for every j, so
``softmax_j`` does not see it. The query bias is NOT redundant: ``b_q . k_j`` differs from key to key.
Source: Namazifar et al., "Role of Bias Terms in Dot-Product Attention" (arXiv:2302.08626); the contract, section 5.
"""

from dataclasses import replace

from .attention import Attention

__all__ = ["drop_key_bias"]


def drop_key_bias(attention: Attention):
    """The same attention without the key bias.

    Raises
    ------
    FoldError
        Where RoPE (which turns the bias by the key's position), QK-norm (which divides by the biased key's length) or a
        sink (a logit that does not get ``q_i . b_k``) follows.
    """
    attention.refuse(
        rope="RoPE follows the key bias and turns it by the position, so it differs from key to key",
        qk_norm="QK-norm follows the key bias and scales it by each key's length, so it differs from key to key",
        sink="the softmax has a sink that the key bias does not reach, so it changes the sink's share",
    )
    return replace(attention, k=replace(attention.k, b=None))
