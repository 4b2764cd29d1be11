"""The conformance kit: that it compares what it says, and that it would notice."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from plusb.gen import cli
from plusb.gen.commands import conform
from plusb.gen.models import lowering
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.numeric import Family
from plusb.rtl.presets import PRESETS
from plusb.sim.burst import open_unit
from plusb.sim.conform import draw_operator, missing_packages, survey, survey_vectors
from plusb.sim.conform.operators import STYLES
from plusb.sim.golden import RUNTIMES, runtime_scale

VECTORS = Path(__file__).resolve().parents[2] / "shared" / "vectors"
JOBS = [(runtime, op) for runtime in RUNTIMES for op in RUNTIMES[runtime]]
NO_UNIT = "no hardware was asked for"


def installed(runtime):
    if missing_packages(runtime):
        pytest.skip(f"{runtime} is not installed")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("op", dict.fromkeys(op for _, op in JOBS))
def test_operators_are_full_of_ties(op, style):
    rng, ties, total = np.random.default_rng(5), 0, 0
    for index in range(12):
        per_channel, with_bias = bool(index & 1), bool(index & 2)
        operator = draw_operator(rng, op, style, per_channel=per_channel, with_bias=with_bias)
        assert operator.s_w.dtype == operator.s_in.dtype == operator.s_out.dtype == np.float32
        assert operator.s_w.size == (operator.w.shape[0] if per_channel else 1)
        assert (operator.bias is not None) == with_bias
        assert operator.sums.shape == operator.out_shape
        assert np.abs(operator.sums).max() < 2**31
        assert (operator.s_w > 0).all()
        ties, total = ties + operator.near_ties, total + operator.sums.size
        q = operator.sums * (np.float64(operator.s_in) * operator.s_w / np.float64(operator.s_out)) + operator.zy
        assert np.mean(np.abs(q) < 128) > 0.2, "not all saturated"
    assert ties / total > {"random": 0.002, "coarse": 0.05, "target": 0.03}[style]


def test_sums_are_those_of_a_convolution():
    rng = np.random.default_rng(3)
    for op in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        operator = draw_operator(rng, op, "random", per_channel=True, with_bias=True)
        x, w = operator.x.astype(int) - operator.zx, operator.w.astype(int)
        rows, cols = w.shape[1:3]
        b, h, c, o = 0, 2, 3, 5
        expected = int(operator.bias[o])
        for i in range(rows):
            for j in range(cols):
                y, z = h + i - (rows - 1) // 2, c + j - (cols - 1) // 2
                if 0 <= y < x.shape[1] and 0 <= z < x.shape[2]:
                    inputs = x[b, y, z, [o]] if operator.is_depthwise else x[b, y, z]
                    expected += int(inputs @ w[o, i, j])
        assert operator.sums[b, h, c, o] == expected


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_golden_model(runtime):
    installed(runtime)
    rows = list(survey(PRESETS["conform"], runtimes=[runtime], outputs=6000, seed=9))
    assert [(row.op, row.where) for row in rows] == [(op, w) for op in RUNTIMES[runtime] for w in ("golden", "rtl")]
    for row in rows[::2]:
        assert row.outputs >= 6000
        assert row.mismatches == 0
        assert row.near_ties > row.outputs / 100
        assert len(row.variants) == (2 if row.op == "QLinearMatMul" else 4)
        assert sum(row.variants.values()) == row.outputs
    assert {(row.outputs, row.note) for row in rows[1::2]} == {(0, NO_UNIT)}


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_wrong_family_is_noticed(runtime, monkeypatch):
    """Every operator, with every other family in place of its own."""
    installed(runtime)
    for family in Family:
        if family in (Family.floor, Family.to_zero):
            continue  # They differ on half of all outputs.
        monkeypatch.setattr(lowering, "rounding", lambda spec, _, family=family: with_family(spec, family))
        for row in survey(PRESETS["conform"], runtimes=[runtime], outputs=15000):
            if row.where == "golden" and row.family != str(family):
                assert row.mismatches > 0, (row.op, family)


def with_family(spec, family):
    runtime, op = ("ort", "QGemm") if family is Family.float32 else ("tflm", "CONV_2D")
    parameters = runtime_scale(runtime, op, spec.s_in, spec.s_w, spec.s_out).parameters | {"family": family}
    return {
        name: np.broadcast_to(value, (spec.w.shape[0],)) if isinstance(value, np.ndarray) else value
        for name, value in parameters.items()
    }


def test_same_seed_same_models():
    installed("tflm")

    def once(seed):
        return [row.as_json() for row in survey(PRESETS["small"], runtimes=["tflm"], outputs=2000, seed=seed)]

    assert once(1) == once(1)
    assert once(1) != once(2)


def test_families_that_are_not_built():
    installed("ort")
    config, unit = EngineConfig(epilogue=EpilogueConfig(families=("floor",))), object()
    rows = list(survey(config, unit, runtimes=["ort"], outputs=1))
    assert {row.note for row in rows if row.where == "rtl"} == {"the family float32 is not built"}
    assert all(row.outputs for row in rows if row.where == "golden")


def test_vectors():
    if not VECTORS.exists():
        pytest.skip(f"{VECTORS} is absent")
    rows = list(survey_vectors(PRESETS["conform"], None, VECTORS))
    golden = [row for row in rows if row.where == "golden"]
    assert sum(row.mismatches for row in rows) == 0
    outputs = Counter()
    for row in golden:
        outputs[row.runtime] += row.outputs
    assert outputs["ort"] == 240
    assert outputs["tflm"] == outputs["litert"] == outputs["litert-ref"] == outputs["litert-xnnpack"] == 480
    assert outputs["published"] == 2 * 13 + 7 * 2 + 3 + 1 + 3 + 4 + 1 + 2


@pytest.mark.parametrize("text", ["[", "{}", '[{"acc": 1, "ort/qgemm": 0}]', '[{"acc": 1, "ort/none": 0}]'])
def test_damaged_vectors(tmp_path, capsys, text):
    (tmp_path / "runtime_rounding.json").write_text(text, encoding="utf-8")
    code = cli.main(["conform", "--vectors", str(tmp_path), "--rtl-outputs", "0"])
    assert code == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {tmp_path}/runtime_rounding.json is damaged: ")
    assert err.count("\n") == 1


def test_folder_without_vectors(tmp_path, capsys):
    assert cli.main(["conform", "--vectors", str(tmp_path), "--rtl-outputs", "0"]) == 2
    err = capsys.readouterr().err
    assert err == f"error: {tmp_path} must hold runtime_rounding.json or epilogue_cases.json\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--outputs", "0"], "argument --outputs: must be an integer of at least 1, not '0'"),
        (["--rtl-outputs", "-1"], "argument --rtl-outputs: must be an integer of at least 0, not '-1'"),
        (["--seed", "x"], "argument --seed: must be an integer of at least 0, not 'x'"),
        (["--runtime", "torch"], "argument --runtime: invalid choice: 'torch'"),
        (["--config", "raw.toml"], "conform needs a unit with an epilogue, and raw.toml has none"),
    ],
)
def test_bad_arguments(capsys, tmp_path, monkeypatch, argv, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.toml").write_text('epilogue = "none"\n', encoding="utf-8")
    assert cli.main(["conform", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")


def test_nothing_to_compare_with(capsys, monkeypatch):
    monkeypatch.setattr(conform, "missing_packages", lambda runtime: ["some-package"])
    assert cli.main(["conform", "--rtl-outputs", "0"]) == 2
    err = capsys.readouterr().err
    assert err == "error: no runtime to compare with: some-package missing; pip install 'plusb[models]'\n"


def test_command(capsys, monkeypatch):
    """One runtime is missing, the others are asked; a mismatch is exit code 1."""
    installed("tflm")
    found = conform.missing_packages
    monkeypatch.setattr(conform, "missing_packages", lambda runtime: ["gone"] if runtime == "ort" else found(runtime))
    argv = ["conform", "--runtime", "tflm", "--runtime", "ort", "--outputs", "1000", "--rtl-outputs", "0"]
    assert cli.main([*argv, "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    keys = ["config", "config_hash", "seed", "runtimes", "skipped", "rows", "outputs", "mismatches"]
    assert list(read) == keys
    assert list(read["runtimes"]) == ["tflm"]
    assert read["skipped"] == {"ort": ["gone"]}
    assert len(read["rows"]) == 6
    assert {"runtime", "op", "family", "where", "outputs", "mismatches"} <= set(read["rows"][0])
    assert cli.main(argv) == 0
    out = capsys.readouterr().out
    assert "skipped: gone missing" in out
    assert out.endswith("\n0 mismatches\n")
    monkeypatch.setattr(lowering, "rounding", lambda spec, _: with_family(spec, Family.half_even))
    assert cli.main(argv) == 1
    assert not capsys.readouterr().out.endswith("\n0 mismatches\n")


@pytest.mark.slow
def test_everything(capsys):
    """The measurement of the README: at least 100,000 outputs with the golden model, 5,000 with hardware."""
    for runtime in RUNTIMES:
        installed(runtime)
    vectors = ["--vectors", str(VECTORS)] if VECTORS.exists() else []
    assert cli.main(["conform", "--json", *vectors]) == 0
    read = json.loads(capsys.readouterr().out)
    compared = {(row["runtime"], row["op"], row["where"]): row for row in read["rows"]}
    for runtime, op in JOBS:
        golden, rtl = (compared[runtime, op, where] for where in ("golden", "rtl"))
        assert golden["outputs"] >= 100_000
        assert rtl["outputs"] >= 5_000
        assert golden["mismatches"] == rtl["mismatches"] == 0
        assert golden["undecided"] <= golden["outputs"] / 1000
        assert rtl["variants"].keys() == golden["variants"].keys()
    assert read["mismatches"] == 0
    for row in read["rows"]:
        assert row["outputs"] > 0, row


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "output"), [("uint8", "uint8"), ("uint8", "int8"), ("int8", "uint8")])
def test_units_of_other_types(activation, output):
    """Families that are not built are measured on the golden model only; a short K still takes every operator."""
    config = EngineConfig(
        rows=2, cols=3, max_k=12, activation=activation, epilogue=EpilogueConfig(output=output, families=("float32",))
    )
    asked = [runtime for runtime in RUNTIMES if not missing_packages(runtime)]
    with open_unit(config) as unit:
        rows = list(survey(config, unit, runtimes=asked, outputs=1000, rtl_outputs=3000))
    assert sum(row.mismatches for row in rows) == 0
    for row in rows:
        built = row.family == "float32" or row.where == "golden"
        assert (row.outputs > 0, row.note == "") == (built, built)
