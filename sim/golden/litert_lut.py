"""Tables equal to LiteRT's own int8 activation operators, those it computes with integers included.

Source: TFLite's ``QuantizeLeakyRelu`` and ``HardSwish`` kernels. The leaky ReLU of XNNPACK differs and is not here.
"""

import numpy as np

from ...rtl.numeric import Family
from ._check import as_float32, as_int, as_scale, check_range
from .fixed import requantize
from .int16x8 import reduce_multiplier
from .lut import make_lut
from .scales import quantize_multiplier

__all__ = ["LITERT_ACTIVATIONS", "litert_lut"]

LITERT_ACTIVATIONS = ("sigmoid", "tanh", "elu", "gelu", "gelu_tanh", "hardswish", "leaky_relu")

_INT16_MIN, _INT16_MAX = -(1 << 15), (1 << 15) - 1


def litert_lut(name, s_x, z_x, s_y, z_y, **parameters):
    """The 256 outputs of LiteRT's int8 operator ``name``, indexed by the input as an unsigned byte.

    Parameters
    ----------
    name : str
        One of `LITERT_ACTIVATIONS`. All but ``hardswish`` and ``leaky_relu`` are those of `make_lut`.
    s_x, s_y : float
        Scales of input and output: positive and exact in float32.
    z_x, z_y : int
        Zero points, in -128..127.
    **parameters
        ``alpha`` of ``leaky_relu``, exact in float32, positive or zero.

    Returns
    -------
    int64 array, shape (256,), values in -128..127

    Raises
    ------
    TypeError
        If a parameter is of the wrong kind.
    ValueError
        If the name is none of LiteRT's, or a scale or zero point is out of range; HardSwish is defined
        for ``s_y / 512 <= s_x < 128 * s_y`` and ``s_x >= 3 * 2**-24`` only.
    """
    if name not in LITERT_ACTIVATIONS:
        raise ValueError(f"name must be one of {', '.join(LITERT_ACTIVATIONS)}, not {name!r}")
    expected = ["alpha"] if name == "leaky_relu" else []
    if list(parameters) != expected:
        raise TypeError(f"parameters of {name} must be {expected}, not {list(parameters)}")
    if name not in ("hardswish", "leaky_relu"):
        return make_lut(name, s_x, z_x, s_y, z_y)
    s_x, s_y = as_scale(s_x, "s_x"), as_scale(s_y, "s_y")
    z_x, z_y = as_int(z_x, "z_x"), as_int(z_y, "z_y")
    check_range(np.asarray(z_x), "z_x", -128, 127)
    check_range(np.asarray(z_y), "z_y", -128, 127)
    q = np.arange(-128, 128)
    kernel = _hardswish if name == "hardswish" else _leaky_relu
    lut = np.empty(256, np.int64)
    lut[q & 255] = np.clip(kernel(q - z_x, s_x, s_y, **parameters) + z_y, -128, 127)
    return lut


def _leaky_relu(x, s_x, s_y, alpha):
    """Two gemmlowp scales, ``s_x / s_y`` and ``s_x * alpha / s_y``, both formed in float32."""
    alpha = as_float32(alpha, "alpha")
    if alpha.shape != ():
        raise ValueError(f"alpha must be one number, not {alpha.tolist()!r}")
    identity = quantize_multiplier(np.float64(s_x / s_y))
    leaky = quantize_multiplier(np.float64(s_x * alpha / s_y))
    return np.where(x >= 0, requantize(x, *identity, Family.gemmlowp), requantize(x, *leaky, Family.gemmlowp))


def _hardswish(x, s_x, s_y):
    """``x * relu6(x + 3) / 6`` in 16 bits: the input times 128, and a "reluish" factor on a scale of 3 / 2**15."""
    fine = s_x * np.float32(1 / 128)
    out_multiplier, out_shift = _int16_scale(fine / s_y)
    relu_multiplier, relu_shift = _int16_scale(fine / np.float32(3 / 32768))
    # The kernel asks for no left shift at the end; right shifts by 16 and more are undefined on its int16.
    if not -15 <= out_shift <= 0:
        low, high = float(s_y / 512), float(128 * s_y)
        raise ValueError(f"s_x must be at least s_y / 512 ({low!r}) and below 128 * s_y ({high!r}), not {float(s_x)!r}")
    if relu_shift < -15:
        raise ValueError(f"s_x must be at least {3 * 2.0**-24!r}, not {float(s_x)!r}")

    x = x << 7
    factor = x
    if relu_shift > 0:
        # All but one of the left shifts come first, so that what saturates does so at either end.
        factor = _saturate(factor << (relu_shift - 1))
    factor = requantize(factor, relu_multiplier, 16, Family.half_up)  # t = 15: the rounding doubling high product.
    if relu_shift > 0:
        factor = _saturate(factor << 1)
    elif relu_shift < 0:
        factor = requantize(factor, 1, 31 + relu_shift, Family.half_away)
    factor = (factor + (1 << 15)) >> 1
    scaled = requantize(x, out_multiplier, 16, Family.half_up)
    # The doubling high product that does not round truncates toward zero.
    product = np.sign(scaled) * (np.abs(scaled) * factor >> 15)
    return requantize(product, 1, 31 + out_shift, Family.half_away)


def _int16_scale(scale):
    """Multiplier of 16 bits and shift of a float32 scale."""
    multiplier, shift = quantize_multiplier(np.float64(scale))
    return int(reduce_multiplier(multiplier, 0)[0]), int(shift)


def _saturate(x):
    return np.clip(x, _INT16_MIN, _INT16_MAX)
