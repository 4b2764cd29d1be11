"""What the fusion saves: a product with its epilogue in one pass, and as raw accumulators that come back for it."""

from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from ..gen.lower import lower, lower_epilogue
from ..gen.unit import epilogue_unit
from .burst import open_unit

__all__ = ["UnfusedRun", "compare_unfused"]


@dataclass(frozen=True, kw_only=True)
class UnfusedRun:
    """One product, both ways.

    Parameters
    ----------
    m, k, n : int
        Size of the product.
    cycles_fused, cycles_unfused : int
        From the first operand to the last row; unfused, of both passes.
    bytes_fused, bytes_unfused : int
        Bytes of every word that crosses the units' boundaries, both ways.
    identical : bool
        Whether the rows' bytes are the same.
    """

    m: int
    k: int
    n: int
    cycles_fused: int
    cycles_unfused: int
    bytes_fused: int
    bytes_unfused: int
    identical: bool

    @property
    def ratio(self):
        """Cycles without fusion for each cycle with it."""
        return self.cycles_unfused / self.cycles_fused


def compare_unfused(config, products):
    """Run products on an engine, and on the same without epilogue followed by the epilogue alone.

    Parameters
    ----------
    config : EngineConfig
        With an epilogue.
    products : iterable of (Gemm, int array, Terms or None)
        Each with its activations (M, K) and terms.

    Returns
    -------
    list of UnfusedRun
    """
    raw_config = config.replace(epilogue=None)
    runs = []
    with ExitStack() as stack:
        engine = stack.enter_context(open_unit(config))
        array = stack.enter_context(open_unit(raw_config))
        alone = stack.enter_context(open_unit(config, make=epilogue_unit))
        for gemm, x, terms in products:
            x = np.asarray(x)
            for unit in (engine, array, alone):
                unit.reset()
            fused = lower(config, gemm, x, terms)
            first = lower(raw_config, gemm, x)
            whole, sums = engine.run(fused), array.run(first)
            row_sums = x.sum(axis=1, dtype=np.int64)
            second = lower_epilogue(config, gemm, first.collect(sums.data), terms, row_sums=row_sums)
            rows = alone.run(second)
            runs.append(
                UnfusedRun(
                    m=fused.m,
                    k=fused.k,
                    n=fused.n,
                    cycles_fused=whole.cycles,
                    cycles_unfused=sums.cycles + rows.cycles,
                    bytes_fused=_moved(fused, whole),
                    bytes_unfused=_moved(first, sums) + _moved(second, rows),
                    identical=np.array_equal(whole.data, rows.data),
                )
            )
    return runs


def _moved(program, result):
    return sum(words.size for words in program.streams.values()) + result.data.size + result.statistics.size
