"""The sum of terms against exact arithmetic, one element a cycle, each with other terms switched on."""

import numpy as np
import pytest
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.fields import layout
from plusb.rtl.formats import bias_fields, row_fields, table_fields
from plusb.rtl.interval import Interval
from plusb.rtl.tags import modes, use_layout
from plusb.rtl.terms import TermSum
from plusb.sim.benches.packing import pack

from .bench_configs import ALL_FORMS
from .rtl_sim import measured_latency, play

COUNT, DEPTH = 150, 16


def _signed(rng, bits, shape=COUNT):
    values = rng.integers(-1 << (bits - 1), 1 << (bits - 1), shape)
    values.flat[:2] = -1 << (bits - 1), (1 << (bits - 1)) - 1
    return values


def _of(rng, int_type, shape=COUNT):
    values = rng.integers(int_type.min, int_type.max + 1, shape)
    values.flat[:2] = int_type.min, int_type.max
    return values


def _config(width, storage, **fields):
    epilogue = EpilogueConfig(
        bias=ALL_FORMS,
        bias_width=width,
        bias_storage=storage,
        relative_depth=DEPTH,
        weight_zero_point=True,
        row_zero_point=True,
        residual=True,
    )
    return EngineConfig(max_k=50, epilogue=epilogue, **fields)


@pytest.mark.parametrize(
    "config",
    [
        _config(32, "sat"),
        _config(8, "chshift", activation="uint8", weight="uint8"),
        _config(16, "shift", activation="int4", weight="int4"),
        _config(40, "sat", activation="int16"),
    ],
    ids=["sat", "chshift", "shift", "wide"],
)
@pytest.mark.parametrize("acc_range", [None, Interval.signed(48)], ids=["array", "any"])
def test_sum_and_latency_are_as_stated(config, acc_range):
    epilogue, rng = config.epilogue, np.random.default_rng(1)
    acc_range = acc_range or config.acc_range
    width, narrow = epilogue.bias_width, epilogue.bias_storage != "sat"
    unit = TermSum(config, acc_range)
    names = list(use_layout(config).members)
    use = {name: rng.random(COUNT) < 0.7 for name in names}
    acc = rng.integers(acc_range.lo, acc_range.hi, COUNT, endpoint=True)
    table, c, r = _signed(rng, width, DEPTH), rng.integers(0, DEPTH, COUNT), rng.integers(0, DEPTH, COUNT)
    r += c
    shift = rng.integers(0, 32 - width + 1, COUNT) if narrow else np.zeros(COUNT, np.int64)
    record = {"bias": _signed(rng, width), "relative": c, "zw": _of(rng, config.weight_type)}
    record["colsum"] = rng.integers(config.column_sum_range.lo, config.column_sum_range.hi, COUNT, endpoint=True)
    mode = {"scalar": _signed(rng, width), "residual_zp": _of(rng, config.output_type)}
    mode["residual_multiplier"] = _signed(rng, 16)
    if narrow:
        (record if epilogue.bias_storage == "chshift" else mode)["bias_shift"] = shift
    row = {"bias": _signed(rng, width), "relative": r, "zx": _of(rng, config.activation_type)}
    row_sum = rng.integers(config.row_sum_range.lo, config.row_sum_range.hi, COUNT, endpoint=True)
    aux_bias, aux_residual = _signed(rng, width), _of(rng, config.output_type)
    terms = {
        "channel": record["bias"].astype(object) << shift.astype(object),
        "row": row["bias"],
        "tile": aux_bias,
        "relative": table[r - c],
        "weight_zero_point": -row_sum * record["zw"],
        "row_zero_point": -row["zx"] * record["colsum"],
        "residual": (aux_residual - mode["residual_zp"]) * mode["residual_multiplier"],
    }
    want = acc.astype(object) + mode["scalar"] + sum(terms[name] * use[name] for name in names)

    def words(fields, values):
        return [pack(fields, **{name: column[n] for name, column in values.items()}) for n in range(COUNT)]

    begin = DEPTH + 1
    inputs = {
        "acc": [0] * begin + acc.tolist(),
        "use": [0] * begin + words(use_layout(config), use),
        "record": [0] * (begin + 1) + words(layout(bias_fields(config)), record),
        "mode": [0] * (begin + 1) + words(modes(config)["term_mode"], mode),
        "row": [0] * begin + words(layout(row_fields(config)), row),
        "row_sum": [0] * begin + row_sum.tolist(),
        "aux_bias": [0] * begin + aux_bias.tolist(),
        "aux_residual": [0] * begin + aux_residual.tolist(),
        "table_write": [pack(layout(table_fields(config)), address=n, value=table[n]) for n in range(DEPTH)],
        "table_write_en": [1] * DEPTH + [0],
    }
    (got,) = play(unit, inputs, ["v"], extra=unit.latency)
    assert measured_latency(want, got) == begin + unit.latency


@pytest.mark.parametrize("form", [(), ("scalar",), ("channel",), ("row",)])
def test_what_is_not_built_costs_no_cycle_and_the_range_is_exact(form):
    config = EngineConfig(max_k=50, epilogue=EpilogueConfig(bias=form, bias_width=16))
    unit = TermSum(config, Interval(-1000, 999))
    term = Interval.signed(16)
    assert unit.range == (Interval(-1000 + term.lo, 999 + term.hi) if form else Interval(-1000, 999))
    assert unit.latency <= 1 + bool(form)
    (got,) = play(unit, {"acc": [5, -7, 999]}, ["v"], extra=unit.latency)
    assert got[unit.latency :][:3] == [5, -7, 999]


def test_shift_beyond_32_bits_counts_as_the_widest():
    config = EngineConfig(max_k=50, epilogue=EpilogueConfig(bias_width=16, bias_storage="chshift"))
    record = layout(bias_fields(config))
    unit = TermSum(config, config.acc_range)
    words = [pack(record, bias=-3, bias_shift=shift) for shift in (15, 16, 17, 31)]
    use = pack(use_layout(config), channel=1)
    (got,) = play(unit, {"acc": [0] * 4, "use": [use], "record": [0, *words]}, ["v"], extra=unit.latency)
    assert got[unit.latency :][:4] == [-3 << 15, -3 << 16, -3 << 16, -3 << 16]
