"""What a unit stores of a product's parameters, and the product it therefore computes."""

import dataclasses

import numpy as np

from ..rtl.interval import Interval
from ..rtl.numeric import Family
from ..sim.golden import load_bias, store_bias

__all__ = ["as_computed", "stored_bias", "stored_scale"]


def stored_bias(config, bias):
    """The channel bias as the unit stores it.

    Returns
    -------
    StoredBias

    Raises
    ------
    ValueError
        If it needs more than the unit's storage can mean: a bias beyond 32 bits where it is shifted, or beyond the
        stored width where that is 32 bits or more (narrower ones saturate by definition).
    """
    epilogue = config.epilogue
    bias = np.asarray(bias, np.int64)
    stored = store_bias(bias, epilogue.bias_width, epilogue.bias_storage)
    if np.max(stored.shift, initial=0) > max(0, 32 - epilogue.bias_width) or (
        epilogue.bias_width >= 32 and not np.array_equal(stored.values, bias)
    ):
        limits = Interval.signed(max(32, epilogue.bias_width))
        raise ValueError(f"bias must be in {limits.lo}..{limits.hi}, not {int(bias[np.abs(bias).argmax()])!r}")
    return stored


def stored_scale(config, family, multiplier, shift, scale):
    """Multiplier and total right shift as the unit stores them.

    Fixed-point multipliers lose their low bits where the unit's multiplier is narrow, by rounding half up and staying
    below 2**31, as 16x8 runtimes do. A float32 scale becomes its significand of 24 bits and a shift.

    Returns
    -------
    multiplier, t : int64 arrays

    Raises
    ------
    ValueError
        If a float32 scale is 2**24 or more, or so small that its shift does not fit while wide sums do not vanish.
    """
    if family is Family.float32:
        fraction, exponent = np.frexp(np.asarray(scale, np.float32).astype(np.float64))
        significand, t = np.int64(fraction * 2.0**24), 24 - exponent.astype(np.int64)
        if (t[np.asarray(significand) != 0] < 0).any() if np.ndim(t) else (significand and t < 0):
            raise ValueError(f"scale must be below 2**24, not {np.max(scale)!r}")
        vanishes = (t > 62) | (significand == 0)
        widest = max(config.raw_width, config.epilogue.bias_width)
        if widest > 32 and (vanishes & (significand != 0)).any():
            raise ValueError(f"scale must be 0 or at least 2**-39 where sums have {widest} bits, not {np.min(scale)!r}")
        return np.where(vanishes, 0, significand), np.where(vanishes, 0, t)
    unused = 31 - config.epilogue.multiplier_width
    multiplier = np.asarray(multiplier, np.int64)
    if unused:
        multiplier = np.minimum((multiplier + (1 << (unused - 1))) >> unused, (1 << (31 - unused)) - 1)
    return multiplier, 31 - np.asarray(shift, np.int64)


def as_computed(config, gemm):
    """The product that the unit computes for ``gemm``: its bias and multipliers as they are stored."""
    if config.epilogue is None:
        return gemm
    changes = {"bias": load_bias(stored_bias(config, gemm.bias))}
    if gemm.family is not Family.float32:
        unused = 31 - config.epilogue.multiplier_width
        for name, pair in (("multiplier", (gemm.multiplier, gemm.shift)), ("negative", gemm.negative)):
            if pair is not None:
                kept = stored_scale(config, gemm.family, *pair, None)[0] << unused
                changes[name] = kept if name == "multiplier" else (kept, pair[1])
    return dataclasses.replace(gemm, **changes)
