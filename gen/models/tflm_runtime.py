"""TensorFlow Lite for Microcontrollers as an oracle."""

import numpy as np
from tflite_micro import runtime

from .errors import ModelError, one_line
from .tflite_parse import pack
from .tflite_submodel import one_operator, with_all_outputs, with_biases

__all__ = ["Tflm"]

_ARENA_OVERHEAD = 1 << 20


class Tflm:
    """Runs a parsed model, or one of its operators, on TFLM's kernels.

    Parameters
    ----------
    model : ModelT
    tensors : dict of int to Tensor
        For the size of the arena.
    """

    def __init__(self, model, tensors):
        self._model = with_biases(model)
        self._arena = _ARENA_OVERHEAD + 4 * sum(8 * int(np.prod(t.shape)) for t in tensors.values() if t.data is None)
        self._whole, self._untouched = None, None
        self._operators = {}

    def _interpreter(self, data, where):
        try:
            return runtime.Interpreter.from_bytes(data, arena_size=self._arena)
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"TFLM refuses it: {one_line(error)}", operator=where) from error

    @staticmethod
    def _run(interpreter, values, outputs, where):
        try:
            for i, value in enumerate(values):
                interpreter.set_input(np.ascontiguousarray(value), i)
            interpreter.invoke()
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"TFLM failed: {one_line(error)}", operator=where) from error
        return {key: np.array(interpreter.get_output(i)) for i, key in enumerate(outputs)}

    def trace(self, inputs):
        """Every operator's results for one input; see `LiteRt.trace`."""
        if self._whole is None:
            data, keys = with_all_outputs(self._model)
            self._whole = self._interpreter(data, None), keys
        interpreter, keys = self._whole
        return self._run(interpreter, inputs, keys, None)

    def answer(self, inputs):
        """The outputs of the model as it is, in their order."""
        if self._untouched is None:
            self._untouched = self._interpreter(pack(self._model), None)
        keys = range(len(self._model.subgraphs[0].outputs))
        return list(self._run(self._untouched, inputs, keys, None).values())

    def run_operator(self, step, values):
        """Execute one operator; see `LiteRt.run_operator`."""
        if step.index not in self._operators:
            data, inputs, outputs = one_operator(self._model, step.index)
            self._operators[step.index] = self._interpreter(data, step.name), inputs, outputs
        interpreter, inputs, outputs = self._operators[step.index]
        return self._run(interpreter, [values[k] for k in inputs], outputs, step.name)
