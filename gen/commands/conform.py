"""``plusb conform``: the installed runtimes on randomized models, against golden model and simulated hardware."""

import argparse
from contextlib import nullcontext
from pathlib import Path

from ...sim.burst import open_unit
from ...sim.conform import installed, missing_packages, survey, survey_vectors
from ...sim.golden import RUNTIMES
from ..exactness import exact_runtimes
from .common import CommandError, load_config, print_json, whole_number
from .terminal import progress_bar, table

__all__ = ["add_arguments", "execute"]


def _natural(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be an integer of at least 0, not {text!r}")
    return int(text)


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    parser.add_argument(
        "--config",
        default="conform",
        metavar="NAME",
        help="a preset or the path of a .toml file (default: conform, which builds every rounding family)",
    )
    parser.add_argument(
        "--runtime",
        action="append",
        choices=tuple(RUNTIMES),
        help=f"ask only this one of {', '.join(RUNTIMES)}; may be repeated (default: every one that is installed)",
    )
    parser.add_argument(
        "--outputs",
        type=whole_number,
        default=100_000,
        metavar="N",
        help="outputs of each operator to compare with the golden model, at least (default: 100000)",
    )
    parser.add_argument(
        "--rtl-outputs",
        type=_natural,
        default=20_000,
        metavar="N",
        help="and with the simulated hardware; 0 builds none (default: 20000)",
    )
    parser.add_argument("--vectors", type=Path, metavar="DIR", help="compare committed answers of runtimes as well")
    parser.add_argument("--seed", type=_natural, default=1, metavar="N", help="of the random models (default: 1)")
    parser.add_argument("--json", action="store_true", help="print the rows for a script")


def execute(arguments):
    """Compare and print; exit code 1 if an output differs."""
    short, config = load_config(arguments.config)
    if config.epilogue is None:
        raise CommandError(f"conform needs a unit with an epilogue, and {arguments.config} has none")
    runtimes = tuple(dict.fromkeys(arguments.runtime or RUNTIMES))
    missing = {runtime: missing_packages(runtime) for runtime in runtimes}
    asked = [runtime for runtime in runtimes if not missing[runtime]]
    if not asked and arguments.vectors is None:
        packages = dict.fromkeys(package for runtime in runtimes for package in missing[runtime])
        raise CommandError(f"no runtime to compare with: {', '.join(packages)} missing; pip install 'plusb[models]'")
    with progress_bar(quiet=arguments.json) as show:
        if arguments.rtl_outputs and exact_runtimes(config):
            show(f"building the simulation of {short}", None)
            context = open_unit(config)
        else:
            context = nullcontext()
        with context as unit:
            rows = _vectors(config, unit, arguments.vectors)
            rows += survey(
                config,
                unit,
                runtimes=asked,
                outputs=arguments.outputs,
                rtl_outputs=arguments.rtl_outputs,
                seed=arguments.seed,
                progress=show,
            )
    if arguments.json:
        _print_json(short, config, arguments.seed, rows, missing)
    else:
        _print(short, config, arguments.seed, rows, missing)
    return 1 if any(row.mismatches for row in rows) else 0


def _found(runtime, packages):
    return f"skipped: {', '.join(packages)} missing" if packages else installed(runtime)


def _vectors(config, unit, folder):
    try:
        return [] if folder is None else list(survey_vectors(config, unit, folder))
    except ValueError as error:
        raise CommandError(str(error)) from error


def _print_json(short, config, seed, rows, missing):
    print_json(
        {
            "config": short,
            "config_hash": config.config_hash,
            "seed": seed,
            "runtimes": {runtime: installed(runtime) for runtime in missing if not missing[runtime]},
            "skipped": {runtime: packages for runtime, packages in missing.items() if packages},
            "rows": [row.as_json() for row in rows],
            "outputs": sum(row.outputs for row in rows),
            "mismatches": sum(row.mismatches for row in rows),
        }
    )


def _print(short, config, seed, rows, missing):
    table(
        ["runtime", "operator", "family", "where", "outputs", "near ties", "mismatches", ""],
        [
            [
                row.runtime,
                row.op,
                row.family,
                row.where,
                f"{row.outputs:,}",
                f"{row.near_ties:,}",
                f"{row.mismatches:,}",
                row.note or (f"{row.undecided:,} below 31 bits" if row.undecided else ""),
            ]
            for row in rows
        ],
    )
    print()
    print(f"unit        {short}, configuration {config.config_hash}; seed {seed}")
    for runtime, packages in missing.items():
        print(f"{runtime:<15} {_found(runtime, packages)}")
    if any(row.undecided for row in rows):
        print("below 31 bits: the runtime multiplies in float64 and the exact tie lies below the multiplier's last bit")
    outputs = {place: sum(row.outputs for row in rows if row.where == place) for place in ("golden", "rtl")}
    wrong = sum(row.mismatches for row in rows)
    print(f"compared {outputs['golden']:,} outputs with the golden model, {outputs['rtl']:,} with hardware")
    print(f"{wrong:,} mismatches")
