"""LiteRT as an oracle: its reference kernels, its optimized ones without delegates, or XNNPACK (its default)."""

import os
from contextlib import contextmanager

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from .errors import ModelError, one_line
from .tflite_parse import pack
from .tflite_submodel import one_operator, with_all_outputs, with_biases

__all__ = ["LiteRt"]

_RESOLVERS = {
    "litert-ref": OpResolverType.BUILTIN_REF,
    "litert": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "litert-xnnpack": OpResolverType.AUTO,
}


@contextmanager
def _quiet():
    """Keeps LiteRT's C++ code, which greets every delegate, from writing to stderr; its errors come as exceptions."""
    try:
        kept = os.dup(2)
    except OSError:  # there is none
        yield
        return
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class LiteRt:
    """Runs a parsed model, or one of its operators, on one of LiteRT's three sets of kernels.

    Parameters
    ----------
    model : ModelT
    runtime : str
        ``litert-ref``, ``litert`` or ``litert-xnnpack``.
    """

    def __init__(self, model, runtime):
        self._model, self._resolver = with_biases(model), _RESOLVERS[runtime]
        self._whole, self._untouched = None, None
        self._operators = {}

    def _interpreter(self, data, where):
        try:
            with _quiet():
                interpreter = Interpreter(
                    model_content=data, experimental_op_resolver_type=self._resolver, num_threads=1
                )
                interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"LiteRT refuses it: {one_line(error)}", operator=where) from error
        return interpreter

    @staticmethod
    def _run(interpreter, values, where):
        details = interpreter.get_input_details()
        try:
            for detail, value in zip(details, values, strict=True):
                interpreter.set_tensor(detail["index"], np.ascontiguousarray(value))
            interpreter.invoke()
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"LiteRT failed: {one_line(error)}", operator=where) from error
        return [interpreter.get_tensor(detail["index"]).copy() for detail in interpreter.get_output_details()]

    def trace(self, inputs):
        """Every operator's results for one input.

        Parameters
        ----------
        inputs : sequence of arrays, one for each input of the model

        Returns
        -------
        dict of tensor key to array
        """
        if self._whole is None:
            data, keys = with_all_outputs(self._model)
            self._whole = self._interpreter(data, None), keys
        interpreter, keys = self._whole
        return dict(zip(keys, self._run(interpreter, inputs, None), strict=True))

    def answer(self, inputs):
        """The outputs of the model as it is, in their order."""
        if self._untouched is None:
            self._untouched = self._interpreter(pack(self._model), None)
        return self._run(self._untouched, inputs, None)

    def run_operator(self, step, values):
        """Execute one operator.

        Parameters
        ----------
        step : HostOp or LayerSpec
        values : dict of tensor key to array
            At least the operator's inputs.

        Returns
        -------
        dict of tensor key to array
        """
        if step.index not in self._operators:
            data, inputs, outputs = one_operator(self._model, step.index)
            self._operators[step.index] = self._interpreter(data, step.name), inputs, outputs
        interpreter, inputs, outputs = self._operators[step.index]
        results = self._run(interpreter, [values[k] for k in inputs], step.name)
        return dict(zip(outputs, results, strict=True))
