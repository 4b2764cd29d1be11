"""From an Amaranth design to a bitstream: one flow for all families."""

import json
import re
import subprocess
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from ..rtl.target import Target
from . import report
from .clocking import solve_for
from .pairing import HIDE, REVEAL, STUB, STUB_FILE, pair_multipliers
from .tools import FIRST_CALL, FlowError, find_tool

__all__ = ["FlowError", "build", "prepare", "synthesize"]


@dataclass(frozen=True)
class _Family:
    """Tools of a family, and the files that pass between them."""

    synth: str
    nextpnr: str
    pack: str
    constraints: str
    placed: str
    bitstream: str


_FAMILIES = {
    "ice40": _Family("synth_ice40", "nextpnr-ice40", "icepack", "pcf", "asc", "bin"),
    "ecp5": _Family("synth_ecp5", "nextpnr-ecp5", "ecppack", "lpf", "config", "bit"),
    "gowin": _Family("synth_gowin", "nextpnr-himbaechel", "gowin_pack", "cst", "pnr.json", "fs"),
}


def _silent(step, detail):
    """Progress that nobody watches."""


class _Runner:
    """Runs the tools in one folder, since the WebAssembly ones see no other."""

    def __init__(self, directory, progress):
        self.directory = directory
        self._progress = progress
        self.tools = []
        self.seconds = {}

    def run(self, step, name, arguments, product, explain=lambda log: None):
        """Call the tool ``name``; ``product`` must exist afterwards, or :class:`FlowError` says why it does not."""
        tool = find_tool(name)
        self.tools.append(str(tool))
        self._progress(step, str(tool))
        (self.directory / product).unlink(missing_ok=True)
        log = self.directory / f"{step}.log"
        begin = time.monotonic()
        with (
            open(log, "w", buffering=1) as file,
            subprocess.Popen(
                [tool.program, *arguments],
                cwd=self.directory,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            ) as process,
        ):
            try:
                for line in process.stdout:
                    file.write(line)
                    self._progress(step, FIRST_CALL if line.startswith("Preparing to run") else line.rstrip())
            except BaseException:
                process.kill()
                raise
        self.seconds[step] = round(time.monotonic() - begin, 1)
        # WebAssembly programs may end without a word or a code: only the product counts.
        if process.returncode or not (self.directory / product).exists():
            text = log.read_text()
            raise FlowError(explain(text) or f"{tool} wrote no {product}: {_reason(text)} (log: {log})")


def _reason(log):
    """The line of a log that says what went wrong."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR") or "Assert" in line or "Error:" in line]
    return (errors or lines or ["it ended without a message"])[-1]


def prepare(board, top, directory, name="plusb"):
    """Write the design as RTLIL, and the board's constraints, into ``directory``.

    Parameters
    ----------
    board : Board
    top : Elaboratable
        Requests its pins from the platform, as :class:`~plusb.fpga.top.BoardTop` does.
    directory : Path
    name : str
        Of the top module and the files.
    """
    try:
        platform = board.create_platform()
    except ModuleNotFoundError as error:
        raise FlowError(f"the board definitions are missing ({error.name}): pip install 'plusb[fpga]'") from error
    with warnings.catch_warnings():
        # Of amaranth-boards' own making.
        warnings.simplefilter("ignore", DeprecationWarning)
        plan = platform.build(top, name, do_build=False, debug_verilog=False, emit_src=False)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.il").write_text(_free_collisions(plan.files[f"{name}.il"]))
    suffix = _FAMILIES[board.device.family].constraints
    (directory / f"{name}.{suffix}").write_text(plan.files[f"{name}.{suffix}"])


def _free_collisions(rtlil):
    """Mark the read ports of memories with the attribute ``no_rw_check``: what they read while written is unused.

    Amaranth always asks for the old data, and Yosys honors its own attribute only for ports that it finds itself; a
    block memory would then get a comparator and a second data register.
    """
    modules = re.split(r"(?m)^(?=module )", rtlil)
    return "".join(
        re.sub(r"(\\COLLISION_X_MASK (\d+))'0+\n", lambda found: f"{found[1]}'{'1' * int(found[2])}\n", module)
        if "\\no_rw_check 1" in module
        else module
        for module in modules
    )


def _synthesize(board, runner, name):
    family = _FAMILIES[board.device.family]
    # With public names, Yosys' ABC pass aborts on arrays of identical modules (Yosys issue 4349). That of the clocking
    # stays, for the sake of the clocks' names in the reports.
    keeps = board.target is Target.ice40
    if keeps:
        (runner.directory / STUB_FILE).write_text(STUB)
    script = (
        f"read_rtlil {name}.il; select -set named */c:clocking; rename -hide @named %n; {HIDE if keeps else ''}"
        f"{family.synth} {' '.join(board.device.synth)} -top {name}; {REVEAL if keeps else ''}"
        f"write_json {name}.json; tee -q -o {name}.stat stat -json"
    )
    runner.run("synthesis", "yosys", ["-p", script], f"{name}.json")
    if keeps:
        path = runner.directory / f"{name}.json"
        netlist = json.loads(path.read_text())
        if pair_multipliers(netlist, board.device.dsps):
            path.write_text(json.dumps(netlist))


def synthesize(board, top, directory, *, name="plusb", progress=_silent):
    """Only as far as the netlist; returns Yosys' cell counts. See :func:`build`."""
    directory = Path(directory).resolve()
    prepare(board, top, directory, name)
    _synthesize(board, _Runner(directory, progress), name)
    return report.read_stat(directory / f"{name}.stat")


def build(board, top, directory, *, freq_mhz=None, seed=1, name="plusb", allow_slow=False, progress=_silent):
    """Build the bitstream of ``top`` for ``board``.

    Parameters
    ----------
    board : Board
    top : Elaboratable
    directory : Path
        Where all files go.
    freq_mhz : float or None
        The clock ``top`` makes for itself; None for the board's usual one.
    seed : int
        Of nextpnr's placer.
    name : str
        Of the top module and the files.
    allow_slow : bool
        Go on if the clock is not met.
    progress : callable
        Called with the step and its latest line of output.

    Returns
    -------
    BuildResult

    Raises
    ------
    FlowError
        If a tool is missing or fails, the design does not fit, or the clock is not met.
    """
    directory = Path(directory).resolve()
    family = _FAMILIES[board.device.family]
    pll = solve_for(board, freq_mhz or board.freq_mhz)
    freq = pll.clock_out if pll else board.clock_mhz
    placed, bitstream, svg = f"{name}.{family.placed}", f"{name}.{family.bitstream}", f"{name}.svg"
    runner = _Runner(directory, progress)
    progress("elaboration", board.title)
    prepare(board, top, directory, name)
    _synthesize(board, runner, name)

    pins = f"{name}.{family.constraints}"
    files = {
        "ice40": ("--pcf", pins, "--asc", placed),
        # The default router needs four times as long for an array of 8x8.
        "ecp5": ("--lpf", pins, "--textcfg", placed, "--router", "router2"),
        "gowin": ("--vopt", f"cst={pins}", "--write", placed),
    }[board.device.family]
    runner.run(
        "placement",
        family.nextpnr,
        [
            *board.device.nextpnr,
            *board.package,
            *files,
            "--json",
            f"{name}.json",
            "--freq",
            f"{freq:g}",
            "--seed",
            str(seed),
            "--timing-allow-fail",
            "--report",
            f"{name}.report",
            "--placed-svg",
            svg,
        ],
        placed,
        lambda log: report.explain_overflow(board.device, log),
    )
    figures = json.loads((directory / f"{name}.report").read_text())
    clocks = report.read_clocks(figures, {"crystal": board.clock_mhz, "engine": freq})
    if not allow_slow:
        _check_clocks(clocks, seed)

    runner.run(
        "packing",
        family.pack,
        {
            "ice40": (placed, bitstream),
            "ecp5": (*board.pack_options, "--input", placed, "--bit", bitstream),
            "gowin": (
                "-d",
                board.device.nextpnr[-1].removeprefix("family="),
                *board.pack_options,
                "-o",
                bitstream,
                placed,
            ),
        }[board.device.family],
        bitstream,
    )
    utilization = report.read_utilization(figures)
    cells = report.read_stat(directory / f"{name}.stat")
    return report.BuildResult(
        board=board.name,
        top=name,
        seed=seed,
        freq_mhz=freq,
        utilization=utilization,
        cells=cells,
        clocks=clocks,
        tools=tuple(runner.tools),
        seconds=runner.seconds,
        bitstream=directory / bitstream,
        placed_svg=directory / svg,
        **report.figures(board.device.family, utilization, cells),
    )


def _check_clocks(clocks, seed):
    slow = {name: clock for name, clock in clocks.items() if not clock.is_met}
    if slow:
        name, clock = min(slow.items(), key=lambda item: item[1].achieved / item[1].wanted)
        raise FlowError(
            f"the {name} clock reaches {clock.achieved:.1f} MHz, not {clock.wanted:.1f} MHz: "
            f"try --freq {int(clock.achieved)} or a seed other than {seed}"
        )
