"""How many bits a vector of integers needs."""

import numpy as np

__all__ = ["signed_bits"]


def signed_bits(values):
    """Bits of the narrowest two's complement type that holds every value; 0 where all are 0."""
    values = np.asarray(values)
    if values.dtype.kind not in "iu":
        raise TypeError(f"values must be integers, not {values.dtype}")
    if not values.any():
        return 0
    low, high = int(values.min()), int(values.max())
    return 1 + max(high.bit_length() if high > 0 else 0, (-low - 1).bit_length() if low < 0 else 0)
