"""Number formats and rounding families: the vocabulary every other room shares.

Pure Python, so that the golden model can import the names without importing any hardware.
"""

import enum
from dataclasses import dataclass

__all__ = ["Family", "IntType", "max_safe_k"]


class Family(str, enum.Enum):
    """Rounding families of the requantizer; the members' names are those of the arithmetic contract."""

    half_up = "half_up"
    half_away = "half_away"
    gemmlowp = "gemmlowp"
    ruy = "ruy"
    floor = "floor"
    to_zero = "to_zero"
    half_even = "half_even"
    float32 = "float32"

    @property
    def is_fixed_point(self):
        """Whether the family is one multiply, one added constant and one shift (every one but ``float32``)."""
        return self is not Family.float32

    def __str__(self):
        return self.value


@dataclass(frozen=True)
class IntType:
    """A two's complement or unsigned integer format.

    Parameters
    ----------
    width : int
        Bits, 2 to 64.
    signed : bool
        Whether the most significant bit weighs negatively.
    """

    width: int
    signed: bool

    def __post_init__(self):
        if isinstance(self.width, bool) or not isinstance(self.width, int):
            raise TypeError(f"width must be an integer, not {self.width!r}")
        if not 2 <= self.width <= 64:
            raise ValueError(f"width must be in 2..64, not {self.width!r}")

    @classmethod
    def parse(cls, name):
        """The type called ``name``, such as ``int8`` or ``uint4``. Raises ``TypeError`` or ``ValueError``."""
        if not isinstance(name, str):
            raise TypeError(f"an integer type must be a name such as 'int8', not {name!r}")
        prefix, digits = ("uint", name[4:]) if name.startswith("uint") else ("int", name[3:])
        if not name.startswith(prefix) or not digits.isdecimal():
            raise ValueError(f"an integer type must be a name such as 'int8' or 'uint8', not {name!r}")
        return cls(int(digits), prefix == "int")

    @property
    def min(self):
        """Smallest representable value."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def max(self):
        """Largest representable value."""
        return (1 << (self.width - self.signed)) - 1

    def __str__(self):
        return f"{'int' if self.signed else 'uint'}{self.width}"


def max_safe_k(activation, weight, acc_width=32):
    """Largest K whose dot product fits a signed accumulator, zero points folded or not.

    With a folded activation zero point the activation spans ``2**width - 1`` steps, so one term reaches
    ``(2**activation.width - 1) * max|weight|``; for int8 x int8 in 32 bits this gives 65,793 (``255*128*K < 2**31``).
    """
    term = ((1 << activation.width) - 1) * max(-weight.min, weight.max)
    return ((1 << (acc_width - 1)) - 1) // term
