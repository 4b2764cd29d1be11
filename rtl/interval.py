"""Interval analysis: the exact range of every intermediate, and the width that holds it."""

from dataclasses import dataclass

__all__ = ["Interval"]


@dataclass(frozen=True)
class Interval:
    """All integers from ``lo`` to ``hi``, both included.

    Sums and products of intervals hold exactly the sums and products of their members (the end points are reached),
    so a width taken from one is never too small and never larger than some operands need.
    """

    lo: int
    hi: int

    def __post_init__(self):
        if self.lo > self.hi:
            raise ValueError(f"lo must be at most hi ({self.hi}), not {self.lo!r}")

    @classmethod
    def of(cls, int_type):
        """The range of an :class:`~plusb.rtl.numeric.IntType`."""
        return cls(int_type.min, int_type.max)

    @classmethod
    def signed(cls, width):
        """The range of a two's complement number of ``width`` bits."""
        return cls(-1 << (width - 1), (1 << (width - 1)) - 1)

    def __add__(self, other):
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self):
        return Interval(-self.hi, -self.lo)

    def __mul__(self, other):
        corners = [x * y for x in (self.lo, self.hi) for y in (other.lo, other.hi)]
        return Interval(min(corners), max(corners))

    def __or__(self, other):
        """The smallest interval that holds both."""
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))

    def __contains__(self, other):
        return self.lo <= other.lo and other.hi <= self.hi

    def times(self, count):
        """The range of a sum of 0 to ``count`` members."""
        return Interval(min(0, self.lo * count), max(0, self.hi * count))

    @property
    def signed_width(self):
        """Bits of the narrowest two's complement format that holds the interval."""
        return max(self.hi.bit_length(), (~self.lo).bit_length() if self.lo < 0 else 0) + 1
