import dataclasses

import numpy as np
import pytest
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.fields import layout
from plusb.rtl.formats import statistics_fields
from plusb.rtl.statistics import TileStatistics
from plusb.sim.benches.packing import pack, pack_array
from plusb.sim.golden import Stages, tile_statistics

from .rtl_sim import play


@pytest.mark.parametrize(
    ("cols", "output", "raw"),
    [(1, "int8", False), (3, "uint8", False), (4, "int16", False), (5, "int4", True), (8, "int8", False)],
)
@pytest.mark.parametrize("idle", [0, 0.4])
def test_figures_of_each_tile_and_latency_is_as_stated(cols, output, raw, idle):
    """Tiles of all sizes without a gap, or with some; elements that are not valid must not count."""
    config = EngineConfig(rows=4, cols=cols, epilogue=EpilogueConfig(output=output, raw=raw, statistics=True))
    rng, element = np.random.default_rng(cols), config.element_type
    unit = TileStatistics(config)
    rows, saturated, valid, want = [], [], [], {}
    for number in range(40):
        shape = tuple(rng.integers(1, (5, cols + 1)))
        if number % 2:
            out = rng.integers(-2, 3, shape) if element.signed else rng.integers(0, 3, shape)
        else:
            out = rng.choice([element.min, element.max, int(rng.integers(element.min, element.max))], shape)
        clamped = rng.random(shape) < 0.5
        for row, (values, flags) in enumerate(zip(out, clamped, strict=True)):
            while rng.random() < idle:
                rows, saturated, valid = [*rows, (1 << 40) - 1], [*saturated, 0], [*valid, 0]
            other = rng.integers(element.min, element.max, cols)
            other[: shape[1]] = values
            word = {"keep": (1 << shape[1]) - 1, "last": row == shape[0] - 1, "data": pack_array(other, element.width)}
            rows.append(pack(unit.row.shape(), **word))
            saturated.append(int("".join(map(str, flags.astype(int)[::-1])), 2) | rng.integers(2) << shape[1])
            valid.append(1)
        stages = Stages(v=out, q=None, y=None, out=out, saturated=clamped)
        fields = layout(statistics_fields(config))
        want[len(rows) - 1 + unit.latency] = pack(fields, **dataclasses.asdict(tile_statistics(stages)))
    mask = (1 << cols) - 1
    inputs = {"row": rows, "saturated": [int(flags) & mask for flags in saturated], "valid": [*valid, 0]}
    got, o_valid = play(unit, inputs, ["o", "o_valid"], extra=unit.latency)
    assert {cycle: word for cycle, (word, is_valid) in enumerate(zip(got, o_valid, strict=True)) if is_valid} == want
