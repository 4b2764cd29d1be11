import numpy as np
import pytest
from plusb.rtl.wide_multiplier import WideMultiplier

from .rtl_sim import measured_latency, play


@pytest.mark.parametrize(
    ("v_width", "m_width"),
    [
        *((2, 1), (9, 8), (16, 15), (16, 16), (17, 8), (17, 16), (18, 1), (18, 17), (19, 17), (24, 18)),
        *((26, 15), (31, 15), (32, 15), (31, 30), (33, 31), (35, 34), (36, 31), (51, 31), (60, 24)),
    ],
)
def test_products_are_exact_and_latency_is_as_stated(v_width, m_width):
    rng = np.random.default_rng(v_width)
    low, high = -1 << (v_width - 1), (1 << (v_width - 1)) - 1
    top = (1 << m_width) - 1
    unit = WideMultiplier(v_width, m_width)
    limb = 1 << unit.limb
    v = [low, low, high, high, -1, -1, 0, min(limb - 1, high), max(-limb, low)]
    v += rng.integers(low, high, 150, endpoint=True).tolist()
    m = [0, top, top, 1, top, 1, top, top, top, *rng.integers(0, top, 150, endpoint=True).tolist()]
    (got,) = play(unit, {"v": v, "m": m}, ["p"], extra=unit.latency)
    assert measured_latency([x * y for x, y in zip(v, m, strict=True)], got) == unit.latency


@pytest.mark.parametrize(
    ("v_width", "m_width", "limb"), [(26, 15, 15), (31, 30, 15), (32, 30, 17), (31, 31, 17), (33, 31, 17), (18, 15, 17)]
)
def test_no_more_and_no_wider_blocks_than_needed(v_width, m_width, limb):
    assert WideMultiplier(v_width, m_width).limb == limb
