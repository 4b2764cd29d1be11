"""Configurations on which the cocotb benches run; together they build every kind of hardware."""

from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.numeric import Family
from plusb.rtl.presets import PRESETS

ALL_FORMS = ("scalar", "channel", "row", "tile", "relative")
FIXED_POINT = tuple(family for family in Family if family.is_fixed_point)

#: Between them, every feature of the epilogue in several sizes, types and widths.
FEATURES = {
    "everything": EngineConfig(
        rows=3,
        cols=4,
        lanes=2,
        max_k=200,
        epilogue=EpilogueConfig(
            families=tuple(Family),
            negative_scale=True,
            bias=ALL_FORMS,
            bias_width=16,
            bias_storage="chshift",
            relative_depth=24,
            weight_zero_point=True,
            row_zero_point=True,
            residual=True,
            raw=True,
            lut_banks=2,
            statistics=True,
        ),
    ),
    "sixteen_bits": EngineConfig(
        rows=2,
        cols=3,
        activation="int16",
        max_k=500,
        epilogue=EpilogueConfig(
            families=("half_up", "float32"),
            multiplier_width=24,
            negative_scale=True,
            bias=("channel", "row", "tile"),
            bias_width=40,
            row_zero_point=True,
            residual=True,
            output="int16",
            raw=True,
            statistics=True,
        ),
    ),
    "shifted_bias": EngineConfig(
        rows=4,
        cols=4,
        lanes=1,
        activation="uint8",
        weight="uint8",
        max_k=100,
        epilogue=EpilogueConfig(
            families=("half_away", "to_zero", "gemmlowp"),
            multiplier_width=15,
            bias=("scalar", "channel", "tile"),
            bias_width=8,
            bias_storage="shift",
            weight_zero_point=True,
            output="uint8",
            lut_banks=4,
        ),
    ),
    "saturated_bias": EngineConfig(
        rows=1,
        cols=4,
        activation="int4",
        weight="int4",
        max_k=64,
        epilogue=EpilogueConfig(
            families=("float32",),
            bias=("relative", "channel"),
            bias_width=24,
            relative_depth=40,
            output="int4",
            lut_banks=2,
            statistics=True,
        ),
    ),
    "no_bias": EngineConfig(
        rows=4, cols=2, max_k=64, epilogue=EpilogueConfig(families=("half_even", "floor"), bias=(), residual=True)
    ),
}

CONFIGS = (
    PRESETS
    | FEATURES
    | {
        "one": EngineConfig(rows=1, cols=1),
        "odd": EngineConfig(rows=3, cols=5, epilogue=EpilogueConfig(families=FIXED_POINT)),
        "half": EngineConfig(rows=4, cols=4, lanes=2, max_k=4096),
        "tall_uint8": EngineConfig(
            rows=6,
            cols=2,
            lanes=1,
            activation="uint8",
            epilogue=EpilogueConfig(output="uint8", families=("half_away",)),
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
)
