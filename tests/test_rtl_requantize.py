"""The requantizer in the Amaranth simulator; every input of 16 bits is tried in test_requantize_exhaustive.py."""

import numpy as np
import pytest
from plusb.gen.stored import stored_scale
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.numeric import Family
from plusb.rtl.requantize import Requantizer
from plusb.sim.golden import requantize, requantize_float32

from .rtl_sim import measured_latency, play

M_MAX = (1 << 31) - 1


def _play(config, v_width, family, v, multiplier, t):
    """Results for lists of sums, stored multipliers and shifts, saturated beyond the element's range."""
    unit = Requantizer(config, v_width)
    inputs = {
        "v": v,
        "multiplier": [0] * unit.multiplier_stage + list(multiplier),
        "t": [0] * unit.shift_stage + list(t),
        "family": [0] * unit.family_stage + [config.epilogue.families.index(family)],
    }
    if Family.float32 in config.epilogue.families:
        inputs["float32"] = [family is Family.float32]
    q, below, above = play(unit, inputs, ["q", "below", "above"], extra=unit.latency - unit.shift_stage)
    limit = 1 << config.output_type.width
    sides = np.array(above) - np.array(below)
    q = np.where(sides, sides * limit, np.clip(q, -limit, limit)).tolist()
    return unit, limit, q


def _config(*families, **fields):
    return EngineConfig(epilogue=EpilogueConfig(families=families, **fields))


@pytest.mark.parametrize("family", Family, ids=str)
def test_every_small_sum_with_many_scales_and_latency_is_as_stated(family):
    """Scales below, near and above 1."""
    config = _config(*Family)
    v = np.repeat(np.arange(-128, 128), 5)
    if family is Family.float32:
        scale = np.tile(np.float32([0.25, 0.1, 0.9999999, 1.0, 4.636909]), 256)
        want = requantize_float32(v, scale)
        multiplier, t = stored_scale(config, family, None, None, scale)
    else:
        multiplier = np.tile([1 << 30, 1717986918, M_MAX, 1 << 30, 1244695807], 256)
        shift = np.tile([-1, -3, 0, 1, 3], 256)
        want = requantize(v, multiplier, shift, family)
        t = 31 - shift
    unit, limit, got = _play(config, 8, family, v.tolist(), multiplier.tolist(), t.tolist())
    assert measured_latency(np.clip(want, -limit, limit), got) == unit.latency


@pytest.mark.parametrize("family", [family for family in Family if family.is_fixed_point], ids=str)
@pytest.mark.parametrize("v_width", [33, 48])
def test_corners_of_fixed_point(family, v_width):
    """The smallest and largest sums, multipliers 0 and 2**31 - 1, shifts 0 to 62."""
    rng = np.random.default_rng(v_width)
    config = _config("floor", *(set(Family) - {Family.floor, Family.float32}))
    low, high = -1 << (v_width - 1), (1 << (v_width - 1)) - 1
    v, multiplier, t = [], [], []
    for shift in range(63):
        for m in (0, M_MAX, int(rng.integers(1 << 31))):
            tie = (1 << shift) // (2 * max(m, 1))
            for value in (low, high, -1, max(low, min(high, tie)), max(low, min(high, -tie))):
                v, multiplier, t = [*v, value], [*multiplier, m], [*t, shift]
    want = requantize(np.array(v), multiplier, 31 - np.array(t), family)
    unit, limit, got = _play(config, v_width, family, v, multiplier, t)
    assert got[unit.latency :] == np.clip(want, -limit, limit).tolist()


@pytest.mark.parametrize("multiplier_width", [24, 31])
@pytest.mark.parametrize("v_width", [20, 33, 48])
def test_float32_rounds_sum_and_product(v_width, multiplier_width):
    rng = np.random.default_rng(v_width)
    config = _config("float32", "ruy", multiplier_width=multiplier_width)
    low, high = -1 << (v_width - 1), (1 << (v_width - 1)) - 1
    count = 400
    v = np.round(rng.integers(low, high, count) * 2.0 ** rng.uniform(-v_width + 1, 0, count)).astype(np.int64)
    v[:4] = low, high, 0, -1
    # A result within the element's range, near ties as often as not.
    scale = (rng.integers(-300, 300, count) / 2 / np.where(v == 0, 1, v)).astype(np.float32)
    scale = np.clip(np.abs(scale), np.float32(2.0**-37), np.float32(2.0**23))
    want = requantize_float32(v, scale)
    multiplier, t = stored_scale(config, Family.float32, None, None, scale)
    unit, limit, got = _play(config, v_width, Family.float32, v.tolist(), multiplier.tolist(), t.tolist())
    assert got[unit.latency :] == np.clip(want, -limit, limit).tolist()


def test_published_float32_case():
    """A sum beyond 24 bits: exact rounding would give 73."""
    config = _config("float32")
    scale = np.float32(1.1082563560194103e-06)
    multiplier, t = stored_scale(config, Family.float32, None, None, scale)
    unit, _, got = _play(config, 33, Family.float32, [65418078], [int(multiplier)], [int(t)])
    assert got[unit.latency] == 72


@pytest.mark.parametrize("width", [8, 15, 24, 30])
def test_narrow_multipliers_hold_the_high_bits(width):
    rng = np.random.default_rng(width)
    config = _config("half_away", multiplier_width=width)
    v = rng.integers(-1 << 20, 1 << 20, 200)
    shift = np.full(200, -13)
    kept, t = stored_scale(config, Family.half_away, rng.integers(1 << 30, 1 << 31, 200), shift, None)
    want = requantize(v, kept << (31 - width), shift, Family.half_away)
    unit, limit, got = _play(config, 21, Family.half_away, v.tolist(), kept.tolist(), t.tolist())
    assert measured_latency(np.clip(want, -limit, limit), got) == unit.latency
