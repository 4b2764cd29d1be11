"""Quantized models as matrix products: front ends for .tflite and .onnx files, and the runtimes they are compared with.

The way of a model: `open_model` parses the file (`tflite_parse`, `onnx_parse`), checks it into a neutral `Graph` of
`LayerSpec` and `HostOp` (`tflite_front`, `onnx_front`), and `lower_layer` turns every spec into a `GemmLayer` with the
rounding family of the chosen runtime. A `Session` then compares layer by layer, or runs the whole model.
"""

from .errors import ModelError
from .golden import golden_gemm, run_layer
from .graph import Graph, HostOp
from .grouping import Grouping, choose_grouping, grouping_cycles, unit_grouping
from .im2col import Im2col
from .layer import GemmGroup, GemmLayer
from .lowering import lower_layer
from .opening import RUNTIMES, open_model
from .session import LayerCheck, Session
from .spec import LayerSpec
from .tensor import Quantization, Tensor

__all__ = [
    "RUNTIMES",
    "GemmGroup",
    "GemmLayer",
    "Graph",
    "Grouping",
    "HostOp",
    "Im2col",
    "LayerCheck",
    "LayerSpec",
    "ModelError",
    "Quantization",
    "Session",
    "Tensor",
    "choose_grouping",
    "golden_gemm",
    "grouping_cycles",
    "lower_layer",
    "open_model",
    "run_layer",
    "unit_grouping",
]
