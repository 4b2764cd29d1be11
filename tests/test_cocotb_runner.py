"""The runner: nothing that went wrong looks like a success."""

import re

import pytest
from plusb.rtl.config import EngineConfig
from plusb.sim import cocotb_build, runner, verilator
from plusb.sim.benches.designs import BENCHES

_MODULE = f"{__package__}.runner_tests"


@pytest.fixture(scope="module")
def design():
    return BENCHES["selector"][1](EngineConfig(rows=2, cols=2))


def run(design, tests, **options):
    return runner.run_tests(design, [_MODULE], tests=tests, **options)


def test_benches_hold_tests():
    for modules, _ in BENCHES.values():
        for module in modules:
            assert runner.count_tests(module) >= 2


def test_unknown_names(design):
    benches = "pe, selector, array, epilogue, engine, features, epilogue_unit"
    with pytest.raises(ValueError, match=f"bench must be one of {benches}, not 'pes'"):
        runner.run_bench(design.config, "pes")
    with pytest.raises(ValueError, match=r"SIM must be one of verilator, icarus, not 'iccarus'"):
        run(design, None, simulator="iccarus")


def test_module_without_tests():
    with pytest.raises(runner.BenchError, match=r"plusb\.sim\.benches\.packing holds no test"):
        runner.count_tests("plusb.sim.benches.packing")


def test_missing_icarus_is_one_line(design, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    message = "iverilog is missing; install it, for example with: sudo apt-get install iverilog"
    with pytest.raises(verilator.ToolError, match=f"^{re.escape(message)}$"):
        run(design, None, simulator="icarus")


@pytest.mark.slow
def test_passing_test_its_cycles_and_its_seed(design):
    first = run(design, "passing", seed=7)
    assert [name.rpartition(".")[2] for name in first.passed] == ["passing"]
    assert first.seed == 7
    assert 10 <= first.cycles <= 20
    drawn = re.search(r"drew \d+", first.log.read_text())[0]
    assert drawn in run(design, "passing", seed=7).log.read_text()
    assert drawn not in run(design, "passing", seed=8).log.read_text()


@pytest.mark.slow
def test_seed_is_shown_before_the_run(design):
    lines = []
    result = run(design, "passing", seed=9, show=lines.append)
    assert lines == [f"{design.name}: seed 9, log {result.log}"]


@pytest.mark.slow
def test_failure_names_the_test_the_seed_and_the_log(design):
    with pytest.raises(runner.BenchError, match=r"1 of 2 tests failed: .*\.failing \(seed 3, log .*log\.txt\)"):
        run(design, None, seed=3)


@pytest.mark.slow
def test_too_few_tests(design):
    with pytest.raises(runner.BenchError, match="0 tests ran, but at least 1 must"):
        run(design, "no_such_test")
    with pytest.raises(runner.BenchError, match="1 tests ran, but at least 2 must"):
        run(design, "passing", expected=2)


@pytest.mark.slow
def test_simulator_that_dies(design, monkeypatch):
    monkeypatch.setattr(cocotb_build._Verilator, "_test_command", lambda self: [["false"]])
    with pytest.raises(runner.BenchError, match="the simulation ended without results"):
        run(design, "passing")


@pytest.mark.slow
def test_verilog_that_does_not_compile():
    broken = runner.Design("broken", "module broken(input clk); nonsense", EngineConfig())
    with pytest.raises(verilator.ToolError, match="verilator cannot build broken: %Error"):
        run(broken, "passing")


@pytest.mark.slow
def test_waves(design):
    result = run(design, "passing", waves=True)
    assert result.waves.read_text().startswith("$")
