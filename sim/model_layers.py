"""Layers of real models on a unit: all products of a layer as one program, with the cycles predicted."""

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
    cycles : int or None
        From the first operand of the layer to its last result; None where the unit does not tell.
    predicted_cycles : int
        The same by the cost model.
    seconds : float
        Wall time of the unit: that of the simulation, or of a board with its serial line.
    """

    y: np.ndarray
    cycles: int | None
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
    """A unit that runs whole layers.

    Parameters
    ----------
    config : EngineConfig
    execute : callable
        ``execute(program, progress)`` gives the bytes of the program's rows, and its cycles or None. It may call
        ``progress``, unless that is None, with the share of the rows that have arrived.
    """

    def __init__(self, config, execute):
        self._config, self._execute = config, execute

    def run(self, layer, x, *, progress=None):
        """Run a layer to its last row.

        Parameters
        ----------
        layer : GemmLayer
        x : array
            The input tensor.
        progress : callable or None
            Called now and then with the share of the layer that is done, 0 to 1.

        Returns
        -------
        LayerResult

        Raises
        ------
        ValueError
            If the unit cannot compute the layer.
        """
        program = layer_program(self._config, layer, x)
        began = time.perf_counter()
        octets, spent = self._execute(program, progress)
        seconds = time.perf_counter() - began
        return LayerResult(
            y=layer.assemble(program.collect(octets)),
            cycles=spent,
            predicted_cycles=cycles(self._config, sizes_of(program)),
            seconds=seconds,
        )


@contextmanager
def open_model_unit(config, *, waves=None):
    """A context with the simulated :class:`ModelUnit` of a configuration; it is built the first time.

    It begins each layer idle, and raises ``RuntimeError`` if it stops.

    Parameters
    ----------
    config : EngineConfig
    waves : Path or None
        VCD file to write.
    """
    with open_unit(config, waves=waves) as unit:

        def execute(program, progress):
            unit.reset()
            result = unit.run(program, progress=progress and (lambda rows, _cycles: progress(rows / program.rows)))
            return result.data, result.cycles

        yield ModelUnit(config, execute)
