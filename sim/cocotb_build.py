"""Simulators for cocotb: generated Verilog compiled once, ready for any number of runs."""

import hashlib
import logging
import os
import shutil
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from cocotb_tools import runner

from . import verilator
from .cache import build_once, find_build

__all__ = ["SIMULATORS", "build", "changed_environment", "make_runner"]

SIMULATORS = ("verilator", "icarus")
#: A generated file has no `timescale of its own, and Icarus needs one for a clock of some nanoseconds.
_TIMESCALE = ("1ns", "1ps")
_RUNTIME = "cocotb-runtime"


def build(design, simulator, waves):
    """The folder with the simulator of a design, compiled the first time.

    Parameters
    ----------
    design : Design
    simulator : str
        One of :data:`SIMULATORS`.
    waves : bool
        Whether it can write a waveform.

    Returns
    -------
    Path

    Raises
    ------
    ToolError
        If a tool is missing or refuses the design.
    """
    if simulator == "icarus":
        verilator.require("iverilog")
        environment, sources, arguments = {}, [], []
    else:
        environment = verilator.environment() | {"MAKEFLAGS": f"{verilator.PRECOMPILED_HEADER} OPT_FAST=-O1"}
        sources, arguments = [Path(path) for path in verilator.WAIVERS], ["--assert"]
    recipe = [simulator, waves, arguments, _TIMESCALE, version("cocotb"), version("verilator")]
    recipe += [environment.get("MAKEFLAGS"), *(source.read_text("utf-8") for source in sources)]
    runtime = _digest(recipe)

    def make(folder):
        source = folder / f"{design.name}.v"
        source.write_text(design.verilog, encoding="utf-8")
        tool = make_runner(simulator, runtime)
        with changed_environment(environment | {"WAVES": str(int(waves))}):
            try:
                tool.build(
                    sources=[*sources, source],
                    hdl_toplevel=design.name,
                    build_dir=folder,
                    build_args=arguments,
                    timescale=_TIMESCALE,
                    waves=waves,
                    always=True,
                    log_file=folder / "build.log",
                )
            except RuntimeError as error:
                lines = (folder / "build.log").read_text("utf-8", "replace").splitlines()
                # Verilator's first complaint says what is wrong; a last one only that something was.
                wrong = [line for line in lines if line.startswith("%") or "error" in line] or ["no message"]
                raise verilator.ToolError(f"{simulator} cannot build {design.name}: {wrong[0]}") from error
        tool.tidy(folder)

    return build_once(f"cocotb-{simulator}", _digest([*recipe, design.name, design.verilog]), make)


def make_runner(simulator, runtime=""):
    """cocotb's runner; ``runtime`` identifies what builds that differ only in the design have in common."""
    tool = _Icarus() if simulator == "icarus" else _Verilator(runtime)
    tool.log.setLevel(logging.CRITICAL)
    return tool


@contextmanager
def changed_environment(changes):
    """``os.environ`` with some changes: cocotb's runner lets it override what it is given."""
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class _Icarus(runner.Icarus):
    def tidy(self, folder):
        """Nothing to do: the simulator is one small file."""


class _Verilator(runner.Verilator):
    """Makes only the top's ports public: with everything public nothing is optimized, and large arrays take minutes.

    The objects of Verilator's own runtime are compiled once for all designs, which halves the time of a build.
    """

    def __init__(self, runtime):
        super().__init__()
        self._runtime = runtime

    def _build_command(self):
        verilate, make = super()._build_command()
        where = verilate.index("--public-flat-rw")
        verilate[where : where + 1] = ["--public-depth", "1"]
        shared = find_build(_RUNTIME, self._runtime)
        objects = [str(path) for path in shared.iterdir()] if shared else []
        return [verilate, *([["cp", *objects, str(self.build_dir)]] if objects else []), make]

    def tidy(self, folder):
        """Keep the runtime's objects for the next build; of the rest (150 MB) keep the program, source and log."""

        def share(shared):
            for compiled in folder.glob("verilated*.o"):
                shutil.copy(compiled, shared)

        build_once(_RUNTIME, self._runtime, share)
        for path in folder.iterdir():
            if path.suffix not in ("", ".v", ".log"):
                path.unlink()


def _digest(parts):
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()
