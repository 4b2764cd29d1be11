import numpy as np
import pytest
from plusb.gen.words import pack_fields
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.drain import element_tag
from plusb.rtl.formats import bias_fields, scale_fields
from plusb.rtl.lane import EpilogueLane, RawLane, output_mode, round_mode
from plusb.sim.benches.packing import pack, sign_extend
from plusb.sim.golden import requantize

from .rtl_sim import measured_latency, play


def _record(fields, **values):
    return int.from_bytes(
        pack_fields(fields, **{name: np.array([value]) for name, value in values.items()})[0], "little"
    )


@pytest.mark.parametrize("lane", [0, 1])
@pytest.mark.parametrize("family", ["gemmlowp", "half_away"])
def test_elements_of_one_column_and_latency_is_as_stated(lane, family):
    """Records written before the tile, modes given in the stated cycles: the golden model's elements come out."""
    config = EngineConfig(rows=4, cols=2, epilogue=EpilogueConfig(families=("ruy", family)))
    rng = np.random.default_rng(lane)
    bias, multiplier, t, zp, lo, hi = -12345, 1_900_000_000, 38, -7, -100, 90
    count, begin = 60, 4
    acc = rng.integers(-30_000, 30_000, count)
    unit = EpilogueLane(config, lane)
    tag = element_tag(config)
    tags = [pack(tag, valid=1, start=n == 0, swap_bias=n == 0, swap_scale=n == 0) for n in range(count)]
    inputs = {
        "acc": [0] * begin + acc.tolist(),
        "tag": [0] * begin + tags,
        "round_mode": [0] * (begin + unit.round_stage) + [pack(round_mode(config), family=1), 0],
        "output_mode": [0] * (begin + unit.output_stage) + [pack(output_mode(config), zp=zp, lo=lo, hi=hi), 0],
    }
    zeros = {field.name: 0 for field in (*bias_fields(config.epilogue), *scale_fields(config.epilogue))}
    for name, fields, values in (
        ("bias", bias_fields(config.epilogue), {"bias": bias}),
        ("scale", scale_fields(config.epilogue), {"multiplier": multiplier, "shift": t}),
    ):
        known = {field.name: zeros[field.name] for field in fields} | values
        other = _record(fields, **{field.name: 1 for field in fields})
        records = [_record(fields, **known), other] if lane == 0 else [other, _record(fields, **known)]
        inputs |= {
            f"{name}_write.en": [1, 1, 0],
            f"{name}_write.col": [0, 1],
            f"{name}_write.bank": [1],
            f"{name}_write.data": records,
        }
    (got,) = play(unit, inputs, ["o"], extra=unit.latency)
    want = np.clip(requantize(acc + bias, multiplier, 31 - t, family) + zp, lo, hi).tolist()
    got = [sign_extend(value, 8) for value in got]
    assert len(set(want)) > 20
    assert measured_latency(want, got) == begin + unit.latency


def test_raw_lane_hands_accumulators_on():
    config = EngineConfig(rows=2, cols=2, epilogue=None)
    acc = np.random.default_rng(1).integers(-1 << 31, 1 << 31, 40).tolist()
    unit = RawLane(config)
    (got,) = play(unit, {"acc": acc}, ["o"], extra=RawLane.latency)
    assert measured_latency(acc, got) == RawLane.latency
