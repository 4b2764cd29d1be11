"""``plusb run``: a network on the simulated unit or on a board, every value compared with what it must be."""

import argparse
from pathlib import Path

from ...sim.layers import open_pair
from ...sim.verilator import ToolError
from ..digits import network
from .common import CommandError, add_config, load_config, print_json, whole_number
from .digits import report_json, run_digits
from .terminal import progress_bar, table

__all__ = ["add_arguments", "execute"]

#: The network that comes with the package.
_DIGITS = "digits"
_SUFFIXES = (".tflite", ".onnx")
#: As in ``plusb.gen.models``, which needs packages that the digits do not.
_RUNTIMES = ("litert-ref", "litert", "litert-xnnpack", "tflm", "ort")
#: Options that only files have.
_FILE_OPTIONS = ("input", "raw", "hop", "runtime", "layers", "golden")


def _model(text):
    if text == _DIGITS or text.endswith(_SUFFIXES):
        return text
    choices = f"{_DIGITS}, or the path of a {' or '.join(_SUFFIXES)} file"
    raise argparse.ArgumentTypeError(f"invalid choice: {text!r} (choose {choices})")


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    parser.add_argument("model", type=_model, metavar="MODEL", help="digits, or a .tflite or .onnx file")
    parser.add_argument("--input", type=Path, metavar="FILE", help=".npy, .npz, .bin or image (default: random)")
    parser.add_argument("--raw", action="store_true", help="the input file holds quantized values, not real ones")
    parser.add_argument("--hop", type=whole_number, metavar="N", help="values between two inputs in a .bin file")
    parser.add_argument(
        "--runtime",
        choices=_RUNTIMES,
        metavar="NAME",
        help=f"what a file is compared with: {', '.join(_RUNTIMES)} (default: litert-xnnpack, or ort for .onnx)",
    )
    add_config(parser)
    parser.add_argument("--layers", metavar="LIST", help="run these only: names or numbers a,b, or a range n..m")
    parser.add_argument("--limit", type=whole_number, metavar="N", help="run the first N inputs only (default: all)")
    parser.add_argument("--golden", action="store_true", help="compare the golden model instead of the hardware: fast")
    parser.add_argument("--json", action="store_true", help="print the result for a script")
    parser.add_argument(
        "--board", metavar="PORT", help="run on the board with --config at this serial port, simulate nothing"
    )
    parser.add_argument(
        "--baud", type=whole_number, default=1_000_000, metavar="N", help="of the board's UART (default: 1000000)"
    )
    parser.add_argument("--waves", type=Path, metavar="FILE", help="write a VCD file (large: combine with --limit)")


def execute(arguments):
    """Run the network and print what it showed; exit code 1 if a value is not what it must be."""
    short, config = load_config(arguments.config)
    if config.epilogue is None:
        raise CommandError(f"run needs a unit with an epilogue, and {arguments.config} has none")
    if arguments.board is not None and arguments.waves is not None:
        raise CommandError("argument --waves: a board at --board shows no waveform")
    if arguments.model != _DIGITS:
        from .model_run import execute_model

        return execute_model(arguments, short, config)
    for option in _FILE_OPTIONS:
        if getattr(arguments, option):
            raise CommandError(f"argument --{option}: digits come with their images and runtime; it is for model files")
    count = len(network.load().images)
    if arguments.limit is not None and arguments.limit > count:
        raise CommandError(f"argument --limit: must be in 1..{count} (the images there are), not {arguments.limit}")
    if arguments.board is not None:
        from .run_board import execute_on_board

        return execute_on_board(arguments, config)
    if arguments.waves is not None:
        arguments.waves.open("wb").close()  # Better to fail now than after minutes of building.
    try:
        with progress_bar(quiet=arguments.json) as show:
            show(f"building the simulation of {short}", None)
            with open_pair(config, waves=arguments.waves) as pair:
                report = run_digits(short, pair, limit=arguments.limit, progress=show)
    except ToolError:
        raise
    except (ValueError, RuntimeError) as error:
        raise CommandError(f"{arguments.config} cannot run {arguments.model}: {error}") from error
    if arguments.json:
        print_json(report_json(report))
    else:
        _print(report, config)
    return 1 if report.total("mismatches") else 0


def _print(report, config):
    images = report.layers[0].m
    print(
        f"digits, {images} images, on {report.config}: {config.rows}x{config.cols} array, {config.lanes} epilogue lanes"
    )
    table(
        ["layer", "operator", "M x K x N", "MACs", "cycles", "ideal", "utilization", "outputs", "mismatches"],
        [
            [
                layer.name,
                layer.op,
                f"{layer.m} x {layer.k} x {layer.n}",
                f"{layer.macs:,}",
                f"{layer.cycles:,}",
                f"{layer.ideal_cycles:,}",
                f"{layer.utilization:.2%}",
                f"{layer.outputs:,}",
                f"{layer.mismatches:,}",
            ]
            for layer in report.layers
        ],
    )
    cycles, raw = report.total("cycles"), report.total("cycles_raw")
    accuracy = ", ".join(f"{name} {value:.2%}" for name, value in report.accuracy.items())
    print(f"accuracy    {accuracy}")
    print(f"compared    {report.total('outputs'):,} outputs, {report.total('mismatches'):,} mismatches")
    print(f"cycles      {cycles:,} ({report.total('ideal_cycles') / cycles:.2%} of the array's MACs used)")
    print(f"epilogue    {raw:,} cycles with it off: it costs {cycles - raw:,} cycles in all, {_each(report)}")
    print(f"simulation  {report.total('seconds'):.2f} s, {report.cycles_per_second:,.0f} cycles/s")


def _each(report):
    differences = sorted({layer.cycles - layer.cycles_raw for layer in report.layers})
    span = f"{differences[0]}" if len(differences) == 1 else f"{differences[0]} to {differences[-1]}"
    return f"{span} a layer, its pipeline at the very end"
