"""Configurations as TOML text, and how a name on the command line becomes one."""

import sys
from pathlib import Path

import tomli_w

from .config import EngineConfig
from .presets import PRESETS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["dumps", "load", "loads"]


def dumps(config):
    """The configuration as TOML text that :func:`loads` reads back."""
    return tomli_w.dumps(config.to_dict())


def loads(text):
    """The configuration in a TOML text; one that is wrong raises ``ValueError`` or ``TypeError`` of one line."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"not TOML: {error}") from error
    return EngineConfig.from_dict(values)


def load(name):
    """The preset or the TOML file called ``name``, and a short name for what is generated from it.

    Parameters
    ----------
    name : str
        A key of :data:`~plusb.rtl.presets.PRESETS`, or the path of a file that ends in ``.toml``.

    Returns
    -------
    (str, EngineConfig)

    Raises
    ------
    ValueError, TypeError
        If there is no such preset or file, or the file does not describe a configuration.
    """
    if name in PRESETS:
        return name, PRESETS[name]
    path = Path(name)
    if path.suffix != ".toml":
        raise ValueError(f"config must be one of {', '.join(PRESETS)} or the path of a .toml file, not {name!r}")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read {name}: {error}") from error
    if not (path.stem.isidentifier() and path.stem.isascii()):
        raise ValueError(f"the name of {name} must be usable in Verilog: letters, digits and underscores only")
    try:
        return path.stem, loads(text)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error
