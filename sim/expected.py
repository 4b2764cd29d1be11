"""What must come out of a unit for a product, tile by tile."""

import numpy as np

from ..gen.lower import lower, lower_epilogue
from ..gen.words import pack_fields
from ..rtl.formats import statistics_fields
from .golden import Stages, gemm, tile_statistics

__all__ = ["lower_for", "split_into_tiles", "statistics_words"]


def lower_for(config, product, *, engine):
    """The program of a :class:`~plusb.sim.random_cases.Product` for an engine or for an epilogue alone."""
    if engine:
        return lower(config, product.gemm, product.x, product.terms)
    acc = gemm(product.x, product.gemm.w, acc_width=config.raw_width)
    return lower_epilogue(config, product.gemm, acc, product.terms, row_sums=product.row_sums)


def split_into_tiles(config, stages):
    """The stages of each tile in the order in which a unit finishes them: block of columns by block.

    Parameters
    ----------
    config : EngineConfig
    stages : Stages
        As :func:`plusb.gen.reference.reference` gives them.

    Yields
    ------
    Stages
    """
    m, n = stages.out.shape
    for column in range(0, n, config.cols):
        for row in range(0, m, config.rows):
            part = np.s_[row : row + config.rows, column : column + config.cols]
            arrays = {name: getattr(stages, name) for name in ("v", "q", "y", "out", "saturated")}
            yield Stages(**{name: None if array is None else array[part] for name, array in arrays.items()})


def statistics_words(config, stages):
    """The words of the statistics of each tile, uint8 (tiles, bytes)."""
    fields = statistics_fields(config)
    figures = [tile_statistics(tile) for tile in split_into_tiles(config, stages)]
    return pack_fields(fields, **{field.name: [getattr(tile, field.name) for tile in figures] for field in fields})
