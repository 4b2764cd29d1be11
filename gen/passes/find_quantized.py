"""What the passes can do for a quantized model, of either format: zero points, biases, parallel layers."""

import numpy as np

from ..models import Grouping, ModelError, lower_layer
from .bits import signed_bits
from .duplicate_bias import equal_biases, share_bias
from .errors import FoldError
from .finding import Finding, attempt
from .merge_parallel import merge_gemms
from .overflowing_bias import accumulator_bound, check_bias
from .zero_bias import bypass_bias
from .zero_point import fold_zero_point

__all__ = ["find_quantized"]


def _zero_point(spec):
    def fold():
        if spec.z_key is not None:
            raise FoldError("the zero point is computed while the model runs: fold it then, once for each input")
        return fold_zero_point(spec.w, spec.bias, spec.z_in, spec.w_zero if spec.w_zero.any() else None)

    def why(fold):
        text = f"zero point {spec.z_in}: the bias goes from {fold.bits_before} to {fold.bits_after} signed bits"
        rank_1 = "; the weights' zero points go into the weights" if spec.w_zero.any() else ""
        return text + rank_1

    return attempt(
        "zero-point",
        spec.name,
        fold,
        why,
        lambda fold: {"zero_point": spec.z_in, "bits_before": fold.bits_before, "bits_after": fold.bits_after},
    )


def _zero_bias(spec):
    if spec.bias is not None and spec.bias.any():
        return None

    def bypass():
        if spec.z_key is not None:
            raise FoldError("the model has none, but the zero point, known only while it runs, makes an effective one")
        effective = fold_zero_point(spec.w, spec.bias, spec.z_in, spec.w_zero).bias
        try:
            bypass_bias(effective)
        except FoldError as error:
            raise FoldError(
                f"the model's biases are all zero, but with zero point {spec.z_in} folded {error}"
            ) from error

    return attempt("zero-bias", spec.name, bypass, "every bias is zero, also with the zero point: select the bypass")


def _overflowing(spec):
    """A finding only for a bias that overflows or uses the last bits of its word."""
    if spec.bias is None:
        return None
    w = spec.w.astype(np.int64) - spec.w_zero[:, None, None, None]
    bound = accumulator_bound(w, spec.z_in, signed=spec.x_dtype == np.int8)
    try:
        bits = check_bias(spec.bias, bound=bound)
    except FoldError as error:
        return Finding(rule="overflowing-bias", where=spec.name, folds=False, why=str(error))
    if bits <= 24:
        return None
    wide = int(np.count_nonzero(np.abs(spec.bias) >= 1 << 23))
    return Finding(
        rule="overflowing-bias",
        where=spec.name,
        folds=False,
        why=f"{wide} of {spec.bias.size} biases need up to {bits} bits (dead channels?) and so 32-bit words",
        figures={"bits": bits, "channels": wide},
    )


def _shared(specs):
    findings = []
    for group in equal_biases([spec.bias for spec in specs]):
        members = [specs[i] for i in group]
        scales = [np.float64(spec.s_in) * spec.s_w.astype(np.float64) for spec in members]
        findings.append(
            attempt(
                "duplicate-bias",
                " + ".join(spec.name for spec in members),
                lambda members=members, scales=scales: share_bias(members[0].bias, scales),
                f"the same {members[0].bias.size} biases on one scale: store them once",
                lambda bias: {"bits": signed_bits(bias)},
            )
        )
    return findings


def _merge(specs, runtime):
    if any(spec.groups > 1 for spec in specs):
        raise FoldError("grouped convolutions read other channels in each group")
    if any(spec.geometry != specs[0].geometry for spec in specs[1:]):
        raise FoldError("their kernels, strides or paddings differ")
    if any(spec.raw != specs[0].raw or spec.y_dtype != specs[0].y_dtype for spec in specs[1:]):
        raise FoldError("their results are of different types")
    try:
        layers = [lower_layer(spec, runtime, Grouping()) for spec in specs]
    except ModelError as error:
        raise FoldError(str(error)) from error
    gemms = [layer.groups[0].gemm for layer in layers]
    if any(layer.groups[0].repeated is not None for layer in layers):
        raise FoldError("weights of more than 8 bits less their zero point read other columns of the input again")
    return merge_gemms(gemms, " + ".join(spec.name for spec in specs))


def _parallel(specs, runtime):
    shared = {}
    for spec in specs:
        shared.setdefault(spec.input, []).append(spec)
    return [
        attempt(
            "merge-parallel",
            " + ".join(spec.name for spec in group),
            lambda group=group: _merge(group, runtime),
            lambda merged: f"one product with {merged.layer.n} outputs and one bias vector",
            lambda merged: {"outputs": merged.layer.n},
        )
        for group in shared.values()
        if len(group) > 1
    ]


def find_quantized(specs, runtime):
    """The findings for the layers of a quantized model.

    Parameters
    ----------
    specs : sequence of LayerSpec
    runtime : str
        Whose rounding the merged products use; see `plusb.gen.models`.

    Returns
    -------
    list of Finding
    """
    found = [_zero_point(spec) for spec in specs]
    found += filter(None, map(_zero_bias, specs))
    found += _shared(specs)
    found += filter(None, map(_overflowing, specs))
    return found + _parallel(specs, runtime)
