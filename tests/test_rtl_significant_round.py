import numpy as np
import pytest
from plusb.rtl.significant_round import SignificantRound

from .rtl_sim import measured_latency, play


class _FewBits(SignificantRound):
    """Few significant bits, so that every value can be tried."""

    BITS = 3


def rounded(x, bits):
    """``x`` to a number of significant bits, ties to even, by its definition."""
    extra = max(0, abs(x).bit_length() - bits)
    quotient, rest = abs(x) >> extra, abs(x) & ((1 << extra) - 1)
    half = (1 << extra) >> 1
    quotient += extra > 0 and (rest > half or (rest == half and quotient & 1))
    return (quotient << extra) * (-1 if x < 0 else 1)


@pytest.mark.parametrize("width", [2, 4, 5, 9])
def test_every_value(width):
    unit = _FewBits(width)
    values = list(range(-1 << (width - 1), 1 << (width - 1)))
    (got,) = play(unit, {"i": values, "enable": [1]}, ["o"], extra=unit.latency)
    assert got[unit.latency :] == [rounded(value, 3) for value in values]


@pytest.mark.parametrize("width", [8, 24, 25, 26, 33, 48, 64, 79])
def test_ties_extremes_and_latency_is_as_stated(width):
    rng = np.random.default_rng(width)
    low, high = -1 << (width - 1), (1 << (width - 1)) - 1
    values = [low, low + 1, high, high - 1, 0, -1, 1]
    for size in range(25, width):
        step = 1 << (size - 24)
        whole = int(rng.integers(1 << 23, 1 << 24)) * step
        values += [sign * (whole + off) for sign in (1, -1) for off in (step // 2, step // 2 - 1, step // 2 + 1)]
        values += [(1 << size) - 1, 1 - (1 << size)]
    values = [min(max(value, low), high) for value in values]
    unit = SignificantRound(width)
    (got,) = play(unit, {"i": values, "enable": [1]}, ["o"], extra=unit.latency)
    assert measured_latency([rounded(value, 24) for value in values], got) == unit.latency
    if width <= 64:
        as_numpy = np.array(values, np.int64).astype(np.float32).astype(np.float64)
        assert [rounded(value, 24) for value in values] == [int(value) for value in as_numpy]


def test_values_pass_where_it_is_not_enabled():
    values = np.random.default_rng(1).integers(-1 << 39, 1 << 39, 60).tolist()
    enable = [n % 3 == 0 for n in range(60)]
    unit = SignificantRound(40)
    (got,) = play(unit, {"i": values, "enable": enable}, ["o"], extra=unit.latency)
    want = [rounded(value, 24) if on else value for value, on in zip(values, enable, strict=True)]
    assert got[unit.latency :] == want
