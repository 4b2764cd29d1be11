"""Control that travels with data: of a tile that leaves the array, and of each of its elements."""

from amaranth import *
from amaranth.lib import data

from .formats import command_layout, term_names
from .numeric import Family

__all__ = ["drain_event", "element_tag", "event_of", "modes", "use_layout"]


def use_layout(config):
    """Which terms a tile adds."""
    return data.StructLayout({name: 1 for name in term_names(config.epilogue)} if config.epilogue else {})


def _switches(config):
    """What is said of a tile as a whole and must reach several stages of each lane."""
    return {"swap_bias": 1, "swap_scale": 1, "float32": 1, "use": use_layout(config)}


def drain_event(config):
    """What is known of a tile when its last products enter the array."""
    return data.StructLayout({"valid": 1, "rows": range(max(config.rows, 2))} | _switches(config))


def event_of(config, command, valid):
    """The event of a tile that ends in the cycle in which ``valid`` is set."""
    members = command.shape().members
    event = {"valid": valid, "rows": command.rows}
    for swap in ("swap_bias", "swap_scale"):
        event[swap] = valid & command[swap] if swap in members else Const(0)
    families = config.epilogue.families if config.epilogue else ()
    event["float32"] = command.family == families.index(Family.float32) if Family.float32 in families else Const(0)
    event["use"] = Cat(command[f"use_{name}"] for name in use_layout(config).members)
    return Cat(event[name] for name in drain_event(config).members)


def element_tag(config):
    """One element of a lane: ``start`` of a tile, column ``index`` of the lane, in a ``valid`` row, which is the tile's
    ``last``. ``swap_bias`` and ``swap_scale`` are never set without ``start``."""
    tag = {"valid": 1, "start": 1, "last": 1, "index": range(max(config.group, 2))}
    return data.StructLayout(tag | _switches(config))


def _part_of_command(config, names):
    members = command_layout(config, engine=False).members
    return data.StructLayout({name: members[name] for name in names if name in members})


def modes(config):
    """Layouts of what a tile says to one stage of each lane, by mode.

    ``term_mode`` concerns the terms that are added, ``round_mode`` the rounding, ``output_mode`` the element and the
    number of columns. A mode of no bits is left out.
    """
    parts = {
        "term_mode": ("scalar", "bias_shift", "residual_zp", "residual_multiplier"),
        "round_mode": ("family",),
        "output_mode": ("zp", "lo", "hi", "use_lut", "lut_bank", "raw", "cols"),
    }
    layouts = {name: _part_of_command(config, names) for name, names in parts.items()}
    return {name: layout for name, layout in layouts.items() if layout.members}
