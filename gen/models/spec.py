"""A quantized matrix product as the model states it, before a runtime's rounding or a unit's shape is chosen."""

from dataclasses import dataclass

import numpy as np

from ...rtl.numeric import IntType, max_safe_k
from .errors import ModelError
from .im2col import Im2col

__all__ = ["LayerSpec"]


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerSpec:
    """One FULLY_CONNECTED, convolution, Gemm or MatMul with its bias and activation.

    Parameters
    ----------
    name, op : str
        ``op`` is the operator's own name in its format, such as ``DEPTHWISE_CONV_2D`` or ``QLinearConv``.
    index : int
        Position of the operator in the model.
    input, output : tensor keys
    in_shape, out_shape : tuple of int
    x_dtype, y_dtype : numpy dtype
        int8 or uint8; ``y_dtype`` is int32 for a product that leaves its accumulators unscaled.
    w : int array, shape (outputs, kernel height, kernel width, inputs of one group)
        Weights as stored. A plain matrix has a 1 × 1 kernel.
    w_zero : int64 array, shape (outputs,)
        Weight zero points.
    bias : int64 array, shape (outputs,), or None
        On the accumulator's grid.
    s_in, s_out : float32
    s_w : float32 array, shape (1,) or (outputs,)
    z_in, z_out : int
    clamp : (float or None, float or None)
        Real bounds of the activation; None is open.
    geometry : Im2col, optional
        None for a plain matrix, of which the input holds as many rows as fit.
    groups : int
    channels_first : bool
        Whether images are (batch, channels, height, width), as in ONNX.
    z_key : tensor key, optional
        The tensor that holds the input's zero point where that is computed while the model runs; ``z_in`` is then 0.
    float_in_runtime : bool
        Whether the runtime computes this layer in float32, so that near-ties may differ from the integer definition.
    """

    name: str
    op: str
    index: int
    input: int | str
    output: int | str
    in_shape: tuple
    out_shape: tuple
    x_dtype: np.dtype
    y_dtype: np.dtype
    w: np.ndarray
    w_zero: np.ndarray
    bias: np.ndarray | None
    s_in: np.float32
    s_w: np.ndarray
    s_out: np.float32
    z_in: int
    z_out: int
    clamp: tuple = (None, None)
    geometry: Im2col | None = None
    groups: int = 1
    channels_first: bool = False
    z_key: int | str | None = None
    float_in_runtime: bool = False

    def __post_init__(self):
        outputs, taps = self.w.shape[0], int(np.prod(self.w.shape[1:]))
        if outputs % self.groups:
            raise ModelError(f"{outputs} outputs do not divide into {self.groups} groups", operator=self.name)
        unsigned = self.w.dtype == np.uint8
        safe = max_safe_k(IntType(8, True), IntType(8, not unsigned))
        if taps > safe:
            raise ModelError(f"K must be at most {safe} to fit 32-bit accumulators, not {taps}", operator=self.name)
        for what, values in (("weight zero points", self.w_zero), ("biases", self.bias)):
            if values is not None and values.shape != (outputs,):
                raise ModelError(f"{values.size} {what} do not fit {outputs} outputs", operator=self.name)
        if self.s_w.size not in (1, outputs):
            raise ModelError(f"{self.s_w.size} weight scales do not fit {outputs} outputs", operator=self.name)

    @property
    def reads(self):
        """Keys of the tensors it reads."""
        return (self.input,) if self.z_key is None else (self.input, self.z_key)

    @property
    def batch(self):
        """Images, or rows of a plain matrix."""
        return self.in_shape[0] if self.geometry else int(np.prod(self.in_shape, dtype=np.int64)) // self.w.shape[3]

    @property
    def macs(self):
        """Multiplications of the layer itself, whatever the lowering adds."""
        pixels = int(np.prod(self.geometry.out_size)) if self.geometry else 1
        return self.batch * pixels * self.w.size

    @property
    def raw(self):
        """Whether the layer ends in its accumulators, unscaled."""
        return np.dtype(self.y_dtype) == np.int32
