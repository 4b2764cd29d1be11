"""Configurations: every error in full, derived values, TOML, presets."""

import dataclasses

import pytest
from plusb.rtl import toml
from plusb.rtl.check import check_bool
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.numeric import Family, IntType
from plusb.rtl.presets import PRESETS

FIXED_POINT = "half_up, half_away, gemmlowp, ruy, floor, to_zero, half_even"


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
        ({"activation": "int16"}, ValueError, "activation must be one of int8, uint8, int4, not 'int16'"),
        ({"activation": 8}, ValueError, "activation must be one of int8, uint8, int4, not 8"),
        ({"weight": "uint8"}, ValueError, "weight must be one of int8, int4, not 'uint8'"),
        (
            {"max_k": 65794},
            ValueError,
            "max_k must be in 1..65793 (the K that is safe for int8 x int8 in 32 bits), not 65794",
        ),
        ({"max_k": 0}, ValueError, "max_k must be in 1..65793 (the K that is safe for int8 x int8 in 32 bits), not 0"),
        ({"max_k": "all"}, TypeError, "max_k must be an integer, not 'all'"),
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
    ("fields", "error", "message"),
    [
        ({"families": "ruy"}, TypeError, "families must be a non-empty list of family names, not 'ruy'"),
        ({"families": ()}, TypeError, "families must be a non-empty list of family names, not ()"),
        ({"families": 3}, TypeError, "families must be a non-empty list of family names, not 3"),
        ({"families": ["up"]}, ValueError, f"families must be one of {FIXED_POINT}, not 'up'"),
        ({"families": ["float32"]}, ValueError, f"families must be one of {FIXED_POINT}, not 'float32'"),
        ({"families": ["ruy", "ruy"]}, ValueError, "families must name each family once, not ['ruy', 'ruy']"),
        ({"output": "int16"}, ValueError, "output must be one of int8, uint8, int4, not 'int16'"),
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


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        EngineConfig().rows = 8


@pytest.mark.parametrize(
    ("rows", "cols", "lanes", "group", "period"),
    [(4, 4, 4, 1, 4), (4, 4, 1, 4, 16), (8, 6, 3, 2, 16), (1, 1, 1, 1, 2), (64, 64, 64, 1, 64)],
)
def test_tile_period(rows, cols, lanes, group, period):
    config = EngineConfig(rows=rows, cols=cols, lanes=lanes)
    assert (config.group, config.tile_period) == (group, period)


def test_accumulator_range():
    config = EngineConfig(max_k=10)
    assert (config.acc_range.lo, config.acc_range.hi) == (10 * -128 * 127, 10 * 128 * 128)
    assert EngineConfig().acc_range.signed_width <= EngineConfig.RAW_WIDTH


def test_families_by_name_and_as_list():
    assert EpilogueConfig(families=["ruy", "floor"]) == EpilogueConfig(families=(Family.ruy, Family.floor))


def test_hash_names_the_configuration():
    hashes = {config.config_hash for config in PRESETS.values()}
    assert len(hashes) == len(PRESETS)
    assert EngineConfig(lanes=None).config_hash == EngineConfig(lanes=4).config_hash == PRESETS["small"].config_hash
    assert EngineConfig(epilogue=None).config_hash != EngineConfig().config_hash


@pytest.mark.parametrize(
    "config",
    [
        *PRESETS.values(),
        EngineConfig(epilogue=None),
        EngineConfig(
            rows=3, cols=6, lanes=2, activation="uint8", weight="int4", epilogue=EpilogueConfig(families=["floor"])
        ),
        EngineConfig(epilogue=EpilogueConfig(output="uint8")),
    ],
)
def test_toml_round_trip(config):
    assert toml.loads(toml.dumps(config)) == config
    assert EngineConfig.from_dict(config.to_dict()) == config


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
    path.write_text("rows = 2", encoding="utf-8")
    assert toml.load(str(path)) == ("mine", EngineConfig(rows=2))
    path.write_text("rows = 0", encoding="utf-8")
    with pytest.raises(ValueError, match="rows must be") as caught:
        toml.load(str(path))
    assert str(caught.value) == f"{path}: rows must be in 1..64, not 0"


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
