from itertools import product

import pytest
from plusb.rtl.interval import Interval
from plusb.rtl.numeric import IntType

_SMALL = [Interval(low, high) for low in range(-3, 4) for high in range(low, 4)]


@pytest.mark.parametrize("operation", ["__add__", "__mul__"])
def test_operations_hold_exactly_what_their_members_give(operation):
    for x, y in product(_SMALL, _SMALL):
        values = [getattr(a, operation)(b) for a in range(x.lo, x.hi + 1) for b in range(y.lo, y.hi + 1)]
        assert getattr(x, operation)(y) == Interval(min(values), max(values))


def test_union_negation_and_membership():
    assert Interval(-1, 2) | Interval(4, 5) == Interval(-1, 5)
    assert -Interval(-1, 2) == Interval(-2, 1)
    assert Interval(0, 2) in Interval(-1, 2)
    assert Interval(-2, 2) not in Interval(-1, 2)


def test_sums_of_up_to_count_members():
    assert Interval(-2, 3).times(4) == Interval(-8, 12)
    assert Interval(2, 3).times(4) == Interval(0, 12)


@pytest.mark.parametrize(
    ("low", "high", "width"),
    [(0, 0, 1), (-1, 0, 1), (0, 1, 2), (-128, 127, 8), (-129, 0, 9), (0, 255, 9), (-1, 128, 9)],
)
def test_signed_width_is_the_narrowest(low, high, width):
    assert Interval(low, high).signed_width == width


def test_from_formats():
    assert Interval.of(IntType.parse("uint8")) == Interval(0, 255)
    assert Interval.signed(4) == Interval(-8, 7)


def test_empty_interval():
    with pytest.raises(ValueError, match=r"^lo must be at most hi \(1\), not 2$"):
        Interval(2, 1)
