"""Formal equivalence of a component's portable hardware and what a device has instead, by the solver in Yosys."""

import enum
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..rtl.target import Target
from .vendor import run_yosys, with_cells

__all__ = ["Proof", "Verdict", "prove"]

_MAP = Path(__file__).with_name("schoolbook.v")
_SIDES = ("golden", "vendor")
_FLATTEN = "hierarchy -check -top top; proc -norom; flatten; async2sync; memory_collect; memory_map; opt_clean"
# The golden side in the shape of a target's multiplier, where that is built of smaller ones.
_RESHAPE = {Target.ice40: f"opt; wreduce; techmap -map {_MAP.name}; opt_clean; "}
# Equal logic of both sides becomes one, bit by bit of the registers, so that the solver need not multiply.
_MERGE = "opt; wreduce; simplemap t:$dff; opt; "
_SIGNAL = re.compile(r"\b(golden|vendor)\.([A-Za-z_]\w*)(\[\d+\])?")


class Verdict(str, enum.Enum):
    """What a solver said."""

    proven = "proven"
    refuted = "refuted"
    undecided = "undecided"

    def __str__(self):
        return self.value


@dataclass(frozen=True)
class Proof:
    """A verdict and, if it is ``refuted``, how the two differ.

    Parameters
    ----------
    verdict : Verdict
    trace : tuple of dict
        A counterexample: in each cycle the value of each input but the clock, and of each output as ``golden.<name>``
        and ``vendor.<name>``; empty otherwise.
    """

    verdict: Verdict
    trace: tuple = ()


def prove(golden, vendor, target, *, latency=None, properties=None, steps=20, timeout=60):
    """Prove that two circuits put out the same for all inputs in all cycles.

    With a ``latency`` neither may have feedback. Every output is then a function of the inputs of the last cycles, as
    many as there are registers on the way, whatever those held before. So a comparison of one cycle after ``latency``
    free ones, from a free state, is a complete proof for all later ones. Registers with equal inputs are taken for one,
    which they are by then. For iCE40 the golden side's products of more than 8 bits become sums of products of bytes
    (``schoolbook.v``): there the distributive law is taken for granted.

    Without, it is an induction over cycles from the state at power-on, with the reset as a free input in each.

    Parameters
    ----------
    golden, vendor : str
        Verilog of either, as the generator writes it, with the module ``top`` and the same ports.
    target : Target
        Device of the cells in ``vendor``.
    latency : int or None
        In cycles, 0 for circuits without registers.
    properties : list of str or None
        Verilog expressions that have to hold in every cycle; ``None`` takes the equality of every output. Signals, also
        inner ones and words of memories, are ``golden.<name>`` and ``vendor.<name>``. All are one hypothesis of the
        induction, so that further ones help.
    steps : int
        Longest induction tried, in cycles.
    timeout : float
        In seconds.

    Returns
    -------
    Proof
        Undecided if the time was over, or the induction did not succeed in as many steps.

    Raises
    ------
    TypeError
        If ``latency`` is no integer.
    ValueError
        If ``latency`` is negative, the ports differ or a property names a signal that is not there.
    FlowError
        If the solver did not run, or there is feedback in spite of a latency.
    """
    if latency is not None and (not isinstance(latency, int) or isinstance(latency, bool)):
        raise TypeError(f"latency must be an integer or None, not {latency!r}")
    if latency is not None and latency < 0:
        raise ValueError(f"latency must be at least 0, not {latency!r}")
    design = _flat(golden, vendor, target)
    miter, shown = _miter(design["modules"], properties)
    if latency is None:
        prepare, search = "", f"-tempinduct -maxsteps {steps}"
    else:
        prepare = "scc -all_cell_types -expect 0; setattr -unset init w:*; "
        search = f"-seq {latency + 1} -prove-skip {latency}"
    script = (
        f"read_json flat.json; read_verilog miter.v; hierarchy -check -top miter; proc; flatten; {prepare}{_MERGE}"
        f"tee -q -o log sat {search} -prove same 1 -show-ports -dump_json trace.json"
    )
    files = {"flat.json": json.dumps(design), "miter.v": miter}
    try:
        files = run_yosys(files, script, "log", timeout=timeout)
    except subprocess.TimeoutExpired:
        return Proof(Verdict.undecided)
    if re.search(r"(no model found|Induction step proven): SUCCESS!", files["log"]):
        return Proof(Verdict.proven)
    # A failed induction step leaves a trace too, but of a state that may never be reached.
    if re.search(r"model found( for base case)?: FAIL!", files["log"]):
        return Proof(Verdict.refuted, _trace(files["trace.json"], shown))
    return Proof(Verdict.undecided)


def _flat(golden, vendor, target):
    """Both sides as Yosys' JSON, without hierarchy, with models instead of cells and registers instead of memories."""
    files, models = with_cells({"golden.v": golden, "vendor.v": vendor, _MAP.name: _MAP.read_text("utf-8")}, target)
    script = (
        f"{models}; read_verilog vendor.v; {_FLATTEN}; rename top vendor; design -stash vendor; "
        f"read_verilog golden.v; {_FLATTEN}; {_RESHAPE.get(target, '')}rename top golden; "
        "design -copy-from vendor -as vendor vendor; write_json flat.json"
    )
    return json.loads(run_yosys(files, script, "flat.json")["flat.json"])


def _miter(modules, properties):
    """A Verilog module around both sides, whose output ``same`` tells whether the properties hold, and its other ports.

    Inner signals that they name become ports of the sides in ``modules``.
    """
    ports, others = (
        {name: (port["direction"], len(port["bits"])) for name, port in modules[side]["ports"].items()}
        for side in _SIDES
    )
    if ports != others:
        raise ValueError(f"golden and vendor must have the same ports, not {sorted(ports)} and {sorted(others)}")
    inputs = [name for name, (direction, _) in ports.items() if direction == "input"]
    outputs = [name for name in ports if name not in inputs]
    wires = {}

    def wire(side, name):
        if name in inputs:
            return name
        if name not in modules[side]["ports"]:
            if name not in modules[side]["netnames"]:
                raise ValueError(f"properties must name signals that are there, not {side}.{name}")
            modules[side]["ports"][name] = {"direction": "output", "bits": modules[side]["netnames"][name]["bits"]}
        return wires.setdefault((side, name), f"{side}_{len(wires)}")

    def replace(match):
        side, name, index = match.groups()
        word = f"{name}{index}"
        return wire(side, word) if word in modules[side]["netnames"] else wire(side, name) + (index or "")

    for name in outputs:
        for side in _SIDES:
            wires[side, name] = f"\\{side}.{name} "
    if properties is None:
        properties = [f"golden.{name} == vendor.{name}" for name in outputs]
    holds = [_SIGNAL.sub(replace, text) for text in properties]
    listed = [f"input {_range(ports[name][1])} {name}" for name in inputs]
    listed += [f"output {_range(ports[name][1])} {wires[side, name]}" for name in outputs for side in _SIDES]
    lines = [f"module miter ({', '.join(listed)}, output same);"]
    for (side, name), wire_name in wires.items():
        if name not in outputs:
            lines.append(f"wire {_range(len(modules[side]['ports'][name]['bits']))} {wire_name};")
    for side in _SIDES:
        joined = [f".{name}({name})" for name in inputs]
        joined += [f".\\{name} ({text})" for (owner, name), text in wires.items() if owner == side]
        lines.append(f"{side} {side} ({', '.join(joined)});")
    lines.append(f"assign same = {' & '.join(f'({text})' for text in holds)};")
    shown = [name for name in inputs if name != "clk"] + [f"{side}.{name}" for name in outputs for side in _SIDES]
    return "\n".join([*lines, "endmodule\n"]), shown


def _range(width):
    return f"[{width - 1}:0]"


def _trace(text, names):
    """Values of ports in each cycle, from a WaveJSON file."""
    columns = {}
    for signal in json.loads(text)["signal"]:
        values, data = [], iter(signal.get("data", ()))
        for symbol in signal["wave"]:
            if symbol == ".":
                values.append(values[-1])
            else:
                bits = symbol if symbol in "01" else next(data, "")
                values.append(int(bits, 2) if bits else None)
        columns[signal["name"]] = values
    columns = {name: columns[name] for name in names}
    # Where there are registers, the first place is the state before, of which a port has no value.
    cycles = [row for row in zip(*columns.values(), strict=True) if None not in row]
    return tuple(dict(zip(columns, row, strict=True)) for row in cycles)
