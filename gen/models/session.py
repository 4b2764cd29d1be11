"""A model with its runtime: traced, compared layer by layer, or executed from end to end with our own layers."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .errors import ModelError
from .golden import golden_gemm, run_layer
from .graph import Graph
from .grouping import choose_grouping
from .layer import GemmLayer
from .lowering import lower_layer

__all__ = ["LayerCheck", "Session"]


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerCheck:
    """How one layer's result compares with the runtime's.

    Parameters
    ----------
    layer : GemmLayer
    outputs, mismatches : int
    """

    layer: GemmLayer
    outputs: int
    mismatches: int


class Session:
    """One model on one runtime.

    Parameters
    ----------
    graph : Graph
    runtime : str
    oracle : LiteRt, Tflm or OnnxRuntime
        Executes the whole model or one operator.
    grouping : callable, optional
        ``grouping(spec)`` gives the `Grouping` of a layer; `choose_grouping` for an 8 × 8 array if left out.
    """

    def __init__(self, graph: Graph, runtime, oracle, grouping=None):
        self.graph, self.runtime, self._oracle = graph, runtime, oracle
        self._choose = grouping or partial(choose_grouping, rows=8, columns=8)
        self.layers = tuple(lower_layer(spec, runtime, self._choose(spec)) for spec in graph.layers)
        self._lowered = {layer.spec.name: layer for layer in self.layers}

    def regrouped(self, grouping):
        """The same model and runtime with another choice of groupings."""
        return Session(self.graph, self.runtime, self._oracle, grouping)

    def bound(self, layer, values):
        """The layer itself, or, where its zero point is a value of the model, with that folded into its bias."""
        key = layer.spec.z_key
        if key is None:
            return layer
        spec = replace(layer.spec, z_in=int(np.asarray(values[key]).reshape(-1)[0]), z_key=None)
        return lower_layer(spec, self.runtime, self._choose(spec))

    def check_inputs(self, inputs):
        """The inputs as arrays; raises `ModelError` unless they have the shapes and types of the model's inputs."""
        if len(inputs) != len(self.graph.inputs):
            raise ModelError(f"the model has {len(self.graph.inputs)} inputs, not {len(inputs)}")
        arrays = [np.asarray(x) for x in inputs]
        for key, x in zip(self.graph.inputs, arrays, strict=True):
            tensor = self.graph.tensors[key]
            if x.shape != tensor.shape or x.dtype != tensor.dtype:
                raise ModelError(
                    f"the input must be {tensor.dtype} of shape {list(tensor.shape)}, not {x.dtype} of {list(x.shape)}",
                    tensor=tensor.name,
                )
        return arrays

    def random_inputs(self, seed):
        """One input for each of the model's, uniform over the type (floats: standard normal)."""
        rng = np.random.default_rng(seed)
        inputs = []
        for key in self.graph.inputs:
            tensor = self.graph.tensors[key]
            if tensor.dtype.kind == "f":
                inputs.append(rng.standard_normal(tensor.shape).astype(tensor.dtype))
            else:
                info = np.iinfo(tensor.dtype)
                inputs.append(rng.integers(info.min, info.max, tensor.shape, tensor.dtype, endpoint=True))
        return inputs

    def trace(self, inputs):
        """What the runtime computes: every step's inputs and results, as a dict of tensor key to array."""
        inputs = self.check_inputs(inputs)
        return dict(zip(self.graph.inputs, inputs, strict=True)) | self._oracle.trace(inputs)

    def check(self, inputs, compute=golden_gemm):
        """Each layer on the runtime's own input tensor, compared with the runtime's own result.

        Parameters
        ----------
        inputs : sequence of arrays
        compute : callable
            ``compute(x_matrix, gemm)``; the golden model if left out.

        Returns
        -------
        list of LayerCheck
        """
        values = self.trace(inputs)
        checks = []
        for layer in self.layers:
            y, want = run_layer(self.bound(layer, values), values[layer.input], compute), values[layer.output]
            checks.append(LayerCheck(layer=layer, outputs=y.size, mismatches=int(np.count_nonzero(y != want))))
        return checks

    def run(self, inputs, compute=golden_gemm):
        """Execute the model with our layers feeding the later ones, and the host's steps in the runtime.

        Returns
        -------
        dict of tensor key to array
            Every tensor; the answers are those of ``graph.outputs``.
        """

        def execute(layer, values):
            return run_layer(self.bound(layer, values), values[layer.input], compute)

        return self._walk(inputs, execute)

    def finish(self, inputs, outputs):
        """The model's answers where the layers' outputs are given, by layer name; the runtime does the other steps."""
        values = self._walk(inputs, lambda layer, values: outputs[layer.name])
        return [values[key] for key in self.graph.outputs]

    def _walk(self, inputs, execute):
        values = dict(zip(self.graph.inputs, self.check_inputs(inputs), strict=True))
        for step in self.graph.steps:
            layer = self._lowered.get(step.name)
            if layer is None:
                values |= self._oracle.run_operator(step, values)
            else:
                values[layer.output] = execute(layer, values)
        return values

    def answer(self, inputs):
        """What the runtime answers for the untouched model; a list in the order of ``graph.outputs``."""
        return self._oracle.answer(self.check_inputs(inputs))
