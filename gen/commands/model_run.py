"""``plusb run FILE``: a .tflite or .onnx model on the simulated unit, every layer compared with its own runtime."""

from contextlib import contextmanager

from ...sim.model_layers import open_model_unit
from ...sim.verilator import ToolError
from ..fit import fitted
from ..models import ModelError, open_model, unit_grouping
from ..models.inputs import load_inputs
from .common import CommandError, print_json
from .model_report import pick_layers, report_json, run_model
from .terminal import progress_bar, table

__all__ = ["execute_model"]

#: Seed of the inputs that are made up where none are given.
_SEED = 0


def execute_model(arguments, short, config):
    """Run the model and print what it showed; exit code 1 if a value differs from the runtime's."""
    try:
        return _execute(arguments, short, config)
    except (CommandError, ToolError):
        raise
    except MemoryError as error:
        raise CommandError(f"{arguments.model}: not enough memory") from error
    except (TypeError, ValueError, RuntimeError) as error:
        where = "" if str(arguments.model) in str(error) else f"{arguments.model}: "
        raise CommandError(f"{where}{error}") from error


def _execute(arguments, short, config):
    if arguments.golden and arguments.waves is not None:
        raise CommandError("argument --waves: --golden runs no hardware that could be traced")
    session = open_model(arguments.model, arguments.runtime)
    config, notes = _fit(short, config, session, golden=arguments.golden)
    session = session.regrouped(unit_grouping(config))
    layers = pick_layers(session.layers, arguments.layers)
    inputs, note = _inputs(arguments, session)
    if arguments.waves is not None:
        arguments.waves.open("wb").close()  # Better to fail now than after minutes of building.
    with progress_bar(quiet=arguments.json) as show:
        show("building the simulation" if not arguments.golden else "comparing", None)
        with _unit(arguments, config) as unit:
            report = run_model(short, config, session, inputs, unit=unit, layers=layers, progress=show)
    report.notes[:0] = [note, *notes]
    if arguments.json:
        known = {"model": str(arguments.model), "runtime": session.runtime, "golden": arguments.golden}
        families = [str(family) for family in config.epilogue.families]
        print_json(known | {"families": families} | report_json(report))
    else:
        _print(arguments, session, report, config)
    return 0 if report.passed else 1


def _fit(short, config, session, *, golden):
    gemms = [group.gemm for layer in session.layers for group in layer.groups]
    raw = any(layer.spec.raw for layer in session.layers)
    fit, changes = fitted(config, gemms, raw=raw)
    if not changes:
        return fit, []
    return fit, [f"{short} is {'assumed' if golden else 'built'} with {', and '.join(changes)}, as the model needs"]


def _inputs(arguments, session):
    if arguments.input is None:
        for option in ("raw", "hop"):
            if getattr(arguments, option):
                raise CommandError(f"argument --{option}: there is no --input FILE to read so")
        inputs = [session.random_inputs(_SEED + index) for index in range(arguments.limit or 1)]
        return inputs, f"inputs are random (seed {_SEED}); --input FILE takes real ones"
    try:
        inputs, how = load_inputs(arguments.input, session.graph, raw=arguments.raw, hop=arguments.hop)
    except ModelError as error:
        raise CommandError(str(error)) from error
    if arguments.limit is not None and arguments.limit > len(inputs):
        raise CommandError(
            f"argument --limit: must be in 1..{len(inputs)} (the inputs there are), not {arguments.limit}"
        )
    return inputs[: arguments.limit], f"inputs: {arguments.input}, {how}"


@contextmanager
def _unit(arguments, config):
    if arguments.golden:
        yield None
        return
    with open_model_unit(config, waves=arguments.waves) as unit:
        yield unit


def _size(layer):
    gemm, products = layer.groups[0].gemm, len(layer.groups)
    return f"{layer.m} x {gemm.k} x {gemm.n}" + (f", {products} times" if products > 1 else "")


def _print(arguments, session, report, config):
    inputs = f"{report.inputs:,} input{'s' if report.inputs > 1 else ''}"
    what = "the golden model of " if arguments.golden else ""
    print(
        f"{arguments.model}, {inputs}, on {what}{report.config}: {config.rows}x{config.cols} array, "
        f"{config.lanes} epilogue lanes"
    )
    for note in report.notes:
        print(f"note        {note}")
    table(
        ["layer", "operator", "M x K x N", "MACs", "cycles", "predicted", "utilization", "outputs", "mismatches"],
        [
            [
                total.layer.name,
                total.layer.op,
                _size(total.layer),
                f"{total.macs:,}",
                "-" if total.cycles is None else f"{total.cycles:,}",
                f"{total.predicted_cycles:,}",
                f"{total.utilization:.2%}",
                f"{total.outputs:,}",
                f"{total.mismatches:,}",
            ]
            for total in report.layers
        ],
    )
    cycles, predicted = report.total("cycles"), report.total("predicted_cycles")
    used = report.total("ideal_cycles") / (predicted if cycles is None else cycles)
    outputs, mismatches = report.total("outputs"), report.total("mismatches")
    print(f"compared    {outputs:,} outputs with {session.runtime}, {mismatches:,} mismatches")
    if report.answers_differ is not None:
        differ = f"{report.answers_differ:,} of {report.inputs:,} differ from" if report.answers_differ else "equal to"
        print(f"answers     {differ} the untouched model's")
    simulated = "" if cycles is None else f"{cycles:,}, "
    print(f"cycles      {simulated}predicted {predicted:,} ({used:.2%} of the array's MACs used)")
    extra = predicted - report.total("cycles_epilogue_off")
    print(f"epilogue    {extra:,} of the predicted cycles are due to it")
    if cycles is not None:
        print(f"simulation  {report.total('seconds'):.2f} s, {report.cycles_per_second:,.0f} cycles/s")
