"""The manifest: everything that a user of the Verilog, human or script, must know of a unit."""

import hashlib
import json

from ..rtl import toml
from ..rtl.fields import Field
from ..rtl.formats import (
    bias_fields,
    command_fields,
    lut_fields,
    row_fields,
    scale_fields,
    statistics_fields,
    table_fields,
)
from ..rtl.interval import Interval
from .exactness import exact_runtimes
from .version import __version__

__all__ = ["manifest", "manifest_json"]

_STREAM_DOCS = {
    "cmd": "one command a tile: its size and every mode it runs in",
    "a": "activations: R values for each step k of a tile, row 0 in the low bits",
    "w": "weights: C values for each step k of a tile, column 0 in the low bits",
    "acc": "accumulators: a row of C for each valid row of a tile, column 0 in the low bits",
    "bias": "one record of terms a column, C records for each tile that swaps them in",
    "scale": "one scale record a column, C records for each tile that swaps them in",
    "row": "what a row brings with it, for each valid row of a tile that uses it",
    "aux": "a value for each element of a row, for each valid row of a tile that uses it",
    "table": "writes into the table of relative biases; complete with its last address, until a tile frees it",
    "lut": "writes into the activation tables; a bank is complete with its last address, until a tile frees it",
    "out": "finished rows in order; TKEEP marks valid columns, TLAST the last row of a tile",
    "statistics": "figures of each tile's elements, one word a tile",
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
    engine = "a" in unit.inputs
    accumulator = config.acc_range if engine else Interval.signed(config.raw_width)
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
        "latency": {
            "cycles": unit.latency,
            "doc": "from the last operands of a tile to its first row" if engine else "from a row to the finished row",
        },
        "parameters": {
            "rows": config.rows,
            "cols": config.cols,
            "lanes": config.lanes,
            "max_k": config.max_k,
            "tile_period": config.tile_period,
            "accumulator_range": [accumulator.lo, accumulator.hi],
            "families": [] if epilogue is None else [str(family) for family in epilogue.families],
        },
        "exact_with": exact_runtimes(config),
        "clock": {"port": "clk", "edge": "rising"},
        "reset": {"port": "rst", "active": "high", "synchronous": True},
        "ports": [
            {"name": port, "direction": direction, "width": width, "signed": False}
            for port, (direction, width) in {"clk": ("in", 1), "rst": ("in", 1), **unit.ports}.items()
        ],
        "streams": [_stream(unit, name) for name in (*unit.inputs, *unit.outputs)],
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
        "fields": _word(_fields(unit, name)),
    }


def _fields(unit, name):
    """Fields of a stream's TDATA, the first in the low bits, and how often each is repeated."""
    config, engine = unit.config, "a" in unit.inputs
    per_element = {
        "a": lambda: [(Field("a", *_kind(config.activation_type), "activation of each row"), config.rows)],
        "w": lambda: [(Field("w", *_kind(config.weight_type), "weight of each column"), config.cols)],
        "acc": lambda: [(Field("acc", config.raw_width, True, "accumulator of each column"), config.cols)],
        "aux": lambda: list(_aux_fields(config)),
        "out": lambda: [
            (Field("out", *_kind(config.element_type), f"{config.output_type} result of each column"), config.cols)
        ],
    }
    if name in per_element:
        return per_element[name]()
    records = {
        "cmd": lambda: command_fields(config, engine=engine),
        "bias": lambda: bias_fields(config),
        "scale": lambda: scale_fields(config),
        "row": lambda: row_fields(config, engine=engine),
        "table": lambda: table_fields(config),
        "lut": lambda: lut_fields(config),
        "statistics": lambda: statistics_fields(config),
    }
    return [(field, 1) for field in records[name]()]


def _kind(int_type):
    return int_type.width, int_type.signed


def _aux_fields(config):
    if "tile" in config.epilogue.bias:
        yield Field("bias", config.epilogue.bias_width, True, "bias of each column's element"), config.cols
    if config.epilogue.residual:
        yield Field("residual", *_kind(config.output_type), "residual of each column's element"), config.cols


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
