"""The report of a model's run as text: a table of the layers, and what they come to."""

from .board import describe_board, describe_line
from .terminal import table

__all__ = ["print_report"]


def _size(layer):
    gemm, products = layer.groups[0].gemm, len(layer.groups)
    return f"{layer.m} x {gemm.k} x {gemm.n}" + (f", {products} times" if products > 1 else "")


_CELLS = {
    "layer": lambda total: total.layer.name,
    "operator": lambda total: total.layer.op,
    "M x K x N": lambda total: _size(total.layer),
    "MACs": lambda total: f"{total.macs:,}",
    "cycles": lambda total: "-" if total.cycles is None else f"{total.cycles:,}",
    "predicted": lambda total: f"{total.predicted_cycles:,}",
    "utilization": lambda total: f"{total.utilization:.2%}",
    "seconds": lambda total: f"{total.seconds:.2f}",
    "outputs": lambda total: f"{total.outputs:,}",
    "mismatches": lambda total: f"{total.mismatches:,}",
}
#: A board does not count its cycles, and one can wait for it.
_OF_BOARD_ONLY, _NOT_OF_BOARD = {"seconds"}, {"cycles", "predicted", "utilization"}


def print_report(arguments, session, report, config, board=None):
    """Print what the run of a model showed.

    Parameters
    ----------
    arguments : argparse.Namespace
    session : Session
    report : ModelReport
    config : EngineConfig
    board : Board or None
        Where it ran, if that was a board.
    """
    inputs = f"{report.inputs:,} input{'s' if report.inputs > 1 else ''}"
    if board is None:
        what = "the golden model of " if arguments.golden else ""
        place = f"{what}{report.config}: {config.rows}x{config.cols} array, {config.lanes} epilogue lanes"
    else:
        place = describe_board(arguments.board, board, config)
    print(f"{arguments.model}, {inputs}, on {place}")
    for note in report.notes:
        print(f"note        {note}")
    columns = [name for name in _CELLS if name not in (_OF_BOARD_ONLY if board is None else _NOT_OF_BOARD)]
    table(columns, [[_CELLS[name](total) for name in columns] for total in report.layers])
    outputs, mismatches = report.total("outputs"), report.total("mismatches")
    print(f"compared    {outputs:,} outputs with {session.runtime}, {mismatches:,} mismatches")
    if report.answers_differ is not None:
        differ = f"{report.answers_differ:,} of {report.inputs:,} differ from" if report.answers_differ else "equal to"
        print(f"answers     {differ} the untouched model's")
    if board is None:
        _print_cycles(report)
    else:
        print(f"line        {report.total('seconds'):.2f} s, {describe_line(board.counters)}")


def _print_cycles(report):
    cycles, predicted = report.total("cycles"), report.total("predicted_cycles")
    used = report.total("ideal_cycles") / (predicted if cycles is None else cycles)
    simulated = "" if cycles is None else f"{cycles:,}, "
    print(f"cycles      {simulated}predicted {predicted:,} ({used:.2%} of the array's MACs used)")
    extra = predicted - report.total("cycles_epilogue_off")
    print(f"epilogue    {extra:,} of the predicted cycles are due to it")
    if cycles is not None:
        print(f"simulation  {report.total('seconds'):.2f} s, {report.cycles_per_second:,.0f} cycles/s")
