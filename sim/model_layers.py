"""Layers of real models on the simulated unit: all products of a layer in one burst, with the cycles predicted."""

import dataclasses
import time
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..gen.cost import cycles, sizes_of
from ..gen.lower import lower
from ..gen.sequence import ProgramSequence
from .burst import open_unit

__all__ = ["LayerResult", "ModelUnit", "layer_program", "open_model_unit"]


@dataclass(frozen=True, kw_only=True)
class LayerResult:
    """What a unit made of a layer.

    Parameters
    ----------
    y : array
        The output tensor.
    cycles, predicted_cycles : int
        From the first operand of the layer to its last result: simulated, and by the cost model.
    seconds : float
        Wall time of the simulation.
    """

    y: np.ndarray
    cycles: int
    predicted_cycles: int
    seconds: float


def layer_program(config, layer, x):
    """The program of all products of a layer.

    Parameters
    ----------
    config : EngineConfig
    layer : GemmLayer
    x : array
        The input tensor.

    Returns
    -------
    ProgramSequence

    Raises
    ------
    ValueError
        If the unit cannot compute the layer; the message begins with the layer's name.
    """
    try:
        return ProgramSequence(
            tuple(
                lower(config, dataclasses.replace(gemm, raw=layer.spec.raw), matrix)
                for matrix, gemm in layer.matrices(x)
            )
        )
    except ValueError as error:
        raise ValueError(f"{layer.name}: {error}") from error


class ModelUnit:
    """A simulated unit that runs whole layers. Use :func:`open_model_unit`."""

    def __init__(self, config, unit):
        self._config, self._unit = config, unit

    def run(self, layer, x, *, progress=None):
        """Run a layer from an idle unit to its last row.

        Parameters
        ----------
        layer : GemmLayer
        x : array
            The input tensor.
        progress : callable or None
            Called now and then with the number of cycles that have passed.

        Returns
        -------
        LayerResult

        Raises
        ------
        ValueError
            If the unit cannot compute the layer.
        RuntimeError
            If the unit stops.
        """
        program = layer_program(self._config, layer, x)
        self._unit.reset()
        began = time.perf_counter()
        result = self._unit.run(program, progress=progress and (lambda _rows, passed: progress(passed)))
        seconds = time.perf_counter() - began
        return LayerResult(
            y=layer.assemble(program.collect(result.data)),
            cycles=result.cycles,
            predicted_cycles=cycles(self._config, sizes_of(program)),
            seconds=seconds,
        )


@contextmanager
def open_model_unit(config, *, waves=None):
    """A context with the :class:`ModelUnit` of a configuration; it is built the first time.

    Parameters
    ----------
    config : EngineConfig
    waves : Path or None
        VCD file to write.
    """
    with open_unit(config, waves=waves) as unit:
        yield ModelUnit(config, unit)
