"""Biases that do not fit: the stored word, the runtime's 32-bit accumulator, or float32's 24 bits.

Bound: with ``v = acc + b`` and ``|acc| <= sum_k |x - zx| |w|``, ``v`` fits 32 bits if the largest ``|acc|`` plus
``|b|`` does. A float bias becomes ``round(b / (s_in s_w))``, which overflows where the weights of its channel are tiny:
TFLite's converter then raises the weight scale until the bias is 2**30, ONNX Runtime's has written wrapped values.
Source: the contract, section 4.
"""

from dataclasses import replace

import numpy as np

from .bits import signed_bits
from .errors import FoldError
from .linear import Linear

__all__ = ["accumulator_bound", "check_bias", "smallest_input_scale"]


def accumulator_bound(w, zx, bits=8, signed=True):
    """Largest ``|sum_k (x - zx) w|`` of every output over all inputs; int64, shape (outputs,).

    Parameters
    ----------
    w : int array, shape (outputs, ...)
        Weights less their zero points.
    zx : int
        Zero point of the activations.
    bits, signed
        Type of the activations.
    """
    low = -(1 << (bits - 1)) if signed else 0
    down, up = low - zx, low + (1 << bits) - 1 - zx
    w = np.asarray(w, np.int64)
    taps = tuple(range(1, w.ndim))
    positive, negative = np.maximum(w, 0).sum(axis=taps), np.minimum(w, 0).sum(axis=taps)
    return np.maximum(np.abs(positive * up + negative * down), np.abs(positive * down + negative * up))


def check_bias(bias, *, width=32, bound=None):
    """Refuse a bias that overflows.

    Parameters
    ----------
    bias : int array, shape (N,)
    width : int
        Bits of the stored word.
    bound : int array, shape (N,), optional
        Largest accumulator (`accumulator_bound`), to check the sum too.

    Returns
    -------
    int
        Signed bits the bias needs.

    Raises
    ------
    FoldError
        If a bias does not fit ``width`` bits, or a sum with the accumulator 32 bits, in which runtimes keep it.
    """
    bias = np.asarray(bias)
    bits = signed_bits(bias)
    if bits > width:
        channel = int(np.argmax(np.abs(bias.astype(np.float64))))
        raise FoldError(f"bias {int(bias[channel])} of output channel {channel} needs {bits} bits, more than {width}")
    if bound is not None:
        largest = np.abs(bias.astype(np.int64)) + bound
        channel = int(np.argmax(largest))
        if largest[channel] >= 1 << 31:
            raise FoldError(
                f"accumulator and bias of output channel {channel} can reach {int(largest[channel])}, "
                "beyond the 32 bits in which runtimes add them"
            )
    return bits


def smallest_input_scale(linear: Linear, *, width=32, per_channel=True):
    """Scale of the input below which a bias overflows once the layer is quantized to 8 bits; shape (outputs,).

    Parameters
    ----------
    linear : Linear
    width : int
        Bits of the quantized bias.
    per_channel : bool
        Whether each output has its own weight scale.

    Returns
    -------
    float64 array
        Infinite where the weights of the channel are zero and its bias is not.
    """
    largest = np.abs(replace(linear, b=None).w).max(axis=tuple(range(1, linear.w.ndim)))
    s_w = (largest if per_channel else np.full(linear.outputs, largest.max())) / 127
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.abs(linear.bias) / (s_w * ((1 << (width - 1)) - 1))
    return np.where(linear.bias == 0, 0.0, needed)
