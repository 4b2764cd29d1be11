"""A unit as a device would execute it, for simulation: with vendor blocks, or synthesized, and the cells' behaviour."""

import json
import subprocess
import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from ..gen.unit import engine_unit
from ..rtl.target import Target
from .pairing import HIDE, REVEAL, STUB, STUB_FILE, pair_multipliers
from .tools import FlowError, find_tool

__all__ = ["TARGETS", "netlist_unit", "vendor_unit", "with_models"]

_OWN_CELLS = Path(__file__).with_name("ecp5_cells.v")
# Yosys' own models of the cells, and how it synthesizes: without block memories, of which ECP5's have no model.
_MODELS = {
    Target.ecp5: "read_verilog -overwrite +/ecp5/cells_sim.v; read_verilog ecp5_cells.v",
    Target.ice40: "read_verilog -D ICE40_U +/ice40/cells_sim.v",
}
_SYNTHESIS = {Target.ecp5: "synth_ecp5 -nobram", Target.ice40: "synth_ice40 -device u -dsp"}
#: Targets that have models.
TARGETS = tuple(_MODELS)


@lru_cache(maxsize=8)
def vendor_unit(config, target):
    """The engine with a target's blocks, and models of them.

    Parameters
    ----------
    config : EngineConfig
    target : Target

    Returns
    -------
    Unit
        Its Verilog needs nothing else.
    """
    unit = engine_unit(config, target=target)
    return replace(unit, verilog=with_models(unit.verilog, unit.name, target))


@lru_cache(maxsize=8)
def netlist_unit(config, target):
    """As :func:`vendor_unit`, after synthesis: look-up tables, flip-flops and blocks, and models of them."""
    unit = engine_unit(config, target=target)
    hide, reveal = (HIDE, REVEAL) if target is Target.ice40 else ("", "")
    # Public names would meet Yosys issue 4349; the top's ports keep theirs.
    script = (
        f"read_verilog unit.v; {hide}rename -hide w:* c:*; {_SYNTHESIS[target]} -top {unit.name}; "
        f"{reveal}write_json netlist.json"
    )
    netlist = json.loads(_yosys({"unit.v": unit.verilog, STUB_FILE: STUB}, script, "netlist.json"))
    # The cells' models come from elsewhere.
    netlist["modules"] = {unit.name: netlist["modules"][unit.name]}
    pair_multipliers(netlist)
    text = _link({"netlist.json": json.dumps(netlist)}, "read_json netlist.json", unit.name, target)
    return replace(unit, verilog=text)


def with_models(verilog, top, target):
    """A Verilog text with the vendor cells in it replaced by what they do."""
    return _link({"unit.v": verilog}, "read_verilog unit.v", top, target)


def _link(files, read, top, target):
    files = files | {_OWN_CELLS.name: _OWN_CELLS.read_text(encoding="utf-8")}
    script = (
        f"{_MODELS[target]}; {read}; hierarchy -check -top {top}; proc -norom; flatten; opt_clean -purge; "
        "write_verilog -noattr linked.v"
    )
    return _yosys(files, script, "linked.v")


def _yosys(files, script, product):
    tool = find_tool("yosys")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        run = subprocess.run([tool.program, "-q", "-p", script], cwd=folder, capture_output=True, text=True)
        if not (folder / product).exists():
            lines = (run.stderr + run.stdout).strip().splitlines() or ["it ended without a message"]
            raise FlowError(f"{tool} wrote no {product}: {lines[-1]}")
        return (folder / product).read_text(encoding="utf-8")
