"""Tables and progress on the terminal."""

import sys
from contextlib import contextmanager

__all__ = ["progress_bar", "table"]


def table(headings, rows):
    """Print a table; columns that hold numbers are aligned to the right."""
    columns = list(zip(headings, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(cell[:1].isdigit() for cell in column[1:]) for column in columns]

    def line(cells):
        parts = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        )
        return "  ".join(parts).rstrip()

    print(line(headings))
    print("  ".join("-" * width for width in widths))
    for row in rows:
        print(line(row))


@contextmanager
def progress_bar(*, quiet=False):
    """A context with a function ``show(text, share)``: a progress bar on stderr, if that is a terminal.

    ``share`` is from 0 to 1, or None while nothing is known but that something goes on.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda text, share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(text, share):
            total = None if share is None else 1
            progress.update(task, description=text, total=total, completed=0 if share is None else share)

        yield show
