"""What all runs on a board share: the connection, and what they tell of it."""

from contextlib import contextmanager

from .common import CommandError

__all__ = ["describe_board", "describe_line", "open_board"]


@contextmanager
def open_board(arguments, config):
    """A context with the :class:`~plusb.fpga.host.Board` at ``--board``; its errors become :class:`CommandError`.

    Parameters
    ----------
    arguments : argparse.Namespace
    config : EngineConfig
        That the board must have.
    """
    from ...fpga.host import Board, BoardError

    try:
        with Board(arguments.board, arguments.baud, config=config) as board:
            yield board
    except BoardError as error:
        raise CommandError(str(error)) from error


def describe_board(port, board, config):
    """Where a run took place, in words."""
    return f"the board at {port}: {config.rows}x{config.cols} array at {board.identity.clock_hz / 1e6:g} MHz"


def describe_line(counters):
    """What a run sent over the serial line, in words."""
    return f"{counters.frames:,} frames, {counters.retries:,} sent again"
