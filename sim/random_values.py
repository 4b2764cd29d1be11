"""Random numbers for tests: of every size, and the extremes more often than others."""

import numpy as np

from ..rtl.numeric import Family

__all__ = ["near_powers", "random_bias", "random_operands", "random_scale"]

_M_MAX = (1 << 31) - 1


def random_operands(rng, shape, int_type):
    """Operands of a type, its extremes more often than others; int64."""
    values = rng.integers(int_type.min, int_type.max + 1, shape)
    return np.where(rng.random(shape) < 0.1, rng.choice([int_type.min, int_type.max], shape), values)


def near_powers(rng, bits, shape):
    """Signed numbers of up to ``bits`` bits, of all sizes."""
    limit = 1 << (bits - 1)
    values = np.round(rng.integers(-limit, limit, shape) * 2.0 ** rng.uniform(-bits, 0, shape)).astype(np.int64)
    corner = rng.choice([-limit, limit - 1, 0, -1, 1], shape)
    return np.where(rng.random(shape) < 0.1, corner, values)


def random_bias(rng, epilogue, magnitude, shape, *, channel=False):
    """Biases about as large as the sums of ``magnitude`` bits, now and then any that the unit can store.

    A channel bias may need more bits than are stored: what becomes of it is then a matter of the storage format.
    """
    stored = epilogue.bias_width
    if channel and stored < 32:
        # Shifted storage rounds to a step of up to 2**24, and must not round up to 2**31.
        stored = 32 if epilogue.bias_storage == "sat" else 31
    bits = stored if rng.random() < 0.1 else min(stored, magnitude + 2)
    return near_powers(rng, bits, shape)


def random_scale(rng, family, octave, n):
    """Scales near ``2**-octave`` for ``n`` columns, as keywords of a ``Gemm``; sometimes 0 or any other."""
    anything = rng.random(n) < 0.05
    if family is Family.float32:
        exponent = np.where(anything, rng.uniform(-37, 20, n), rng.uniform(-1, 3, n) - octave)
        scale = (2.0 ** np.minimum(exponent, 23)).astype(np.float32)
        return {"scale": np.where(anything & (rng.random(n) < 0.2), np.float32(0), scale)}
    multiplier = rng.integers(1 << 30, 1 << 31, n)
    multiplier = np.where(anything, rng.choice([0, 1, 1 << 30, _M_MAX], n), multiplier)
    shift = np.where(anything, rng.integers(-31, 32, n), rng.integers(0, 4, n) - octave)
    return {"multiplier": multiplier, "shift": np.clip(shift, -31, 31)}
