"""``plusb study``: what the storage of the bias costs in accuracy, with confidence intervals."""

from dataclasses import asdict
from pathlib import Path

from ..models import RUNTIMES, ModelError
from .common import CommandError, print_json, whole_number
from .terminal import progress_bar, table

__all__ = ["add_arguments", "execute"]

STUDIES = ("bias-width",)
_STORED = ("model", "effective", "both")
_QUESTION = "costs 0.2-0.5 points?"
_VERDICTS = {
    None: "",
    "less": "false: costs less",
    "within": "true",
    "more": "false: costs more",
    "open": "undecided",
}


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    parser.add_argument("study", choices=STUDIES, metavar="STUDY", help=f"one of {', '.join(STUDIES)}")
    parser.add_argument(
        "model",
        nargs="?",
        metavar="MODEL",
        help="digits (the committed network), a .tflite or .onnx file (with --data); trained on the spot if left out",
    )
    parser.add_argument(
        "--data",
        metavar="DATA",
        help="shapes or digits to train on (default: shapes); for a file a .npz with x and, if there are labels, y",
    )
    parser.add_argument("--seeds", type=whole_number, default=5, metavar="N", help="networks to train (default: 5)")
    parser.add_argument("--runtime", choices=RUNTIMES, metavar="NAME", help=f"for a file: {', '.join(RUNTIMES)}")
    parser.add_argument(
        "--stored",
        choices=_STORED,
        default="both",
        metavar="WHAT",
        help="the model's bias, the effective one with the zero point folded in, or both (default)",
    )
    parser.add_argument("--json", action="store_true", help="print the figures for a script")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the table to a .png or .svg file")


def execute(arguments):
    """Measure and print."""
    from ..study import STORED, run_study

    _check_plot(arguments.plot)
    stored = STORED if arguments.stored == "both" else (arguments.stored,)
    try:
        with progress_bar(quiet=arguments.json) as show:
            groups = _groups(arguments, lambda text: show(text, None))
            result = run_study(groups, stored, progress=lambda text: show(text, None))
    except ModelError as error:
        raise CommandError(str(error)) from error
    if arguments.plot is not None:
        from ..study.plot import plot

        plot(result, arguments.plot)
    if arguments.json:
        print_json(_json(result))
    else:
        _print(result, arguments.plot)
    return 0


def _check_plot(path):
    if path is None:
        return
    if path.suffix not in (".png", ".svg"):
        raise CommandError(f"argument --plot: must be a .png or .svg file, not {str(path)!r}")
    if not path.parent.is_dir():
        raise CommandError(f"argument --plot: there is no folder {path.parent}")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise CommandError("--plot needs matplotlib; install plusb[models]") from error


def _groups(arguments, progress):
    from ..study import ARCHITECTURES, DATA, committed_digits, open_network, trained_networks

    model, data = arguments.model, arguments.data
    if model is None:
        if data is not None and data not in DATA:
            raise CommandError(f"argument --data: must be {' or '.join(DATA)} without a model, not {data!r}")
        try:
            return trained_networks(data or DATA[0], ARCHITECTURES, arguments.seeds, progress)
        except ModuleNotFoundError as error:
            raise CommandError(
                f"--data digits needs {error.name}; install plusb[dev], or take --data shapes"
            ) from error
    if model == "digits":
        if data is not None:
            raise CommandError("argument --data: the digits network comes with its own images")
        network = committed_digits()
        return {network.name: [network]}
    if data is None:
        raise CommandError("a model file needs --data FILE.npz, with x and, if there are labels, y")
    return {Path(model).name: [open_network(model, data, arguments.runtime)]}


def _json(result):
    from ..study import CLAIM

    return {
        "claim_points": list(CLAIM),
        "confidence": "95 %; points: paired bootstrap over networks and images, joined with Wilson; shares: Wilson",
        "networks": result.networks,
        "measurements": [{**asdict(m), "verdict": m.verdict} for m in result.measurements],
    }


def _percent(count, total):
    return f"{100 * count / total:.2f} %"


def _points(points):
    if points is None:
        return "", ""
    mean, low, high = (f"{round(p, 2) + 0.0:+.2f}" for p in points)  # no -0.00
    return mean, f"{low} .. {high}"


def _cells(m):
    return [
        m.network,
        "" if m.width in (0, 32) else m.stored,
        m.form,
        "" if m.accuracy is None else f"{m.accuracy:.2%}",
        *_points(m.points),
        _percent(m.predictions_changed, m.predictions),
        _percent(m.outputs_changed, m.outputs),
        "kept" if m.exact else "changed",
        _VERDICTS[m.verdict],
    ]


def _print(result, path):
    for network in result.networks:
        accuracy = "" if network["accuracy"] is None else f", accuracy {network['accuracy']:.2%} with int32 biases"
        print(
            f"{network['name']}: {network['networks']} network{'s' if network['networks'] > 1 else ''}, "
            f"{network['images']:,} images{accuracy}; biases of up to {network['bias_bits']} bits, "
            f"{network['effective_bits']} with zero points folded"
        )
    print()
    headings = ["network", "stored", "bias", "accuracy", "points", "95 % interval", "predictions", "outputs", "biases"]
    columns = list(zip(*map(_cells, result.measurements), strict=True))
    kept = [(h, c) for h, c in zip([*headings, _QUESTION], columns, strict=True) if any(c)]
    table([heading for heading, _ in kept], list(zip(*(column for _, column in kept), strict=True)))
    print()
    if any(m.points for m in result.measurements):
        print("points: change of accuracy against int32; 95 %: paired bootstrap over networks and images, and Wilson")
    print(
        "predictions, outputs: share that is not the same as with int32; biases kept: nothing can change, on any image"
    )
    if path is not None:
        print(f"wrote {path}")
