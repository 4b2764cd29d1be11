"""A model as a list of steps: layers for the unit, and operators that the host runs."""

from dataclasses import dataclass

from .errors import ModelError
from .spec import LayerSpec

__all__ = ["Graph", "HostOp"]


@dataclass(frozen=True, kw_only=True, eq=False)
class HostOp:
    """One operator (or a few that belong together) that the model's own runtime executes.

    Parameters
    ----------
    name, op : str
    index : int
        Position of the operator in the model.
    inputs, outputs : tuple of tensor keys
        Without constants.
    """

    name: str
    op: str
    index: int
    inputs: tuple
    outputs: tuple


@dataclass(frozen=True, kw_only=True, eq=False)
class Graph:
    """What a front end makes of a file.

    Parameters
    ----------
    tensors : dict of key to Tensor
    steps : tuple of LayerSpec and HostOp
        In an order that can be executed.
    inputs, outputs : tuple of tensor keys
    """

    tensors: dict
    steps: tuple
    inputs: tuple
    outputs: tuple

    def __post_init__(self):
        for key in self.inputs:
            tensor = self.tensors.get(key)
            if tensor is None or tensor.dtype is None or tensor.dtype.kind not in "iuf":
                raise ModelError("an input of the model must be of integers or floats", tensor=self.label(key))
        known = set(self.inputs) | {key for key, tensor in self.tensors.items() if tensor.data is not None}
        for step in self.steps:
            inputs = step.reads if isinstance(step, LayerSpec) else step.inputs
            outputs = (step.output,) if isinstance(step, LayerSpec) else step.outputs
            for key in inputs:
                if key not in known:
                    raise ModelError("read before any operator wrote it", operator=step.name, tensor=self.label(key))
            for key in outputs:
                if key in known:
                    raise ModelError("written twice, or a constant", operator=step.name, tensor=self.label(key))
            known.update(outputs)
        for key in self.outputs:
            if key not in known:
                raise ModelError("an output that no operator writes", tensor=self.label(key))
        if not self.layers:
            raise ModelError("the model has no quantized matrix product that the unit could run")

    @property
    def layers(self):
        """The steps that are matrix products, as `LayerSpec`."""
        return tuple(step for step in self.steps if isinstance(step, LayerSpec))

    def label(self, key):
        """The name of a tensor for people."""
        return self.tensors[key].name if key in self.tensors else str(key)
