"""Checks of configuration values; every message names the field, what is allowed and what was given."""

__all__ = ["check_bool", "check_choice", "check_int"]


def check_int(name, value, low, high, *, why=""):
    """Raise ``TypeError`` or ``ValueError`` unless ``value`` is an integer in ``low..high``, for the reason ``why``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be in {low}..{high}{f' ({why})' if why else ''}, not {value!r}")


def check_bool(name, value):
    """Raise ``TypeError`` unless ``value`` is a boolean."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be true or false, not {value!r}")


def check_choice(name, value, choices):
    """Raise ``ValueError`` unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}, not {value!r}")
