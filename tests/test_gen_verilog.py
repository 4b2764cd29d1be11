"""The generated Verilog: deterministic, clean, linted, with ports in order."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from amaranth._toolchain.yosys import find_yosys
from plusb.gen.unit import engine_unit
from plusb.gen.verilog import to_verilog
from plusb.rtl.config import EngineConfig
from plusb.rtl.wide_multiplier import WideMultiplier
from plusb.sim import verilator

from .bench_configs import CONFIGS

SMALL = EngineConfig(rows=2, cols=4, lanes=2, max_k=64)


@pytest.fixture(scope="module")
def unit():
    return engine_unit(SMALL, "plusb_mine")


def test_same_text_in_every_process(unit):
    program = (
        "import sys; from plusb.gen.unit import engine_unit; from plusb.rtl.config import EngineConfig;"
        "sys.stdout.write(engine_unit(EngineConfig(rows=2, cols=4, lanes=2, max_k=64), 'plusb_mine').verilog)"
    )
    for seed in "0", "1":
        result = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert result.stdout == unit.verilog


@pytest.mark.parametrize("ended", ["", "module wide (rst);\n  input rst;\n  wire rst;\nendmodule\n"])
def test_yosys_that_ends_early_is_asked_again(monkeypatch, ended):
    def verilog():
        return to_verilog(WideMultiplier(26, 15), "wide")

    whole, early = verilog(), [ended]
    real = find_yosys(lambda version: True)
    yosys = SimpleNamespace(run=lambda *call: early.pop() if early else real.run(*call))
    monkeypatch.setattr("plusb.gen.verilog.find_yosys", lambda requirement: yosys)
    assert verilog() == whole
    early += [ended] * 3
    with pytest.raises(OSError, match=r"^Yosys wrote [01] of \d+ modules, 3 times"):
        verilog()


def test_ports_are_in_order(unit):
    header = re.search(r"^module plusb_mine \((.*?)\);", unit.verilog, re.DOTALL | re.MULTILINE)[1]
    ports = [line.split()[-1].rstrip(",") for line in header.strip().splitlines()]
    assert ports == ["clk", "rst", *unit.ports]
    for line in header.strip().splitlines():
        direction, _, *width, name = line.replace(",", "").split()
        expected = unit.ports.get(name, ("in", 1))
        assert (direction.removesuffix("put"), width) == (
            expected[0],
            [f"[{expected[1] - 1}:0]"] if expected[1] > 1 else [],
        )


def test_modules(unit):
    names = re.findall(r"^module (\S+)", unit.verilog, re.MULTILINE)
    assert names[0] == "plusb_mine", "the top comes first"
    assert len(set(names)) == len(names)
    assert all(name.startswith("plusb_mine") for name in names)


def test_equal_elements_are_written_once():
    names = re.findall(r"^module plusb_x_pe\w*", engine_unit(EngineConfig(), "plusb_x").verilog, re.MULTILINE)
    assert len(names) <= 4, "inner ones, and those at the right edge, at the lower edge and in the corner"


def test_text_is_clean(unit):
    text = unit.verilog
    assert text.startswith("// plusb_mine: ")
    assert text.endswith("endmodule\n")
    assert "\\" not in text, "no escaped names"
    assert "$" not in re.sub(r"\$(signed|unsigned)\b", "", text), "no names made of numbers"
    assert "(*" not in text, "no attributes, and so no source paths"
    assert "always @*" not in text, "nothing that waits for an input to change"
    assert str(os.getcwd()) not in text


def test_name_changes_only_names(unit):
    other = engine_unit(SMALL, "plusb_other")
    assert other.verilog == unit.verilog.replace("plusb_mine", "plusb_other")


def test_size_grows_slower_than_the_array():
    sizes = [len(engine_unit(EngineConfig(rows=n, cols=n)).verilog) for n in (4, 8)]
    assert sizes[1] < 2 * sizes[0]


@pytest.mark.parametrize("name", CONFIGS)
def test_lint(name, tmp_path):
    unit = engine_unit(CONFIGS[name], f"plusb_{name}")
    (tmp_path / f"plusb_{name}.v").write_text(unit.verilog, encoding="utf-8")
    verilator.run(["--lint-only", "-Wall", *verilator.WAIVERS, "--top-module", unit.name, f"plusb_{name}.v"], tmp_path)
