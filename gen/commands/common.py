"""What the subcommands share: the one error they raise, the configuration argument, and where they print."""

import argparse
import json
import sys

__all__ = ["CommandError", "Parser", "add_config", "load_config", "print_json", "whole_number"]


class CommandError(Exception):
    """Bad input or a failed check; the message is one clear line.

    Parameters
    ----------
    message : str
    code : int
        Exit code: 2 for bad input, 1 where the input was right and the result is not.
    """

    def __init__(self, message, code=2):
        super().__init__(message)
        self.code = code


class Parser(argparse.ArgumentParser):
    """An argument parser that raises :class:`CommandError` instead of printing its usage and exiting."""

    def error(self, message):
        """Raise the message with a pointer to the help."""
        raise CommandError(f"{message} (see {self.prog} --help)")


def whole_number(text):
    """An argument that is a number of things: an integer, at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, not {text!r}")
    return value


def add_config(parser):
    """Add ``--config``."""
    parser.add_argument(
        "--config", default="small", metavar="NAME", help="a preset or the path of a .toml file (default: small)"
    )


def load_config(name):
    """The short name and the configuration that ``--config`` names; raises :class:`CommandError`."""
    from ...rtl.toml import load

    try:
        return load(name)
    except (TypeError, ValueError) as error:
        raise CommandError(str(error)) from error


def print_json(value):
    """Print a value for a script to read."""
    json.dump(value, sys.stdout, indent=2)
    print()
