"""Layers executed by the simulated unit, one after the other, each compared with the golden model."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..gen.lower import lower
from ..gen.reference import reference
from .burst import open_unit

__all__ = ["LayerRun", "UnitPair", "open_pair"]


@dataclass(frozen=True, kw_only=True)
class LayerRun:
    """One layer's result and figures.

    Parameters
    ----------
    name, op : str
        Of the layer.
    m, k, n : int
        Size of the product.
    macs, ideal_cycles : int
        Multiply-accumulates, and the cycles in which the array could do them at best.
    cycles, cycles_raw : int
        From the first operand to the last result, with the epilogue and for raw accumulators without one.
    mismatches : int
        Outputs that differ from the golden model in the finished value or in the raw accumulator.
    seconds : float
        Wall time of the simulation with the epilogue.
    y : int64 array, shape (M, N)
        The output of the hardware.
    """

    name: str
    op: str
    m: int
    k: int
    n: int
    macs: int
    ideal_cycles: int
    cycles: int
    cycles_raw: int
    mismatches: int
    seconds: float
    y: np.ndarray

    @property
    def outputs(self):
        """Outputs compared."""
        return self.m * self.n

    @property
    def utilization(self):
        """Share of the array's multiply-accumulates that were of use."""
        return self.ideal_cycles / self.cycles


class UnitPair:
    """A simulated unit and the same one built without its epilogue. Use :func:`open_pair`."""

    def __init__(self, config, unit, raw_config, raw_unit):
        self._config, self._unit = config, unit
        self._raw_config, self._raw_unit = raw_config, raw_unit

    def run(self, layer, x, *, progress=None):
        """Run ``layer`` on ``x`` with both units and compare every output.

        Parameters
        ----------
        layer : Gemm
        x : int array, shape (M, K)
        progress : callable or None
            Called now and then with the share of the layer that is done, 0 to 1.

        Returns
        -------
        LayerRun

        Raises
        ------
        ValueError
            If the unit cannot compute the layer; see :func:`plusb.gen.lower.lower`.
        RuntimeError
            If a unit stops.
        """
        program = lower(self._config, layer, x)
        raw_program = lower(self._raw_config, layer, x)

        def report(offset):
            if progress is None:
                return None
            return lambda rows, _cycles: progress((offset + rows / program.rows) / 2)

        began = time.perf_counter()
        result = self._unit.run(program, progress=report(0))
        seconds = time.perf_counter() - began
        raw_result = self._raw_unit.run(raw_program, progress=report(1))
        y = program.collect(result.data)
        wrong = y != reference(self._config, layer, x).out
        wrong |= raw_program.collect(raw_result.data) != reference(self._raw_config, layer, x).out
        return LayerRun(
            name=layer.name,
            op=layer.op,
            m=program.m,
            k=program.k,
            n=program.n,
            macs=program.macs,
            ideal_cycles=program.ideal_cycles,
            cycles=result.cycles,
            cycles_raw=raw_result.cycles,
            mismatches=int(wrong.sum()),
            seconds=seconds,
            y=y,
        )


@contextmanager
def open_pair(config, *, waves=None):
    """A context with the :class:`UnitPair` of a configuration with an epilogue; both are built at the same time.

    Parameters
    ----------
    config : EngineConfig
    waves : Path or None
        VCD file to write, of the unit with the epilogue.
    """
    raw_config = config.replace(epilogue=None)
    contexts = [open_unit(config, waves=waves), open_unit(raw_config)]
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(context.__enter__) for context in contexts]
    try:
        units = [future.result() for future in futures]
        yield UnitPair(config, units[0], raw_config, units[1])
    finally:
        for context, future in zip(contexts, futures, strict=True):
            if future.exception() is None:
                context.__exit__(None, None, None)
