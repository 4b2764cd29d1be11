"""Passes before the hardware: folds that leave the result the same and the bias vector as the only thing to add.

Each pass is a pure function on small frozen dataclasses, such as ``fold_batch_norm(Linear(w=w, b=b), norm)``, and
raises `FoldError` naming what blocks it. `examine` tries all of them on a model file.
"""

from .attention import Attention
from .batch_norm import BatchNorm, fold_batch_norm, fold_batch_norm_forward
from .bits import signed_bits
from .data_dependent_init import data_dependent_init
from .duplicate_bias import equal_biases, merge_added_bias, share_bias
from .errors import FoldError
from .examine import examine
from .finding import Finding
from .key_bias import drop_key_bias
from .layer_norm import fold_layer_norm
from .linear import Linear
from .mean_only_batch_norm import fold_mean_only_batch_norm
from .merge_parallel import Merged, merge_gemms, merge_parallel
from .overflowing_bias import accumulator_bound, check_bias, smallest_input_scale
from .relative_alibi import alibi_relative_bias, alibi_slopes
from .relative_bias import RelativeBias
from .relative_swin import swin_relative_bias
from .relative_t5 import t5_bucket, t5_relative_bias
from .value_bias import fold_value_bias
from .weight_norm import WeightNorm, fold_weight_norm, weight_norm_in_scale
from .zero_bias import bypass_bias
from .zero_point import ZeroPointFold, fold_zero_point

__all__ = [
    "Attention",
    "BatchNorm",
    "Finding",
    "FoldError",
    "Linear",
    "Merged",
    "RelativeBias",
    "WeightNorm",
    "ZeroPointFold",
    "accumulator_bound",
    "alibi_relative_bias",
    "alibi_slopes",
    "bypass_bias",
    "check_bias",
    "data_dependent_init",
    "drop_key_bias",
    "equal_biases",
    "examine",
    "fold_batch_norm",
    "fold_batch_norm_forward",
    "fold_layer_norm",
    "fold_mean_only_batch_norm",
    "fold_value_bias",
    "fold_weight_norm",
    "fold_zero_point",
    "merge_added_bias",
    "merge_gemms",
    "merge_parallel",
    "share_bias",
    "signed_bits",
    "smallest_input_scale",
    "swin_relative_bias",
    "t5_bucket",
    "t5_relative_bias",
    "weight_norm_in_scale",
]
