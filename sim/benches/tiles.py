"""Loads made tile by tile: neighbouring tiles with any modes, parameter swaps and partial sums."""

from dataclasses import dataclass

import numpy as np

from ...gen.words import pack_fields, pack_operands
from ...rtl.formats import bias_fields, command_fields, scale_fields
from ..golden import epilogue
from ..random_values import random_operands
from .unit_bench import Load, expect_rows

__all__ = ["Tile", "random_records", "random_tile", "random_tiles", "tile_load"]


@dataclass
class Tile:
    """One command and what it takes from the other streams.

    Parameters
    ----------
    x, w : int arrays, shapes (R, K) and (K, C)
        Operands of all rows and columns; those that are not valid must not matter.
    rows, cols : int
        Valid ones.
    clear, emit : bool
        Whether it starts new sums, and whether it hands them to the epilogue.
    family : Family or None
    zp, lo, hi : int
    bias : int64 array, shape (C,), or None
        Records to swap in; ``None`` keeps those in use.
    scale : (multiplier, t) or None
        Likewise, int64 arrays of shape (C,).
    """

    x: np.ndarray
    w: np.ndarray
    rows: int
    cols: int
    clear: bool = True
    emit: bool = True
    family: object = None
    zp: int = 0
    lo: int = -128
    hi: int = 127
    bias: np.ndarray | None = None
    scale: tuple | None = None


def random_records(rng, config, k):
    """A bias and a scale record for each column, such that outputs of a K this long use the output range."""
    cols = config.cols
    spread = 1 << (config.activation_type.width + config.weight_type.width - 3)
    t = int(spread * np.sqrt(k)).bit_length() + 31 - config.output_type.width + rng.integers(-2, 3, cols)
    return (
        rng.integers(-spread, spread + 1, cols),
        (rng.integers(1 << 30, 1 << 31, cols), np.clip(t, 0, 62)),
    )


def random_tile(rng, config, k, **changes):
    """A tile of random size, operands and modes that swaps in nothing; ``changes`` are its other fields."""
    tile = Tile(
        x=random_operands(rng, (config.rows, k), config.activation_type),
        w=random_operands(rng, (k, config.cols), config.weight_type),
        rows=config.rows if rng.random() < 0.5 else int(rng.integers(1, config.rows + 1)),
        cols=config.cols if rng.random() < 0.5 else int(rng.integers(1, config.cols + 1)),
    )
    if config.epilogue is not None:
        output = config.output_type
        tile.family = config.epilogue.families[rng.integers(len(config.epilogue.families))]
        tile.zp = int(rng.integers(output.min, output.max + 1))
        tile.lo, tile.hi = output.min, output.max
        if rng.random() < 0.5:
            tile.lo, tile.hi = sorted(rng.integers(output.min, output.max + 1, 2).tolist())
    for name, value in changes.items():
        setattr(tile, name, value)
    return tile


def random_tiles(rng, config, count, *, longest=24):
    """Neighbouring tiles that differ in everything; some only hand partial sums on, some swap bias, scale or both."""
    tiles = []
    clear, total = True, 0
    for number in range(count):
        k = int(rng.integers(1, longest + 1)) if rng.random() < 0.8 else 1
        k = min(k, config.max_k - total)
        emit = number == count - 1 or total + k == config.max_k or rng.random() < 0.75
        tile = random_tile(rng, config, k, clear=clear, emit=emit)
        total += k
        if emit and config.epilogue is not None:
            bias, scale = random_records(rng, config, total)
            first = not any(tile.emit for tile in tiles)
            tile.bias = bias if first or rng.random() < 0.4 else None
            tile.scale = scale if first or rng.random() < 0.4 else None
        clear, total = emit, 0 if emit else total
        tiles.append(tile)
    return tiles


def tile_load(config, tiles):
    """The words of some tiles after a reset, and the rows they must give."""
    streams = {
        "a": pack_operands(np.concatenate([tile.x.T for tile in tiles]), config.activation_type),
        "w": pack_operands(np.concatenate([tile.w for tile in tiles]), config.weight_type),
    }
    command = {
        "k": [tile.x.shape[1] - 1 for tile in tiles],
        "rows": [tile.rows - 1 for tile in tiles],
        "cols": [tile.cols - 1 for tile in tiles],
        "clear": [tile.clear for tile in tiles],
        "emit": [tile.emit for tile in tiles],
    }
    if config.epilogue is not None:
        command |= {
            "swap_scale": [tile.scale is not None for tile in tiles],
            "family": [config.epilogue.families.index(tile.family) for tile in tiles],
        }
        if "channel" in config.epilogue.bias:
            command |= {"swap_bias": [tile.bias is not None for tile in tiles], "use_channel": [1] * len(tiles)}
        command |= {name: [getattr(tile, name) for tile in tiles] for name in ("zp", "lo", "hi")}
        streams |= _record_words(config, tiles)
    fields = command_fields(config)
    # Fields of features that a bench does not know are 0, which leaves them off.
    command |= {field.name: [0] * len(tiles) for field in fields if field.name not in command}
    streams["cmd"] = pack_fields(fields, **{name: np.asarray(values, np.int64) for name, values in command.items()})
    return Load(streams, list(_rows(config, tiles)))


def _record_words(config, tiles):
    biases = [tile.bias for tile in tiles if tile.bias is not None]
    scales = [tile.scale for tile in tiles if tile.scale is not None]
    words = {}
    for name, fields, values in (
        ("bias", bias_fields(config), {"bias": biases}),
        (
            "scale",
            scale_fields(config),
            {"multiplier": [m for m, _ in scales], "shift": [t for _, t in scales]},
        ),
    ):
        columns = {field.name: np.concatenate([*values.get(field.name, ()), []]).astype(np.int64) for field in fields}
        count = max((len(column) for column in columns.values()), default=0)
        columns = {key: column if len(column) else np.zeros(count, np.int64) for key, column in columns.items()}
        if count:
            words[name] = pack_fields(fields, **columns)
    return words


def _rows(config, tiles):
    acc = np.zeros((config.rows, config.cols), np.int64)
    bias = scale = None
    for tile in tiles:
        acc = tile.x.astype(np.int64) @ tile.w.astype(np.int64) + (0 if tile.clear else acc)
        if not tile.emit:
            continue
        bias = bias if tile.bias is None else tile.bias
        scale = scale if tile.scale is None else tile.scale
        out = acc
        if config.epilogue is not None:
            multiplier, t = scale
            out = epilogue(
                acc,
                bias=bias,
                family=tile.family,
                multiplier=multiplier,
                shift=31 - t,
                zp_out=tile.zp,
                lo=tile.lo,
                hi=tile.hi,
            )
        yield from expect_rows(config, out[: tile.rows, : tile.cols])
