"""Configurations on which the cocotb benches run; together they build every kind of hardware."""

from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.numeric import Family
from plusb.rtl.presets import PRESETS

FIXED_POINT = tuple(family for family in Family if family.is_fixed_point)

CONFIGS = PRESETS | {
    "one": EngineConfig(rows=1, cols=1),
    "odd": EngineConfig(rows=3, cols=5, epilogue=EpilogueConfig(families=FIXED_POINT)),
    "half": EngineConfig(rows=4, cols=4, lanes=2, max_k=4096),
    "tall_uint8": EngineConfig(
        rows=6, cols=2, lanes=1, activation="uint8", epilogue=EpilogueConfig(output="uint8", families=("half_away",))
    ),
    "wide_int4": EngineConfig(
        rows=2,
        cols=6,
        lanes=3,
        activation="int4",
        weight="int4",
        epilogue=EpilogueConfig(output="int4", families=("ruy", "half_even")),
    ),
    "row_int4": EngineConfig(rows=1, cols=4, lanes=1, weight="int4"),
    "raw": EngineConfig(rows=3, cols=4, lanes=2, epilogue=None),
    "raw_column": EngineConfig(rows=4, cols=1, epilogue=None, activation="uint8"),
}
