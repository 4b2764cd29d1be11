"""``plusb gen``: Verilog and manifest of a unit."""

import sys

from ...rtl.presets import PRESETS
from ...rtl.target import Target
from ..files import check_folder, write_files
from ..manifest import manifest_json
from ..names import check_module_name
from ..unit import engine_unit, epilogue_unit
from .common import CommandError, add_config, load_config

__all__ = ["TOPS", "add_arguments", "execute"]

#: What can be generated of a configuration, and how the default name ends.
TOPS = {"engine": (engine_unit, ""), "epilogue": (epilogue_unit, "_epilogue")}


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    add_config(parser)
    parser.add_argument(
        "--out",
        "-o",
        default=".",
        metavar="DIR",
        help="folder to write to, or - for the Verilog on stdout (default: .)",
    )
    parser.add_argument("--name", help="of the top module and of the files (default: plusb_<config>[_epilogue])")
    parser.add_argument(
        "--top",
        choices=tuple(TOPS),
        default="engine",
        help="the array with its epilogue, or the epilogue alone, for the accumulators of any array (default: engine)",
    )
    parser.add_argument(
        "--target",
        choices=tuple(map(str, Target)),
        default="portable",
        help="device whose arithmetic blocks are instantiated (default: portable, which has none)",
    )
    parser.add_argument("--list-presets", action="store_true", help="list the named configurations and stop")


def execute(arguments):
    """Generate, and say what was written."""
    if arguments.list_presets:
        width = max(map(len, PRESETS))
        for name, config in PRESETS.items():
            print(f"{name:<{width}}  {_describe(config)}")
        return 0
    short, config = load_config(arguments.config)
    make, suffix = TOPS[arguments.top]
    if arguments.top == "epilogue" and config.epilogue is None:
        raise CommandError(f"--top epilogue needs a unit with an epilogue, and {arguments.config} has none")
    name = f"plusb_{short}{suffix}" if arguments.name is None else arguments.name
    try:
        check_module_name(name)
    except ValueError as error:
        raise CommandError(str(error)) from error
    to_stdout = arguments.out == "-"
    if not to_stdout:
        check_folder(arguments.out)
    unit = make(config, name, Target(arguments.target))
    if to_stdout:
        sys.stdout.write(unit.verilog)
        return 0
    written = write_files(arguments.out, {f"{name}.v": unit.verilog, f"{name}.json": manifest_json(unit)})
    what = _describe(config) if arguments.top == "engine" else _describe_epilogue(config)
    print(f"{name}: {what}, configuration {config.config_hash}")
    for path, size in written:
        print(f"wrote {path} ({size:,} bytes)")
    return 0


def _describe(config):
    lanes = f"{config.lanes} epilogue lane{'s' if config.lanes > 1 else ''}" if config.epilogue else "no epilogue"
    return f"{config.rows}x{config.cols} {config.activation} x {config.weight}, {lanes}, K up to {config.max_k}"


def _describe_epilogue(config):
    lanes = f"{config.lanes} lane{'s' if config.lanes > 1 else ''}"
    return f"epilogue of rows of {config.cols} int{config.raw_width} accumulators, {lanes}"
