"""Lowering: one matrix product becomes the words that a unit's streams carry."""

from dataclasses import dataclass

import numpy as np

from ..rtl.config import EngineConfig
from ..rtl.formats import command_fields
from ..rtl.numeric import IntType
from .records import epilogue_words
from .terms import Terms
from .words import pack_fields, pack_operands, unpack_elements

__all__ = ["Program", "lower", "lower_epilogue"]


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
        element = self.config.element_type
        rows = unpack_elements(octets, element.width, element.signed)
        blocks = rows.reshape(-1, self.m, self.config.cols)
        return np.concatenate(list(blocks), axis=1)[:, : self.n]


def lower(config, gemm, x, terms=None):
    """The program that computes ``gemm`` of ``x`` on an engine.

    Blocks of C columns follow each other; in each, tiles of R rows. A block's parameters are swapped in by its first
    tile; a unit that keeps K rows of weights loads the block's weights with that tile alone. Rows and columns beyond
    the product's are fed with zeros and never come out.

    Parameters
    ----------
    config : EngineConfig
    gemm : Gemm
    x : int array, shape (M, K)
    terms : Terms or None

    Returns
    -------
    Program

    Raises
    ------
    ValueError
        If the unit cannot compute it: a longer K than it was built for, operands or parameters out of its range, a
        family or a term that was not built.
    """
    x, w = np.asarray(x), np.asarray(gemm.w)
    _check_product(config, gemm, x, w)
    rows, cols = config.rows, config.cols
    m, k, n = x.shape[0], gemm.k, gemm.n
    row_tiles, col_tiles = -(-m // rows), -(-n // cols)

    padded_x = np.zeros((row_tiles * rows, k), x.dtype)
    padded_x[:m] = x
    padded_w = np.zeros((k, col_tiles * cols), w.dtype)
    padded_w[:, :n] = w
    a_strips = padded_x.reshape(row_tiles, rows, k).transpose(0, 2, 1)
    w_strips = padded_w.reshape(k, col_tiles, cols).transpose(1, 0, 2)
    w_words = pack_operands(w_strips, config.weight_type).reshape(col_tiles, 1, k, -1)
    loads = 1 if k <= config.replay_depth else row_tiles  # of each strip of weights
    streams = {
        "a": np.tile(pack_operands(a_strips, config.activation_type), (col_tiles, 1)),
        "w": np.repeat(w_words, loads, axis=1).reshape(col_tiles * loads * k, -1),
    }
    modes, sides = ({}, {}) if config.epilogue is None else epilogue_words(config, gemm, terms or Terms(), m)
    tiles = _tiles(config, m, n) | {"k": k - 1, "clear": 1, "emit": 1}
    if config.replay_depth:
        first = tiles["first_of_block"]
        tiles |= {"store_w": first & (loads == 1), "replay_w": ~first & (loads == 1)}
    streams["cmd"] = pack_fields(command_fields(config), **_known(config, tiles, modes))
    return Program(config, m, k, n, streams | sides)


def lower_epilogue(config, gemm, acc, terms=None, *, row_sums=None):
    """The program that finishes the accumulators of a product on a stand-alone epilogue.

    Parameters
    ----------
    config : EngineConfig
    gemm : Gemm
        Its weights serve for their size and, where rows have zero points, their sums.
    acc : int array, shape (M, N)
    terms : Terms or None
    row_sums : int array, shape (M,), or None
        Sums of the activation rows; needed where the unit has weight zero points.

    Returns
    -------
    Program

    Raises
    ------
    ValueError
        As :func:`lower` does.
    """
    acc = np.asarray(acc, np.int64)
    m, n = acc.shape
    col_tiles = -(-n // config.cols)
    padded = np.zeros((m, col_tiles * config.cols), np.int64)
    padded[:, :n] = acc
    by_block = padded.reshape(m, col_tiles, config.cols).transpose(1, 0, 2)
    modes, sides = epilogue_words(
        config, gemm, terms or Terms(), m, row_sums=np.zeros(m, np.int64) if row_sums is None else row_sums
    )
    tiles = _tiles(config, m, n)
    streams = {
        "cmd": pack_fields(command_fields(config, engine=False), **_known(config, tiles, modes)),
        "acc": pack_operands(by_block, IntType(config.raw_width, True)),
    }
    return Program(config, m, gemm.k, n, streams | sides)


def _check_product(config, gemm, x, w):
    if x.ndim != 2 or x.shape[1] != gemm.k:
        raise ValueError(f"x must be of shape (M, {gemm.k}), not {x.shape!r}")
    if not 1 <= gemm.k <= config.max_k:
        raise ValueError(f"K must be in 1..{config.max_k} (max_k of the unit), not {gemm.k!r}")
    for name, values, int_type in (("x", x, config.activation_type), ("w", w, config.weight_type)):
        if values.size == 0:
            raise ValueError(f"{name} must not be empty, not of shape {values.shape!r}")
        if values.min() < int_type.min or values.max() > int_type.max:
            raise ValueError(f"{name} must be {int_type}, not in {values.min()}..{values.max()}")


def _tiles(config, m, n):
    """Command fields that differ from tile to tile: sizes, and that a block's first tile swaps its records in."""
    row_tiles, col_tiles = -(-m // config.rows), -(-n // config.cols)
    tile_rows = np.full(row_tiles, config.rows)
    tile_rows[-1] = m - (row_tiles - 1) * config.rows
    tile_cols = np.full(col_tiles, config.cols)
    tile_cols[-1] = n - (col_tiles - 1) * config.cols
    first_of_block = np.tile(np.arange(row_tiles) == 0, col_tiles)
    return {
        "rows": np.tile(tile_rows - 1, col_tiles),
        "cols": np.repeat(tile_cols - 1, row_tiles),
        "swap_bias": first_of_block,
        "swap_scale": first_of_block,
        "first_of_block": first_of_block,
    }


def _known(config, tiles, modes):
    """The fields that the unit's commands have; the last tile frees the tables that the product uses."""
    epilogue = config.epilogue
    last = np.arange(len(tiles["rows"])) == len(tiles["rows"]) - 1
    for use, free in (("use_relative", "free_table"), ("use_lut", "free_lut")):
        if use in modes:
            modes = modes | {free: last & bool(modes[use])}
    absent = {"first_of_block"} | ({"swap_bias", "swap_scale"} if epilogue is None else set())
    if epilogue is not None and not epilogue.uses_bias_stream:
        absent.add("swap_bias")
    return {name: value for name, value in (tiles | modes).items() if name not in absent}
