"""Configurations: every error in full, derived values, TOML, presets."""

import dataclasses

import pytest
from plusb.rtl import toml
from plusb.rtl.check import check_bool
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.interval import Interval
from plusb.rtl.numeric import Family, IntType
from plusb.rtl.presets import PRESETS

from .bench_configs import CONFIGS

FAMILIES = "half_up, half_away, gemmlowp, ruy, floor, to_zero, half_even, float32"
SAFE = "the K that is safe for int8 x int8 in 32 bits"


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"rows": 0}, ValueError, "rows must be in 1..64, not 0"),
        ({"rows": 65}, ValueError, "rows must be in 1..64, not 65"),
        ({"rows": 4.0}, TypeError, "rows must be an integer, not 4.0"),
        ({"rows": True}, TypeError, "rows must be an integer, not True"),
        ({"cols": -1}, ValueError, "cols must be in 1..64, not -1"),
        ({"cols": "4"}, TypeError, "cols must be an integer, not '4'"),
        ({"lanes": 0}, ValueError, "lanes must be in 1..4 (one a column at most), not 0"),
        ({"lanes": 5}, ValueError, "lanes must be in 1..4 (one a column at most), not 5"),
        ({"lanes": 3}, ValueError, "lanes must divide cols (4), so be one of [1, 2, 4], not 3"),
        ({"activation": "int5"}, ValueError, "activation must be one of int8, uint8, int4, int16, not 'int5'"),
        ({"activation": 8}, ValueError, "activation must be one of int8, uint8, int4, int16, not 8"),
        ({"weight": "int16"}, ValueError, "weight must be one of int8, int4, uint8, not 'int16'"),
        ({"max_k": 65794}, ValueError, f"max_k must be in 1..65793 ({SAFE}), not 65794"),
        ({"max_k": 0}, ValueError, f"max_k must be in 1..65793 ({SAFE}), not 0"),
        ({"max_k": "all"}, TypeError, "max_k must be an integer, not 'all'"),
        ({"acc_width": "32"}, TypeError, "acc_width must be an integer, not '32'"),
        ({"epilogue": "none"}, TypeError, "epilogue must be an EpilogueConfig or None, not 'none'"),
    ],
)
def test_wrong_engine(fields, error, message):
    with pytest.raises(error) as caught:
        EngineConfig(**fields)
    assert str(caught.value) == message
    with pytest.raises(error) as caught:
        EngineConfig().replace(**fields)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("fields", "product", "needed", "most"),
    [
        ({"max_k": 100}, (-128, -128, 100), 22, 32),
        ({"max_k": 4, "activation": "uint8"}, (255, -128, 4), 18, 32),
        ({"max_k": 7, "activation": "int4", "weight": "uint8"}, (-8, 255, 7), 15, 32),
        ({"max_k": 9, "activation": "int16"}, (-32768, -128, 9), 27, 48),
    ],
)
def test_accumulator_that_could_overflow_is_refused_with_the_operands_that_do_it(fields, product, needed, most):
    assert EngineConfig(**fields).acc_width == needed
    x, w, k = product
    with pytest.raises(ValueError, match="acc_width must be in ") as caught:
        EngineConfig(**fields, acc_width=needed - 1)
    total = k * x * w
    reason = f"{k} products of {x} x {w} sum up to {total}"
    assert str(caught.value) == f"acc_width must be in {needed}..{most} ({reason}), not {needed - 1}"
    assert Interval(min(total, 0), max(total, 0)).signed_width == needed, "the counterexample does not overflow"
    assert EngineConfig(**fields, acc_width=most).acc_width == most


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"families": "ruy"}, TypeError, "families must be a non-empty list of names, not 'ruy'"),
        ({"families": ()}, TypeError, "families must be a non-empty list of names, not ()"),
        ({"families": 3}, TypeError, "families must be a non-empty list of names, not 3"),
        ({"families": ["up"]}, ValueError, f"families must be one of {FAMILIES}, not 'up'"),
        ({"families": ["ruy", "ruy"]}, ValueError, "families must name each one once, not ['ruy', 'ruy']"),
        ({"multiplier_width": 7}, ValueError, "multiplier_width must be in 8..31, not 7"),
        ({"multiplier_width": 32}, ValueError, "multiplier_width must be in 8..31, not 32"),
        (
            {"families": ["float32"], "multiplier_width": 23},
            ValueError,
            "multiplier_width must be in 24..31 (float32 needs 24), not 23",
        ),
        ({"negative_scale": 1}, TypeError, "negative_scale must be true or false, not 1"),
        ({"bias": "channel"}, TypeError, "bias must be a list of names, not 'channel'"),
        ({"bias": ["column"]}, ValueError, "bias must be one of scalar, channel, row, tile, relative, not 'column'"),
        ({"bias": ["row", "row"]}, ValueError, "bias must name each one once, not ['row', 'row']"),
        ({"bias_width": 12}, ValueError, "bias_width must be one of 8, 16, 24, 32, 40, not 12"),
        ({"bias_storage": "scale"}, ValueError, "bias_storage must be one of sat, shift, chshift, not 'scale'"),
        (
            {"bias_storage": "shift"},
            ValueError,
            "bias_storage must be sat unless a channel bias is stored in fewer than 32 bits, not 'shift'",
        ),
        (
            {"bias_storage": "chshift", "bias_width": 8, "bias": ["row"]},
            ValueError,
            "bias_storage must be sat unless a channel bias is stored in fewer than 32 bits, not 'chshift'",
        ),
        ({"relative_depth": 1}, ValueError, "relative_depth must be in 2..4096, not 1"),
        ({"relative_depth": 4097}, ValueError, "relative_depth must be in 2..4096, not 4097"),
        ({"weight_zero_point": "yes"}, TypeError, "weight_zero_point must be true or false, not 'yes'"),
        ({"row_zero_point": 0}, TypeError, "row_zero_point must be true or false, not 0"),
        ({"residual": None}, TypeError, "residual must be true or false, not None"),
        ({"raw": 1}, TypeError, "raw must be true or false, not 1"),
        ({"statistics": 1}, TypeError, "statistics must be true or false, not 1"),
        ({"output": "int9"}, ValueError, "output must be one of int8, uint8, int4, int16, not 'int9'"),
        ({"lut_banks": 1}, ValueError, "lut_banks must be one of 0, 2, 4, not 1"),
        (
            {"lut_banks": 2, "output": "int16"},
            ValueError,
            "lut_banks must be 0 where the output is int16 (256 entries), not 2",
        ),
    ],
)
def test_wrong_epilogue(fields, error, message):
    with pytest.raises(error) as caught:
        EpilogueConfig(**fields)
    assert str(caught.value) == message


def test_defaults():
    config = EngineConfig()
    assert (config.rows, config.cols, config.lanes, config.max_k) == (4, 4, 4, 65793)
    assert config.activation_type == config.weight_type == config.output_type == IntType(8, True)
    assert config.epilogue.families == (Family.gemmlowp, Family.ruy, Family.half_up, Family.half_away)
    assert config.replace(epilogue=None).output_type == IntType(32, True)
    assert config.replace(epilogue=None, activation="int16").output_type == IntType(48, True)


@pytest.mark.parametrize(
    ("epilogue", "element"),
    [
        (EpilogueConfig(), IntType(8, True)),
        (EpilogueConfig(output="int4"), IntType(8, True)),
        (EpilogueConfig(output="uint8"), IntType(8, False)),
        (EpilogueConfig(output="int16"), IntType(16, True)),
        (EpilogueConfig(output="uint8", raw=True), IntType(32, True)),
        (None, IntType(32, True)),
    ],
)
def test_elements_on_the_bus(epilogue, element):
    assert EngineConfig(epilogue=epilogue).element_type == element


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        EngineConfig().rows = 8


@pytest.mark.parametrize(
    ("rows", "cols", "lanes", "group", "period"),
    [(4, 4, 4, 1, 4), (4, 4, 1, 4, 16), (8, 6, 3, 2, 16), (1, 1, 1, 1, 3), (64, 64, 64, 1, 64)],
)
def test_tile_period(rows, cols, lanes, group, period):
    config = EngineConfig(rows=rows, cols=cols, lanes=lanes)
    assert (config.group, config.tile_period) == (group, period)


def test_ranges():
    config = EngineConfig(max_k=10, activation="uint8", weight="int4")
    assert config.acc_range == Interval(-8 * 255 * 10, 7 * 255 * 10)
    assert config.row_sum_range == Interval(0, 2550)
    assert config.column_sum_range == Interval(-150, 150)
    assert EngineConfig().acc_range.signed_width <= EngineConfig().raw_width == 32
    assert EngineConfig(activation="int16").raw_width == 48


def test_replace_derives_the_width_of_the_accumulator_anew_and_checks_again():
    assert PRESETS["small"].replace(max_k=1).acc_width == 16
    assert PRESETS["small"].replace(cols=8, lanes=2).group == 4
    with pytest.raises(ValueError, match="lanes must divide cols"):
        PRESETS["small"].replace(cols=6)


def test_families_by_name_and_as_list():
    assert EpilogueConfig(families=["ruy", "floor"]) == EpilogueConfig(families=(Family.ruy, Family.floor))


def test_hash_names_the_configuration():
    assert len({config.config_hash for config in CONFIGS.values()}) == len(CONFIGS)
    assert EngineConfig(lanes=None).config_hash == EngineConfig(lanes=4).config_hash == PRESETS["small"].config_hash
    assert EngineConfig(epilogue=None).config_hash != EngineConfig().config_hash


@pytest.mark.parametrize("name", CONFIGS)
def test_every_configuration_survives_toml(name):
    config = CONFIGS[name]
    assert toml.loads(toml.dumps(config)) == EngineConfig.from_dict(config.to_dict()) == config
    assert toml.loads(toml.dumps(config)).config_hash == config.config_hash


def test_toml_gives_defaults():
    assert toml.loads("") == EngineConfig()
    assert toml.loads("[epilogue]\noutput = 'uint8'") == EngineConfig(epilogue=EpilogueConfig(output="uint8"))
    assert toml.loads("epilogue = 'none'") == EngineConfig(epilogue=None)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("rows = 4\nrow = 4", ValueError, "row is not a field; the fields are "),
        ("[epilogue]\nround = 1", ValueError, "epilogue.round is not a field; the fields are "),
        ("epilogue = 3", TypeError, 'epilogue must be a table or "none", not 3'),
        ("rows == 4", ValueError, "not TOML: "),
        ("rows = '4'", TypeError, "rows must be an integer, not '4'"),
    ],
)
def test_wrong_toml(text, error, message):
    with pytest.raises(error) as caught:
        toml.loads(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_unknown_field_lists_the_known_ones():
    with pytest.raises(ValueError, match="row is not a field") as caught:
        EngineConfig.from_dict({"row": 4})
    assert str(caught.value).endswith(", ".join(field.name for field in dataclasses.fields(EngineConfig)))


def test_load(tmp_path):
    assert toml.load("medium") == ("medium", PRESETS["medium"])
    path = tmp_path / "mine.toml"
    path.write_text("rows = 3\n", encoding="utf-8")
    assert toml.load(str(path)) == ("mine", EngineConfig(rows=3))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("mine.toml", "rows = [", "not TOML"),
        ("mine.toml", "rows = 0", r"mine\.toml: rows must be in 1\.\.64, not 0"),
        ("a-b.toml", "rows = 1", "must be usable in Verilog"),
        ("größe.toml", "rows = 1", "must be usable in Verilog"),
        ("4x4.toml", "rows = 1", "must be usable in Verilog"),
        ("mine.txt", "rows = 1", "config must be one of tiny, up5k, hx8k, ecp5_25k, small, medium, large, "),
        ("none.toml", None, "cannot read"),
    ],
)
def test_files_that_are_no_configuration(tmp_path, file, text, message):
    path = tmp_path / file
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        toml.load(str(path))


def test_preset_sizes():
    sizes = {name: (config.rows, config.cols) for name, config in PRESETS.items()}
    assert sizes["small"] == (4, 4)
    assert sizes["medium"] == (8, 8)
    assert sizes["large"] == (16, 16)


def test_check_bool():
    check_bool("swap", True)
    with pytest.raises(TypeError) as caught:
        check_bool("swap", 1)
    assert str(caught.value) == "swap must be true or false, not 1"
