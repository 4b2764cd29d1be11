"""Words of a product's epilogue: command fields, parameter records, side streams and table loads."""

import numpy as np

from ..rtl.fields import Field
from ..rtl.formats import bias_fields, lut_fields, row_fields, scale_fields, table_fields, term_names
from .stored import stored_bias, stored_scale
from .words import pack_fields

__all__ = ["epilogue_words"]


def epilogue_words(config, gemm, terms, m, *, row_sums=None):
    """What the epilogue needs to know of a product.

    Parameters
    ----------
    config : EngineConfig
    gemm : Gemm
    terms : Terms
    m : int
        Rows of the product.
    row_sums : int array, shape (M,), or None
        Sums of the activation rows, for an epilogue without an array.

    Returns
    -------
    modes : dict of str to int
        Command fields that are the same for all tiles.
    streams : dict of str to uint8 array, shape (beats, bytes)
        Words of the side streams: for each block of columns its records, and its rows' values once more.

    Raises
    ------
    ValueError
        If the product uses what was not built, or a value is out of range.
    """
    epilogue, n = config.epilogue, gemm.n
    blocks = -(-n // config.cols)
    used = _used_terms(config, gemm, terms)
    modes = {f"use_{name}": int(name in used) for name in term_names(epilogue)} | _modes(config, gemm, terms)
    streams = {}

    multiplier, t = stored_scale(config, gemm.family, gemm.multiplier, gemm.shift, gemm.scale)
    scale = {"multiplier": multiplier, "shift": t}
    if epilogue.negative_scale:
        negative = (multiplier, t) if gemm.negative is None else _negative(config, gemm)
        scale |= {"negative_multiplier": negative[0], "negative_shift": negative[1]}
    padded = {name: _padded(values, n, blocks * config.cols) for name, values in scale.items()}
    streams["scale"] = pack_fields(scale_fields(config), **padded)
    if epilogue.uses_bias_stream:
        columns = _columns(config, gemm, terms, modes)
        padded = {name: _padded(values, n, blocks * config.cols) for name, values in columns.items()}
        streams["bias"] = pack_fields(bias_fields(config), **padded)
    rows = row_fields(config, engine=row_sums is None)
    if rows:
        taking = used & {"row", "relative", "row_zero_point", *(["weight_zero_point"] if row_sums is not None else [])}
        values = _row_values(terms, row_sums, m, {field.name for field in rows})
        words = pack_fields(rows, **values)
        streams["row"] = np.tile(words, (blocks if taking else 0, 1))
    if epilogue.uses_aux_stream:
        streams["aux"] = _aux(config, terms, m, n, blocks, taken=bool(used & {"tile", "residual"}))
    if "relative" in epilogue.bias:
        table = [] if terms.bias_relative is None else terms.bias_relative[0]
        streams["table"] = _table(config, np.asarray(table, np.int64))
    if epilogue.lut_banks:
        streams["lut"] = _lut(config, gemm)
    return modes, streams


def _used_terms(config, gemm, terms):
    epilogue = config.epilogue
    given = {
        "channel": bool(np.any(gemm.bias)),
        "row": terms.bias_row is not None,
        "tile": terms.bias_tile is not None,
        "relative": terms.bias_relative is not None,
        "weight_zero_point": gemm.zw is not None,
        "row_zero_point": terms.zx is not None,
        "residual": terms.residual is not None,
    }
    used = {name for name, is_given in given.items() if is_given}
    missing = used - set(term_names(epilogue))
    if terms.bias_scalar and "scalar" not in epilogue.bias:
        missing.add("scalar")
    for name, wanted in (
        ("negative_scale", gemm.negative is not None),
        ("lut_banks", gemm.lut is not None),
        ("raw", gemm.raw),
    ):
        if wanted and not getattr(epilogue, name):
            missing.add(name)
    if missing:
        raise ValueError(f"the unit must be built with {', '.join(sorted(missing))} to compute {gemm.name}")
    return used


def _modes(config, gemm, terms):
    epilogue, families = config.epilogue, config.epilogue.families
    if gemm.family not in families:
        raise ValueError(f"family must be one of {', '.join(map(str, families))} (built), not {str(gemm.family)!r}")
    if gemm.lo > gemm.hi:
        raise ValueError(f"lo must be at most hi ({gemm.hi}), not {gemm.lo!r}")
    modes = {"family": families.index(gemm.family), "zp": gemm.zp_out, "lo": gemm.lo, "hi": gemm.hi}
    if gemm.raw:
        modes |= {"zp": 0, "lo": 0, "hi": 0}
    if "scalar" in epilogue.bias:
        modes["scalar"] = terms.bias_scalar
    if epilogue.residual:
        _, zero_point, multiplier = terms.residual or (None, 0, 0)
        modes |= {"residual_zp": zero_point, "residual_multiplier": multiplier}
    if epilogue.lut_banks:
        modes |= {"use_lut": int(gemm.lut is not None), "lut_bank": 0}
    if epilogue.raw:
        modes["raw"] = int(gemm.raw)
    return modes


def _padded(values, n, count):
    out = np.zeros(count, np.int64)
    out[:n] = np.broadcast_to(values, (n,))
    return out


def _negative(config, gemm):
    pair = gemm.negative if isinstance(gemm.negative, tuple) else (None, None)
    scale = None if isinstance(gemm.negative, tuple) else gemm.negative
    return stored_scale(config, gemm.family, *pair, scale)


def _columns(config, gemm, terms, modes):
    epilogue = config.epilogue
    columns = {}
    if "channel" in epilogue.bias:
        stored = stored_bias(config, gemm.bias)
        columns["bias"] = stored.values
        if epilogue.bias_storage == "chshift":
            columns["bias_shift"] = stored.shift
        elif epilogue.bias_storage == "shift":
            modes["bias_shift"] = int(stored.shift)
    if "relative" in epilogue.bias:
        columns["relative"] = 0 if terms.bias_relative is None else terms.bias_relative[2]
    zw = 0 if gemm.zw is None else np.asarray(gemm.zw, np.int64)
    if epilogue.weight_zero_point:
        columns["zw"] = zw
    if epilogue.row_zero_point:
        columns["colsum"] = (np.asarray(gemm.w, np.int64) - zw).sum(0)
    return columns


def _row_values(terms, row_sums, m, names):
    relative = 0 if terms.bias_relative is None else np.asarray(terms.bias_relative[1])
    values = {
        "bias": 0 if terms.bias_row is None else terms.bias_row,
        "relative": relative,
        "zx": 0 if terms.zx is None else terms.zx,
        "row_sum": row_sums,
    }
    return {name: np.broadcast_to(values[name], (m,)) for name in names}


def _aux(config, terms, m, n, blocks, *, taken):
    """Rows of the column blocks: biases of the columns first, then residuals."""
    epilogue, cols = config.epilogue, config.cols
    parts = []

    def add(values, bits, is_signed):
        padded = np.zeros((m, blocks * cols), np.int64)
        if values is not None:
            padded[:, :n] = values
        by_block = padded.reshape(m, blocks, cols).transpose(1, 0, 2).reshape(-1, cols)
        parts.append((by_block, bits, is_signed))

    if "tile" in epilogue.bias:
        add(terms.bias_tile, epilogue.bias_width, True)
    if epilogue.residual:
        output = config.output_type
        add(None if terms.residual is None else terms.residual[0], output.width, output.signed)
    words = _pack_groups(parts)
    return words if taken else words[:0]


def _pack_groups(parts):
    """Words of several groups of equal elements: ``(values (words, count), bits, signed)`` each, the first lowest."""
    fields, columns = [], {}
    for group, (values, bits, is_signed) in enumerate(parts):
        for index in range(values.shape[1]):
            name = f"g{group}_{index}"
            fields.append(Field(name, bits, is_signed))
            columns[name] = values[:, index]
    return pack_fields(fields, **columns)


def _table(config, table):
    depth = config.epilogue.relative_depth
    if len(table) > depth:
        raise ValueError(f"the relative table must have at most {depth} words (relative_depth), not {len(table)!r}")
    values = np.zeros(depth, np.int64)
    values[: len(table)] = table
    words = pack_fields(table_fields(config), address=np.arange(depth), value=values)
    return words if len(table) else words[:0]


def _lut(config, gemm):
    element, fields = config.output_type, lut_fields(config)
    if gemm.lut is None:
        return pack_fields(fields, bank=[0], address=[0], value=[0])[:0]
    address = np.arange(1 << element.width)
    y = address + ((address > element.max) * (element.min - element.max - 1))
    return pack_fields(fields, bank=0, address=address, value=np.asarray(gemm.lut, np.int64)[y & 255])
