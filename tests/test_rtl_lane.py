"""One lane alone, fed as the row of lanes feeds it; the whole row and every feature are the cocotb benches' subject."""

import numpy as np
import pytest
from plusb.gen.words import pack_fields
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.fields import layout
from plusb.rtl.formats import bias_fields, lut_fields, scale_fields
from plusb.rtl.interval import Interval
from plusb.rtl.lane import EpilogueLane
from plusb.rtl.tags import element_tag, modes
from plusb.sim.benches.packing import pack, sign_extend
from plusb.sim.golden import requantize, requantize_float32

from .rtl_sim import measured_latency, play

INT32 = Interval.signed(32)


def _word(fields, **values):
    return int.from_bytes(pack_fields(fields, **values)[0], "little")


def _play(config, lane, *, acc, family, output, scale, bias=0, tag=None, extra=None):
    """Elements of the lane for accumulators of one tile, and whether each was clamped."""
    unit, begin = EpilogueLane(config, lane, INT32), 4
    flags = {"valid": 1, "use": pack(element_tag(config)["use"].shape, channel=1), **(tag or {})}
    tags = [
        pack(element_tag(config), **flags, start=n == 0, swap_bias=n == 0, swap_scale=n == 0) for n in range(len(acc))
    ]
    words = {
        "round_mode": pack(modes(config)["round_mode"], family=config.epilogue.families.index(family)),
        "output_mode": pack(modes(config)["output_mode"], **output),
    }
    inputs = {"acc": [0] * begin + list(acc), "tag": [0] * begin + tags}
    inputs |= {name: [0] * (begin + unit.mode_stages[name]) + [word, 0] for name, word in words.items()}
    for name, fields, values in (
        ("bias", bias_fields(config), {"bias": bias}),
        ("scale", scale_fields(config), scale),
    ):
        other = _word(fields, **{field.name: 1 for field in fields})
        records = [other] * config.cols
        records[lane] = _word(fields, **values)
        inputs |= {
            f"{name}_write.en": [1] * config.cols + [0],
            f"{name}_write.col": range(config.cols),
            f"{name}_write.bank": [1],
            f"{name}_write.data": records,
        }
    got, saturated = play(unit, inputs | (extra or {}), ["o", "saturated"], extra=unit.latency)
    return got, saturated, begin + unit.latency


@pytest.mark.parametrize("lane", [0, 1])
@pytest.mark.parametrize("family", ["gemmlowp", "half_away"])
def test_elements_of_one_column_and_latency_is_as_stated(lane, family):
    """Records written before the tile, modes given in the stated cycles: the golden model's elements come out."""
    config = EngineConfig(rows=4, cols=2, epilogue=EpilogueConfig(families=("ruy", family)))
    bias, multiplier, t, zp, lo, hi = -12345, 1_900_000_000, 38, -7, -100, 90
    acc = np.random.default_rng(lane).integers(-30_000, 30_000, 60)
    got, saturated, lag = _play(
        config,
        lane,
        acc=acc.tolist(),
        family=family,
        output={"zp": zp, "lo": lo, "hi": hi},
        scale={"multiplier": multiplier, "shift": t},
        bias=bias,
    )
    y = requantize(acc + bias, multiplier, 31 - t, family) + zp
    want = np.clip(y, lo, hi).tolist()
    assert len(set(want)) > 20
    assert measured_latency(want, [sign_extend(value, 8) for value in got]) == lag
    assert saturated[lag : lag + 60] == ((y < lo) | (y > hi)).astype(int).tolist()


def test_negative_scale_and_float32():
    config = EngineConfig(cols=2, epilogue=EpilogueConfig(families=("ruy", "float32"), negative_scale=True))
    acc = np.random.default_rng(3).integers(-1 << 31, 1 << 31, 60)
    significands, shifts = (12_345_679, 9_876_543), (48, 50)
    scales = [np.float32(m * 2.0**-t) for m, t in zip(significands, shifts, strict=True)]
    got, _, lag = _play(
        config,
        0,
        acc=acc.tolist(),
        family="float32",
        output={"zp": 3, "lo": -128, "hi": 127},
        scale={
            "multiplier": significands[0],
            "shift": shifts[0],
            "negative_multiplier": significands[1],
            "negative_shift": shifts[1],
        },
        tag={"float32": 1},
    )
    q = np.where(acc < 0, requantize_float32(acc, scales[1]), requantize_float32(acc, scales[0]))
    assert [sign_extend(value, 8) for value in got[lag : lag + 60]] == np.clip(q + 3, -128, 127).tolist()


@pytest.mark.parametrize("use_lut", [0, 1])
def test_table(use_lut):
    config = EngineConfig(cols=2, epilogue=EpilogueConfig(families=("floor",), lut_banks=2))
    rng = np.random.default_rng(4)
    table = rng.integers(-128, 128, 256)
    word = layout(lut_fields(config))
    writes = [pack(word, bank=1, address=n, value=int(table[n])) for n in range(256)]
    acc = rng.integers(-300, 300, 60)
    delay_by = 260  # the table first
    got, _, lag = _play(
        config,
        0,
        acc=[0] * delay_by + acc.tolist(),
        family="floor",
        output={"zp": 0, "lo": -128, "hi": 127, "use_lut": use_lut, "lut_bank": 1},
        scale={"multiplier": 1 << 30, "shift": 30},
        extra={"lut_write": writes, "lut_write_en": [1] * 256 + [0]},
    )
    y = np.clip(acc, -128, 127)
    want = table[y & 255] if use_lut else y
    start = lag + delay_by
    assert [sign_extend(value, 8) for value in got[start : start + 60]] == want.tolist()


def test_raw_sums_saturate_at_32_bits():
    config = EngineConfig(cols=2, epilogue=EpilogueConfig(families=("floor",), raw=True))
    acc = [*np.random.default_rng(5).integers(-1 << 31, 1 << 31, 40).tolist(), -1 << 31, (1 << 31) - 1]
    got, saturated, lag = _play(
        config,
        1,
        acc=acc,
        family="floor",
        output={"raw": 1},
        scale={"multiplier": 1, "shift": 1},
        bias=(1 << 31) - 1,
    )
    want = np.clip(np.array(acc) + (1 << 31) - 1, -1 << 31, (1 << 31) - 1).tolist()
    assert [sign_extend(value, 32) for value in got[lag : lag + len(acc)]] == want
    assert not any(saturated[lag : lag + len(acc)])
