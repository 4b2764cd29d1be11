"""Loads made of whole matrix products, as the lowering makes them."""

import numpy as np

from ...gen.gemm import Gemm
from ...gen.lower import lower
from ...gen.words import pack_fields
from ...rtl.formats import command_fields
from ...rtl.numeric import Family
from ..golden import epilogue, gemm
from .engine_bench import Load, expect_rows

__all__ = ["gemm_load", "program_load", "random_gemm", "random_operands", "split_commands"]


def random_operands(rng, shape, int_type):
    """Operands of a type, its extremes more often than others."""
    values = rng.integers(int_type.min, int_type.max + 1, shape)
    return np.where(rng.random(shape) < 0.1, rng.choice([int_type.min, int_type.max], shape), values)


def random_gemm(rng, config, k, n, family=None):
    """A product whose outputs use the whole output range."""
    w = random_operands(rng, (k, n), config.weight_type)
    if config.epilogue is None:
        return Gemm(name="random", op="GEMM", w=w, bias=np.zeros(n, np.int64), family=Family.half_up)
    output = config.output_type
    spread = 1 << (config.activation_type.width + config.weight_type.width - 3)
    lo, hi = sorted(rng.integers(output.min, output.max + 1, 2).tolist())
    if rng.random() < 0.5:
        lo, hi = output.min, output.max
    shift = -(int(spread * np.sqrt(k)).bit_length() - output.width) + rng.integers(-2, 3, n)
    return Gemm(
        name="random",
        op="GEMM",
        w=w,
        bias=rng.integers(-spread, spread + 1, n),
        family=family or rng.choice(config.epilogue.families),
        multiplier=rng.integers(1 << 30, 1 << 31, n),
        shift=np.clip(shift, -31, 31),
        zp_out=int(rng.integers(output.min, output.max + 1)),
        lo=lo,
        hi=hi,
    )


def program_load(config, product, x):
    """The lowered product and the rows it must give, block of columns by block."""
    program = lower(config, product, x)
    acc = gemm(x, product.w)
    if config.epilogue is None:
        y = acc
    else:
        names = ("bias", "family", "multiplier", "shift", "zp_out", "lo", "hi")
        y = epilogue(acc, **{name: getattr(product, name) for name in names})
    rows = []
    for column in range(0, product.n, config.cols):
        for row in range(0, len(x), config.rows):
            rows += expect_rows(config, y[row : row + config.rows, column : column + config.cols])
    return Load(program.streams, rows)


def gemm_load(rng, config, m, k, n, family=None):
    """A random product of a size."""
    return program_load(
        config, random_gemm(rng, config, k, n, family), random_operands(rng, (m, k), config.activation_type)
    )


def split_commands(rng, config, load):
    """The same load with every command cut into up to four, which hand partial sums on in the array.

    Only the first of them clears and only the last emits; what the others say of the epilogue must not matter.
    """
    fields = command_fields(config)
    bits = np.unpackbits(load.streams["cmd"], axis=1, bitorder="little").astype(np.int64)
    columns, position = {}, 0
    for field in fields:
        weights = 1 << np.arange(field.width, dtype=np.int64)
        if field.signed:
            weights[-1] = -weights[-1]
        columns[field.name] = bits[:, position : position + field.width] @ weights
        position += field.width
    split = {name: [] for name in columns}
    for index, k in enumerate(columns["k"] + 1):
        cuts = np.unique(rng.integers(1, k, rng.integers(0, 4))) if k > 1 else np.array([], np.int64)
        sizes = np.diff([0, *cuts, k])
        for part, size in enumerate(sizes):
            final = part == len(sizes) - 1
            values = {field.name: columns[field.name][index] for field in fields}
            if not final:
                values = {field.name: _any_value(rng, field) for field in fields}
            values |= {"k": size - 1, "clear": int(part == 0), "emit": int(final)}
            for name, value in values.items():
                split[name].append(value)
    command = pack_fields(fields, **{name: np.array(values) for name, values in split.items()})
    return Load(load.streams | {"cmd": command}, load.rows)


def _any_value(rng, field):
    low = -(1 << (field.width - 1)) if field.signed else 0
    return int(rng.integers(low, low + (1 << field.width)))
