import re

import pytest
from plusb.rtl import toml
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.presets import PRESETS

from .bench_configs import CONFIGS


@pytest.mark.parametrize("name", CONFIGS)
def test_every_configuration_survives_toml(name):
    config = CONFIGS[name]
    assert toml.loads(toml.dumps(config)) == config
    assert toml.loads(toml.dumps(config)).config_hash == config.config_hash


def test_hashes_differ():
    assert len({config.config_hash for config in CONFIGS.values()}) == len(CONFIGS)


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"rows": 0}, ValueError, "rows must be in 1..64, not 0"),
        ({"rows": "4"}, TypeError, "rows must be an integer, not '4'"),
        ({"cols": 65}, ValueError, "cols must be in 1..64, not 65"),
        ({"cols": True}, TypeError, "cols must be an integer, not True"),
        ({"cols": 6, "lanes": 4}, ValueError, "lanes must divide cols (6), so be one of [1, 2, 3, 6], not 4"),
        ({"lanes": 5}, ValueError, "lanes must be in 1..4 (one a column at most), not 5"),
        (
            {"max_k": 65794},
            ValueError,
            "max_k must be in 1..65793 (the K that is safe for int8 x int8 in 32 bits), not 65794",
        ),
        ({"activation": "int5"}, ValueError, "activation must be one of int8, uint8, int4, not 'int5'"),
        ({"weight": "uint8"}, ValueError, "weight must be one of int8, int4, not 'uint8'"),
        ({"epilogue": 1}, TypeError, "epilogue must be an EpilogueConfig or None, not 1"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_wrong_engines(fields, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        EngineConfig(**fields)


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"families": "ruy"}, TypeError, "families must be a non-empty list of family names, not 'ruy'"),
        ({"families": ()}, TypeError, "families must be a non-empty list of family names, not ()"),
        ({"families": ("ruy", "ruy")}, ValueError, "families must name each family once, not ['ruy', 'ruy']"),
        ({"families": ("rui",)}, ValueError, "families must be one of "),
        ({"output": "int9"}, ValueError, "output must be one of "),
    ],
    ids=lambda value: str(value)[:30],
)
def test_wrong_epilogues(fields, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        EpilogueConfig(**fields)


def test_unknown_fields_are_named():
    with pytest.raises(ValueError, match=r"^row is not a field; the fields are rows, cols, "):
        EngineConfig.from_dict({"row": 4})
    with pytest.raises(ValueError, match=r"^epilogue\.family is not a field; the fields are families, "):
        EngineConfig.from_dict({"epilogue": {"family": ["ruy"]}})


def test_replace_checks_again():
    assert PRESETS["small"].replace(cols=8, lanes=2).group == 4
    with pytest.raises(ValueError, match="lanes must divide cols"):
        PRESETS["small"].replace(cols=6)


def test_loading_by_name_and_by_file(tmp_path):
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
        ("mine.txt", "rows = 1", r"config must be one of tiny, small, medium, large or the path of a \.toml file"),
        ("none.toml", None, "cannot read"),
    ],
)
def test_files_that_are_no_configuration(tmp_path, file, text, message):
    path = tmp_path / file
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        toml.load(str(path))
