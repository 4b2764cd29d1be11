"""What the passes transform: a matrix product or convolution with its bias, in floating point."""

from dataclasses import dataclass

import numpy as np

from ._check import real_array

__all__ = ["Linear"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Linear:
    """A linear layer ``y = W x + b``.

    Parameters
    ----------
    w : float64 array, shape (outputs, inputs) or (outputs, kernel height, kernel width, inputs of one group)
        The outputs come first and the inputs last, as in `LayerSpec`.
    b : float64 array, shape (outputs,), or None
    groups : int
        Group g reads inputs ``g*C .. (g+1)*C - 1`` and makes as large a share of the outputs.
    zero_padding : bool
        Whether the layer (a convolution) fills a border around its input with real zeros.
    """

    w: np.ndarray
    b: np.ndarray | None = None
    groups: int = 1
    zero_padding: bool = False

    def __post_init__(self):
        w = real_array(self.w, "w")
        if w.ndim < 2:
            raise ValueError(f"w must have the shape (outputs, ..., inputs), not {w.shape!r}")
        if self.groups < 1 or w.shape[0] % self.groups:
            raise ValueError(f"groups must divide the {w.shape[0]} outputs, not be {self.groups!r}")
        object.__setattr__(self, "w", w)
        if self.b is not None:
            object.__setattr__(self, "b", real_array(self.b, "b", (w.shape[0],)))

    @property
    def outputs(self):
        """Number of output channels."""
        return self.w.shape[0]

    @property
    def inputs(self):
        """Number of input channels, of all groups."""
        return self.w.shape[-1] * self.groups

    @property
    def bias(self):
        """The bias, zeros where there is none."""
        return np.zeros(self.outputs) if self.b is None else self.b

    def per_output(self, factors):
        """W with each output channel multiplied by its factor."""
        return self.w * np.reshape(factors, (-1,) + (1,) * (self.w.ndim - 1))

    def per_input(self, values):
        """One value an input channel, shape (inputs,), arranged so that it multiplies W."""
        grouped = np.reshape(values, (self.groups, self.w.shape[-1]))
        each = np.repeat(grouped, self.outputs // self.groups, axis=0)
        return each.reshape((self.outputs,) + (1,) * (self.w.ndim - 2) + (-1,))

    def __call__(self, x):
        """The output for ``x``, shape (..., inputs). Raises ``TypeError`` unless the layer is a plain matrix."""
        if self.w.ndim != 2 or self.groups != 1:
            raise TypeError("only a plain matrix can be called; a convolution needs its geometry")
        return np.asarray(x) @ self.w.T + self.bias
