"""Golden model of the unit's arithmetic in NumPy. Imports no Amaranth and shares no formula with the hardware."""

from .bias import BIAS_FORMS, BIAS_WIDTHS, StoredBias, load_bias, store_bias
from .fixed import requantize
from .float32 import requantize_float32, requantize_float64
from .int16x8 import reduce_multiplier, requantize_16x8
from .litert_lut import LITERT_ACTIVATIONS, litert_lut
from .lut import ACTIVATIONS, make_lut
from .product import fold_zero_point, gemm
from .scales import RUNTIMES, RuntimeScale, quantize_multiplier, runtime_scale
from .stages import Stages, epilogue, epilogue_stages, gemm_epilogue
from .statistics import TileStatistics, tile_statistics
from .terms import add_terms

__all__ = [
    "ACTIVATIONS",
    "BIAS_FORMS",
    "BIAS_WIDTHS",
    "LITERT_ACTIVATIONS",
    "RUNTIMES",
    "RuntimeScale",
    "Stages",
    "StoredBias",
    "TileStatistics",
    "add_terms",
    "epilogue",
    "epilogue_stages",
    "fold_zero_point",
    "gemm",
    "gemm_epilogue",
    "litert_lut",
    "load_bias",
    "make_lut",
    "quantize_multiplier",
    "reduce_multiplier",
    "requantize",
    "requantize_16x8",
    "requantize_float32",
    "requantize_float64",
    "runtime_scale",
    "store_bias",
    "tile_statistics",
]
