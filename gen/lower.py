"""Lowering: one matrix product becomes the words that a unit's streams carry."""

from dataclasses import dataclass

import numpy as np

from ..rtl.config import EngineConfig
from ..rtl.formats import bias_fields, command_fields, container_width, scale_fields
from .words import pack_fields, pack_operands, unpack_elements

__all__ = ["Program", "lower"]


@dataclass(frozen=True)
class Program:
    """What goes into a unit and how to read what comes out.

    Parameters
    ----------
    config : EngineConfig
    m, k, n : int
        Size of the product.
    streams : dict of str to uint8 array, shape (beats, bytes)
        Words of each input stream.
    """

    config: EngineConfig
    m: int
    k: int
    n: int
    streams: dict

    @property
    def rows(self):
        """Rows that come out: one for each row of the product and each block of columns."""
        return self.m * -(-self.n // self.config.cols)

    @property
    def macs(self):
        """Multiply-accumulates of the product."""
        return self.m * self.k * self.n

    @property
    def ideal_cycles(self):
        """Cycles in which an array of this size could do them at best."""
        return -(-self.macs // (self.config.rows * self.config.cols))

    def collect(self, octets):
        """The product, int64 (M, N), from the rows' bytes, uint8 (rows, bytes)."""
        output = self.config.output_type
        rows = unpack_elements(octets, container_width(output), output.signed)
        blocks = rows.reshape(-1, self.m, self.config.cols)
        return np.concatenate(list(blocks), axis=1)[:, : self.n]


def lower(config, gemm, x):
    """The program that computes ``gemm`` of ``x``.

    Blocks of C columns follow each other; in each, tiles of R rows. A block's parameters are swapped in by its first
    tile. Rows and columns beyond the product's are fed with zeros and never come out.

    Parameters
    ----------
    config : EngineConfig
    gemm : Gemm
    x : int array, shape (M, K)

    Returns
    -------
    Program

    Raises
    ------
    ValueError
        If the unit cannot compute it: a longer K than it was built for, operands or parameters out of its range, a
        family that was not built.
    """
    x = np.asarray(x)
    w = np.asarray(gemm.w)
    if x.ndim != 2 or x.shape[1] != gemm.k:
        raise ValueError(f"x must be of shape (M, {gemm.k}), not {x.shape!r}")
    if not 1 <= gemm.k <= config.max_k:
        raise ValueError(f"K must be in 1..{config.max_k} (max_k of the unit), not {gemm.k!r}")
    for name, values, int_type in (("x", x, config.activation_type), ("w", w, config.weight_type)):
        if values.size == 0:
            raise ValueError(f"{name} must not be empty, not of shape {values.shape!r}")
        if values.min() < int_type.min or values.max() > int_type.max:
            raise ValueError(f"{name} must be {int_type}, not in {values.min()}..{values.max()}")
    rows, cols = config.rows, config.cols
    m, k, n = x.shape[0], gemm.k, gemm.n
    row_tiles, col_tiles = -(-m // rows), -(-n // cols)

    padded_x = np.zeros((row_tiles * rows, k), x.dtype)
    padded_x[:m] = x
    padded_w = np.zeros((k, col_tiles * cols), w.dtype)
    padded_w[:, :n] = w
    a_strips = padded_x.reshape(row_tiles, rows, k).transpose(0, 2, 1)
    w_strips = padded_w.reshape(k, col_tiles, cols).transpose(1, 0, 2)
    streams = {
        "a": np.tile(pack_operands(a_strips, config.activation_type), (col_tiles, 1)),
        "w": np.repeat(
            pack_operands(w_strips, config.weight_type).reshape(col_tiles, 1, k, -1), row_tiles, axis=1
        ).reshape(col_tiles * row_tiles * k, -1),
    }

    first_of_block = np.tile(np.arange(row_tiles) == 0, col_tiles)
    tile_rows = np.full(row_tiles, rows)
    tile_rows[-1] = m - (row_tiles - 1) * rows
    tile_cols = np.full(col_tiles, cols)
    tile_cols[-1] = n - (col_tiles - 1) * cols
    command = {
        "k": k - 1,
        "rows": np.tile(tile_rows - 1, col_tiles),
        "cols": np.repeat(tile_cols - 1, row_tiles),
        "clear": 1,
        "emit": 1,
    }
    if config.epilogue is not None:
        command |= _modes(config, gemm) | {"swap_bias": first_of_block, "swap_scale": first_of_block}
        streams |= _records(config, gemm, col_tiles * cols)
    streams["cmd"] = pack_fields(command_fields(config), **command)
    return Program(config, m, k, n, streams)


def _modes(config, gemm):
    families = config.epilogue.families
    if gemm.family not in families:
        raise ValueError(f"family must be one of {', '.join(map(str, families))} (built), not {str(gemm.family)!r}")
    if gemm.lo > gemm.hi:
        raise ValueError(f"lo must be at most hi ({gemm.hi}), not {gemm.lo!r}")
    return {"family": families.index(gemm.family), "zp": gemm.zp_out, "lo": gemm.lo, "hi": gemm.hi}


def _records(config, gemm, count):
    def padded(values):
        out = np.zeros(count, np.int64)
        out[: gemm.n] = np.broadcast_to(values, (gemm.n,))
        return out

    shift = np.asarray(gemm.shift, np.int64)
    return {
        "bias": pack_fields(bias_fields(config.epilogue), bias=padded(gemm.bias)),
        "scale": pack_fields(
            scale_fields(config.epilogue), multiplier=padded(gemm.multiplier), shift=padded(31 - shift)
        ),
    }
