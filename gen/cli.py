"""The command line ``plusb``: finds the subcommand, and turns whatever goes wrong into one line and an exit code."""

import importlib
import os
import sys
import warnings

from .commands.common import CommandError, Parser
from .version import __version__

__all__ = ["COMMANDS", "main"]

#: Each subcommand: the module that holds ``add_arguments(parser)`` and ``execute(arguments)``, and what it does.
#: A module is imported only when its command is called, so that no command waits for, or needs, what another uses.
COMMANDS = {
    "gen": ("plusb.gen.commands.generate", "write the Verilog of a unit and its manifest"),
    "run": ("plusb.gen.commands.run", "run a network on the simulated unit, or a board, and compare every layer"),
    "conform": ("plusb.gen.commands.conform", "compare installed runtimes with golden model and hardware"),
    "bench": ("plusb.gen.commands.bench", "measure cycles, utilization, generation and simulation speed"),
    "passes": ("plusb.gen.commands.passes", "tell what would fold into a model's weights and biases, and why"),
    "study": ("plusb.gen.commands.study", "measure what a choice costs in accuracy"),
    "fpga": ("plusb.gen.commands.fpga", "list boards, build bitstreams, emulate and test boards"),
    "doctor": ("plusb.gen.commands.doctor", "tell what is installed and what is missing"),
}


def main(argv=None):
    """Run ``plusb`` with the given arguments (default: the process's own) and return its exit code.

    0 means success, 1 that a check failed, 2 bad input or a missing tool, 130 an interrupt. Anything but success prints
    exactly one line to stderr.
    """
    # An error in the middle of elaboration drops what is half built, and Amaranth would warn of every piece.
    warnings.filterwarnings("ignore", message=".* created but never used")
    try:
        code = _run(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()
        return code
    except CommandError as error:
        return _fail(error, error.code)
    except BrokenPipeError:
        # Python flushes stdout once more at exit, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _fail("whoever read the output has closed it", 2)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}", 2)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)


def _run(argv):
    from ..sim.verilator import ToolError

    parser = Parser(
        prog="plusb",
        description="Generates int8 matmul units whose bias epilogue costs no cycle, and shows that it is right.",
        epilog="commands: " + "; ".join(f"{name}: {summary}" for name, (_, summary) in COMMANDS.items()),
    )
    parser.add_argument("--version", action="version", version=f"plusb {__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="command", help=", ".join(COMMANDS))
    # Only the words up to the command are the top parser's; the rest belongs to the command.
    count = next((i + 1 for i, word in enumerate(argv) if not word.startswith("-")), len(argv))
    try:
        command = parser.parse_args(argv[:count]).command
        path, summary = COMMANDS[command]
        module = _load(path)
        parser = Parser(prog=f"plusb {command}", description=summary[0].upper() + summary[1:] + ".")
        module.add_arguments(parser)
        arguments = parser.parse_args(argv[count:])
    except SystemExit as stop:  # --help and --version print and stop
        return stop.code
    try:
        return module.execute(arguments)
    except ToolError as error:
        raise CommandError(str(error)) from error


def _load(path):
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name.startswith("plusb."):
            raise
        raise CommandError(f"the package {error.name} is missing; `plusb doctor` tells how to install it") from error


def _fail(message, code):
    print(f"error: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
