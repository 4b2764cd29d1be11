"""The manifest: everything that a user of the Verilog, human or script, must know of a unit."""

import hashlib
import json

from ..rtl import toml
from ..rtl.fields import Field
from ..rtl.formats import bias_fields, command_fields, container_width, scale_fields
from .version import __version__

__all__ = ["manifest", "manifest_json"]

_STREAM_DOCS = {
    "cmd": "one command a tile: its size and every mode it runs in",
    "a": "activations: R values for each step k of a tile, row 0 in the low bits",
    "w": "weights: C values for each step k of a tile, column 0 in the low bits",
    "bias": "one bias record a column, C records for each tile that swaps them in",
    "scale": "one scale record a column, C records for each tile that swaps them in",
    "out": "finished rows in order; TKEEP marks valid columns, TLAST the last row of a tile",
}


def manifest(unit):
    """The manifest of a generated unit, as plain values.

    Parameters
    ----------
    unit : Unit

    Returns
    -------
    dict
    """
    config = unit.config
    low, high = config.acc_range.lo, config.acc_range.hi
    epilogue = config.epilogue
    return {
        "name": unit.name,
        "verilog": f"{unit.name}.v",
        "verilog_sha256": hashlib.sha256(unit.verilog.encode()).hexdigest(),
        "generator": "plusb",
        "version": __version__,
        "config_hash": config.config_hash,
        "config": config.to_dict(),
        "config_toml": toml.dumps(config),
        "latency": {"cycles": unit.latency, "doc": "from the last operands of a tile to its first row"},
        "parameters": {
            "rows": config.rows,
            "cols": config.cols,
            "lanes": config.lanes,
            "max_k": config.max_k,
            "tile_period": config.tile_period,
            "accumulator_range": [low, high],
            "families": [] if epilogue is None else [str(family) for family in epilogue.families],
        },
        "clock": {"port": "clk", "edge": "rising"},
        "reset": {"port": "rst", "active": "high", "synchronous": True},
        "ports": [
            {"name": port, "direction": direction, "width": width, "signed": False}
            for port, (direction, width) in {"clk": ("in", 1), "rst": ("in", 1), **unit.ports}.items()
        ],
        "streams": [_stream(unit, name) for name in (*unit.inputs, "out")],
    }


def manifest_json(unit):
    """The manifest as JSON text that ends in a newline."""
    return json.dumps(manifest(unit), indent=2) + "\n"


def _stream(unit, name):
    is_input = name in unit.inputs
    prefix = f"{'s' if is_input else 'm'}_axis_{name}"
    return {
        "name": name,
        "prefix": prefix,
        "protocol": "AXI4-Stream",
        "direction": "in" if is_input else "out",
        "doc": _STREAM_DOCS[name],
        "tdata_width": unit.ports[f"{prefix}_tdata"][1],
        "fields": _word(_fields(unit.config, name)),
    }


def _fields(config, name):
    """Fields of a stream's TDATA, the first in the low bits, and how often each is repeated."""
    if name == "a":
        kind = config.activation_type
        return [(Field("a", kind.width, kind.signed, "activation of each row"), config.rows)]
    if name == "w":
        kind = config.weight_type
        return [(Field("w", kind.width, kind.signed, "weight of each column"), config.cols)]
    if name == "out":
        kind = config.output_type
        return [(Field("out", container_width(kind), kind.signed, f"{kind} result of each column"), config.cols)]
    records = {
        "cmd": lambda: command_fields(config),
        "bias": lambda: bias_fields(config.epilogue),
        "scale": lambda: scale_fields(config.epilogue),
    }
    return [(field, 1) for field in records[name]()]


def _word(fields):
    entries, offset = [], 0
    for field, count in fields:
        entries.append(
            {
                "name": field.name,
                "offset": offset,
                "width": field.width,
                "signed": field.signed,
                "count": count,
                "doc": field.doc,
            }
        )
        offset += field.width * count
    return entries
