"""Loads made of whole matrix products, as the lowering makes them."""

import dataclasses

import numpy as np

from ...gen.gemm import Gemm
from ...gen.reference import reference
from ...gen.terms import Terms
from ...gen.words import pack_fields
from ...rtl.formats import command_fields
from ...rtl.numeric import Family
from ..expected import lower_for, split_into_tiles, statistics_words
from ..random_cases import Product, random_product
from ..random_values import random_operands
from .unit_bench import Load, expect_rows

__all__ = ["change_commands", "gemm_load", "product_load", "split_commands", "unpack_fields"]


def product_load(config, product, *, engine=True):
    """The lowered product and what it must give, block of columns by block."""
    stages = reference(config, product.gemm, product.x, product.terms)
    rows = [row for tile in split_into_tiles(config, stages) for row in expect_rows(config, tile.out)]
    statistics = []
    if config.epilogue is not None and config.epilogue.statistics:
        statistics = [int.from_bytes(word, "little") for word in statistics_words(config, stages)]
    streams = lower_for(config, product, engine=engine).streams
    return Load(streams, rows, statistics)


def gemm_load(rng, config, m, k, n, family=None, *, use=("channel", "clamp"), engine=True):
    """A random product of a size; ``use`` as in :func:`~plusb.sim.random_cases.random_product`."""
    if config.epilogue is None:
        w = random_operands(rng, (k, n), config.weight_type)
        product = Gemm(name="random", op="GEMM", w=w, bias=np.zeros(n, np.int64), family=Family.half_up)
        product = Product(random_operands(rng, (m, k), config.activation_type), product, Terms())
    else:
        use = use if isinstance(use, float) else set(use)
        product = random_product(rng, config, m, k, n, family=family, use=use)
    return product_load(config, product, engine=engine)


def change_commands(config, load, *, engine=True, **changes):
    """The same load with some fields of every command changed."""
    fields = command_fields(config, engine=engine)
    command = pack_fields(fields, **(unpack_fields(fields, load.streams["cmd"]) | changes))
    return dataclasses.replace(load, streams=load.streams | {"cmd": command})


def split_commands(rng, config, load, *, every_step=False):
    """The same load with every command cut into up to four, or into its steps; partial sums stay in the array.

    Only the first of them clears and only the last emits; what the others say of the epilogue must not matter.
    """
    fields = command_fields(config)
    columns = unpack_fields(fields, load.streams["cmd"])
    split = {name: [] for name in columns}
    for index, k in enumerate(columns["k"] + 1):
        cuts = np.unique(rng.integers(1, k, rng.integers(0, 4))) if k > 1 else np.array([], np.int64)
        if every_step:
            cuts = np.arange(1, k)
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
    return dataclasses.replace(load, streams=load.streams | {"cmd": command})


def unpack_fields(fields, words):
    """The fields of packed words, a dict of name to int64 array: the inverse of ``pack_fields``."""
    bits = np.unpackbits(words, axis=1, bitorder="little").astype(np.int64)
    columns, position = {}, 0
    for field in fields:
        weights = 1 << np.arange(field.width, dtype=np.int64)
        if field.signed:
            weights[-1] = -weights[-1]
        columns[field.name] = bits[:, position : position + field.width] @ weights
        position += field.width
    return columns


def _any_value(rng, field):
    low = -(1 << (field.width - 1)) if field.signed else 0
    return int(rng.integers(low, low + (1 << field.width)))
