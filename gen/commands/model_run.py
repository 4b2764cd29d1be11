"""``plusb run FILE``: a model on the simulated unit or a board, every layer compared with the model's own runtime."""

from contextlib import contextmanager

from ...sim.model_layers import ModelUnit, open_model_unit
from ...sim.verilator import ToolError
from ..fit import fitted
from ..models import ModelError, open_model, unit_grouping
from ..models.inputs import load_inputs
from .board import open_board
from .common import CommandError, print_json
from .model_print import print_report
from .model_report import pick_layers, report_json, run_model
from .terminal import progress_bar

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
    if arguments.golden and arguments.board is not None:
        raise CommandError("argument --golden: it takes the place of the hardware, which --board asks for")
    session = open_model(arguments.model, arguments.runtime)
    config, notes = _fit(arguments, short, config, session)
    session = session.regrouped(unit_grouping(config))
    layers = pick_layers(session.layers, arguments.layers)
    inputs, note = _inputs(arguments, session)
    if arguments.waves is not None:
        arguments.waves.open("wb").close()  # Better to fail now than after minutes of building.
    with progress_bar(quiet=arguments.json) as show:
        with _unit(arguments, config, show) as (unit, board):
            report = run_model(short, config, session, inputs, unit=unit, layers=layers, progress=show)
    report.notes[:0] = [note, *notes]
    if arguments.json:
        known = {"model": str(arguments.model), "runtime": session.runtime, "golden": arguments.golden}
        families = [str(family) for family in config.epilogue.families]
        line = {} if board is None else {"clock_hz": board.identity.clock_hz, "line": vars(board.counters)}
        print_json(known | {"families": families} | report_json(report) | line)
    else:
        print_report(arguments, session, report, config, board)
    return 0 if report.passed else 1


def _fit(arguments, short, config, session):
    gemms = [group.gemm for layer in session.layers for group in layer.groups]
    raw = any(layer.spec.raw for layer in session.layers)
    fit, changes = fitted(config, gemms, raw=raw)
    if not changes:
        return fit, []
    changes = ", and ".join(changes)
    if arguments.board is not None:
        raise CommandError(
            f"{arguments.model} on {session.runtime} needs {short} with {changes}: choose another --runtime, or a "
            "--config with it that the board was built for"
        )
    return fit, [f"{short} is {'assumed' if arguments.golden else 'built'} with {changes}, as the model needs"]


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
def _unit(arguments, config, show):
    """What computes the layers, None for the golden model, and the board if it is one."""
    if arguments.golden:
        show("comparing", None)
        yield None, None
    elif arguments.board is not None:
        show("connecting to the board", None)
        with open_board(arguments, config) as board:

            def execute(program, progress):
                return board.run_program(program, progress=progress), None

            yield ModelUnit(config, execute), board
    else:
        show("building the simulation", None)
        with open_model_unit(config, waves=arguments.waves) as unit:
            yield unit, None
