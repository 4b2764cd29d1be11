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

__all__ = ["TARGETS", "netlist_unit", "run_yosys", "synthesized", "vendor_unit", "with_cells", "with_models"]

_OWN_CELLS = Path(__file__).with_name("ecp5_cells.v")
# Yosys' own models of the cells, and how it synthesizes: without block memories, of which ECP5's have no model. Models
# are elaborated only if used: those of all of iCE40's memories take minutes.
_MODELS = {
    Target.ecp5: "read_verilog -overwrite +/ecp5/cells_sim.v; read_verilog ecp5_cells.v",
    Target.ice40: "read_verilog -defer -D ICE40_U +/ice40/cells_sim.v",
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
    return replace(unit, verilog=with_models(synthesized(unit.verilog, unit.name, target), unit.name, target))


def synthesized(verilog, top, target):
    """The netlist of a target's cells, as Yosys' JSON, with multipliers in pairs as the flow makes them."""
    hide, reveal = (HIDE, REVEAL) if target is Target.ice40 else ("", "")
    # Public names would meet Yosys issue 4349; the top's ports keep theirs.
    script = (
        f"read_verilog unit.v; {hide}rename -hide w:* c:*; {_SYNTHESIS[target]} -top {top}; "
        f"{reveal}write_json netlist.json"
    )
    netlist = json.loads(run_yosys({"unit.v": verilog, STUB_FILE: STUB}, script, "netlist.json")["netlist.json"])
    # The cells' models come from elsewhere.
    netlist["modules"] = {top: netlist["modules"][top]}
    pair_multipliers(netlist)
    return netlist


def with_models(design, top, target):
    """A Verilog text, or a netlist as Yosys' JSON, with the vendor cells in it replaced by what they do: Verilog."""
    if isinstance(design, str):
        files, read = {"unit.v": design}, "read_verilog unit.v"
    else:
        files, read = {"netlist.json": json.dumps(design)}, "read_json netlist.json"
    files, models = with_cells(files, target)
    script = (
        f"{models}; {read}; hierarchy -check -top {top}; proc -norom; flatten; opt_clean -purge; "
        "write_verilog -noattr linked.v"
    )
    return run_yosys(files, script, "linked.v")["linked.v"]


def with_cells(files, target):
    """``files`` with those of a target's models, and the Yosys command that reads these."""
    return files | {_OWN_CELLS.name: _OWN_CELLS.read_text(encoding="utf-8")}, _MODELS[target]


def run_yosys(files, script, product, *, timeout=None):
    """Run a script on files, given and returned by name.

    Raises
    ------
    FlowError
        If it does not write the file ``product``.
    subprocess.TimeoutExpired
        After ``timeout`` seconds.
    """
    tool = find_tool("yosys")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        command = [tool.program, "-q", "-p", script]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout)
        if not (folder / product).exists():
            lines = (run.stderr + run.stdout).strip().splitlines() or ["it ended without a message"]
            raise FlowError(f"{tool} wrote no {product}: {lines[-1]}")
        return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
