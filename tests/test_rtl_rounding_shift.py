"""The rounding shift against the arithmetic contract, written as it stands there: one added constant, one shift."""

import numpy as np
import pytest
from plusb.rtl.numeric import Family
from plusb.rtl.rounding_shift import RoundingShift
from plusb.sim.golden import requantize

from .rtl_sim import measured_latency, play

FAMILIES = tuple(family for family in Family if family.is_fixed_point)


def contract(p, t, family):
    """``(p + R) >> t`` with the R of the contract's table; ``half_even`` by its definition."""
    half = 1 << (t - 1) if t else 0
    if family is Family.half_even:
        quotient, remainder = p >> t, p & ((1 << t) - 1)
        return quotient + (t > 0 and (remainder > half or (remainder == half and quotient & 1)))
    added = {
        Family.half_up: half,
        Family.half_away: half - (p < 0) if t else 0,
        Family.gemmlowp: half + ((1 << 30) if p >= 0 else -(1 << 30)) * (t > 31),
        Family.ruy: half + (1 << 30) * (t > 31),
        Family.floor: 0,
        Family.to_zero: (1 << t) - 1 if p < 0 else 0,
    }[family]
    return (p + added) >> t


def shifted(p, t, family, *, p_width, bits, families=FAMILIES):
    """Results of the component for lists of products, shifts and families."""
    unit = RoundingShift(p_width, bits, families)
    index = [0] * RoundingShift.FAMILY_STAGE + [families.index(name) for name in family]
    q, below, above = play(unit, {"p": p, "t": t, "family": index}, ["q", "below", "above"], extra=4)
    limit = 1 << bits
    got = [-limit if low else limit if high else result for result, low, high in zip(q, below, above, strict=True)]
    want = [max(-1 << bits, min(1 << bits, contract(*case))) for case in zip(p, t, family, strict=True)]
    return want, got


def agree(p, t, family, **sizes):
    want, got = shifted(p, t, family, **sizes)
    got = got[RoundingShift.LATENCY :][: len(want)]
    wrong = [case for case in zip(p, t, map(str, family), want, got, strict=True) if case[3] != case[4]]
    assert not wrong, f"{len(wrong)} of {len(want)} are wrong, first (p, t, family, want, got) {wrong[0]}"


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_every_small_product_and_shift(family):
    p, t = (grid.ravel().tolist() for grid in np.meshgrid(np.arange(-40, 41), np.arange(0, 8)))
    agree(p, t, [family] * len(p), p_width=33, bits=8)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_near_every_tie_of_every_shift(family):
    rng = np.random.default_rng(3)
    p, t = [], []
    for shift in range(63):
        quarter = 1 << max(shift - 2, 0)
        for multiple in (*range(-10, 11), *rng.integers(-1200, 1200, 6).tolist()):
            for off in (-1, 0, 1, -(1 << 30), 1 << 30):
                p.append(multiple * quarter + off)
                t.append(shift)
    low, high = -1 << 63, (1 << 63) - 1
    p = [max(low, min(high, value)) for value in p]
    agree(p, t, [family] * len(p), p_width=64, bits=8)


def test_neighbours_of_other_families_and_all_sizes_of_products():
    rng = np.random.default_rng(4)
    count = 3000
    p = [
        int(value) >> int(by)
        for value, by in zip(rng.integers(-1 << 62, 1 << 62, count), rng.integers(0, 63, count), strict=True)
    ]
    p[:4] = [-1 << 63, (1 << 63) - 1, 0, -1]
    t = rng.integers(0, 63, count).tolist()
    family = [FAMILIES[i] for i in rng.integers(0, len(FAMILIES), count)]
    agree(p, t, family, p_width=64, bits=8)


@pytest.mark.parametrize("bits", [4, 8])
def test_subsets_of_families(bits):
    rng = np.random.default_rng(5)
    for families in ((Family.ruy,), (Family.gemmlowp, Family.half_even, Family.to_zero)):
        p = rng.integers(-1 << 44, 1 << 44, 300).tolist()
        t = rng.integers(30, 50, 300).tolist()
        agree(p, t, [families[i % len(families)] for i in range(300)], p_width=50, bits=bits, families=families)


def test_the_golden_model_agrees_with_the_contract_as_written_here():
    rng = np.random.default_rng(6)
    v, m, t = rng.integers(-1 << 31, 1 << 31, 2000), rng.integers(0, 1 << 31, 2000), rng.integers(0, 63, 2000)
    for family in FAMILIES:
        want = [contract(int(a) * int(b), int(c), family) for a, b, c in zip(v, m, t, strict=True)]
        assert requantize(v, m, 31 - t, family).tolist() == want


def test_latency_is_as_stated():
    p = np.random.default_rng(7).integers(-100, 100, 60).tolist()
    want, got = shifted(p, [0] * 60, [Family.floor] * 60, p_width=33, bits=8)
    assert measured_latency(want, got + got[-1:] * 9) == RoundingShift.LATENCY
