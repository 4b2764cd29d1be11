"""Storage forms of a bias narrower than the accumulator, and what each one means.

Source: the arithmetic contract, section 4.
"""

from dataclasses import dataclass

import numpy as np

from ...rtl.numeric import Family, IntType
from ._check import as_int64, check_range
from .fixed import requantize

__all__ = ["BIAS_FORMS", "BIAS_WIDTHS", "StoredBias", "load_bias", "store_bias"]

BIAS_FORMS = ("sat", "shift", "chshift")
BIAS_WIDTHS = (8, 16, 24, 32, 40)


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredBias:
    """A bias as it is stored.

    Parameters
    ----------
    form : str
        ``sat``, ``shift`` or ``chshift``.
    width : int
        Bits of a stored value, signed.
    values : int64 array, shape (N,)
        Stored values.
    shift : int64 array, shape () or (N,)
        Left shift that restores the value: 0 for ``sat``, one for the layer for ``shift``, one for each channel for
        ``chshift``.
    """

    form: str
    width: int
    values: np.ndarray
    shift: np.ndarray


def store_bias(bias, width, form):
    """Store ``bias`` in ``width`` bits.

    ``sat`` clamps. ``shift`` and ``chshift`` keep ``round(bias / 2**k)``, nearest with ties away from zero (as biases
    are quantized), with the smallest ``k`` for which the whole layer, or that channel, fits.

    Parameters
    ----------
    bias : int array, shape (N,)
        Effective bias at the scale of the accumulator, in -2**62..2**62 (so that rounding up cannot overflow).
    width : int
        8, 16, 24, 32 or 40.
    form : str
        ``sat``, ``shift`` or ``chshift``.

    Returns
    -------
    StoredBias

    Raises
    ------
    TypeError
        If ``bias`` does not hold integers.
    ValueError
        If its shape is not (N,) or a value is out of range, or ``width`` or ``form`` is none of those listed.
    """
    bias = as_int64(bias, "bias")
    if bias.ndim != 1:
        raise ValueError(f"bias must have the shape (N,), not {bias.shape!r}")
    check_range(bias, "bias", -(1 << 62), 1 << 62)
    if isinstance(width, bool) or width not in BIAS_WIDTHS:
        raise ValueError(f"width must be one of {', '.join(map(str, BIAS_WIDTHS))}, not {width!r}")
    if form not in BIAS_FORMS:
        raise ValueError(f"form must be one of {', '.join(BIAS_FORMS)}, not {form!r}")
    limits = IntType(width, True)
    if form == "sat":
        return StoredBias(form=form, width=width, values=np.clip(bias, limits.min, limits.max), shift=np.int64(0))
    # 2**62 is 2**(width - 2) after 64 - width shifts, so a shift that fits is among these.
    shifts = np.arange(64 - width + 1)
    candidates = _halve(bias, shifts[:, np.newaxis])
    fits = (candidates >= limits.min) & (candidates <= limits.max)
    # A channel that fits at one shift fits at every larger one, so the first that fits is the smallest.
    shift = fits.argmax(axis=0).astype(np.int64)
    if form == "shift":
        shift = np.int64(shift.max(initial=0))
    return StoredBias(form=form, width=width, values=_halve(bias, shift), shift=shift)


def load_bias(stored):
    """The effective bias of a `StoredBias`: ``values << shift``, int64 array of shape (N,).

    Raises
    ------
    TypeError
        If ``stored`` is no StoredBias.
    """
    if not isinstance(stored, StoredBias):
        raise TypeError(f"stored must be a StoredBias, not {stored!r}")
    return stored.values << stored.shift


def _halve(bias, k):
    """``bias / 2**k``, nearest, ties away from zero."""
    return requantize(bias, 1, 31 - k, Family.half_away)
