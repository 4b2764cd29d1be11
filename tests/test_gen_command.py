"""`plusb gen --top` and `--target`."""

import json

import pytest
from plusb.gen import cli
from plusb.gen.exactness import exact_runtimes, obstacle, runtime_family
from plusb.gen.unit import epilogue_unit
from plusb.rtl import toml
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.numeric import Family
from plusb.rtl.presets import PRESETS
from plusb.rtl.target import Target
from plusb.sim.golden import RUNTIMES

TINY = "rows = 2\ncols = 1\nmax_k = 16\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(TINY, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("target", ["portable", "ecp5"])
def test_epilogue(capsys, folder, target):
    assert cli.main(["gen", "--config", "c.toml", "--top", "epilogue", "--target", target]) == 0
    config = toml.loads(TINY)
    verilog, manifest = folder / "plusb_c_epilogue.v", folder / "plusb_c_epilogue.json"
    assert capsys.readouterr().out.splitlines() == [
        f"plusb_c_epilogue: epilogue of rows of 1 int32 accumulators, 1 lane, configuration {config.config_hash}",
        f"wrote plusb_c_epilogue.v ({verilog.stat().st_size:,} bytes)",
        f"wrote plusb_c_epilogue.json ({manifest.stat().st_size:,} bytes)",
    ]
    text = verilog.read_text(encoding="utf-8")
    assert text == epilogue_unit(config, "plusb_c_epilogue", Target(target)).verilog
    assert ("MULT18X18D" in text) == (target == "ecp5")
    read = json.loads(manifest.read_text(encoding="utf-8"))
    assert read["exact_with"] == exact_runtimes(config)
    assert [stream["name"] for stream in read["streams"]] == ["cmd", "acc", "bias", "scale", "out"]


def test_engine_of_a_target(capsys, folder):
    assert cli.main(["gen", "--config", "c.toml", "--target", "ecp5", "--out", "-"]) == 0
    out = capsys.readouterr().out
    assert "for target ecp5." in out
    assert "s_axis_a_tdata" in out
    assert "MULT18X18D" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--top", "array"], "argument --top: invalid choice: 'array'"),
        (["--target", "moon"], "argument --target: invalid choice: 'moon'"),
        (
            ["--config", "raw.toml", "--top", "epilogue"],
            "--top epilogue needs a unit with an epilogue, and raw.toml has none",
        ),
    ],
)
def test_errors(capsys, folder, argv, message):
    (folder / "raw.toml").write_text('rows = 1\ncols = 1\nepilogue = "none"\n', encoding="utf-8")
    before = sorted(folder.iterdir())
    assert cli.main(["gen", *argv]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert sorted(folder.iterdir()) == before


def test_exact_runtimes():
    everything = [
        {"runtime": r, "op": op, "family": str(runtime_family(r, op))} for r in RUNTIMES for op in RUNTIMES[r]
    ]
    assert exact_runtimes(PRESETS["conform"]) == everything
    assert exact_runtimes(PRESETS["small"]) == [entry for entry in everything if entry["family"] != "float32"]
    assert {entry["family"] for entry in everything} == {"half_away", "gemmlowp", "ruy", "float32"}
    narrow = EngineConfig(epilogue=EpilogueConfig(families=tuple(Family), multiplier_width=24))
    assert {entry["family"] for entry in exact_runtimes(narrow)} == {"float32"}
    assert exact_runtimes(EngineConfig(epilogue=None)) == []


@pytest.mark.parametrize(
    ("unit", "epilogue", "why"),
    [
        ({}, {}, ""),
        ({"activation": "uint8"}, {"output": "uint8"}, ""),
        ({}, {"families": ("floor",)}, "the family gemmlowp is not built"),
        ({}, {"multiplier_width": 30}, "the multiplier has 30 bits, not 31"),
        ({"activation": "int16"}, {"output": "int16"}, "activations are int16"),
        ({"weight": "int4"}, {}, "weights are int4"),
        ({}, {"output": "int4"}, "outputs are int4"),
        ({}, {"bias": ("row",)}, "no channel bias is built"),
        ({}, {"bias_width": 24}, "biases have 24 bits, not 32"),
    ],
)
def test_obstacles(unit, epilogue, why):
    assert obstacle(EngineConfig(**unit, epilogue=EpilogueConfig(**epilogue)), Family.gemmlowp) == why


def test_no_epilogue_is_an_obstacle():
    assert obstacle(EngineConfig(epilogue=None), Family.ruy) == "no epilogue is built"
