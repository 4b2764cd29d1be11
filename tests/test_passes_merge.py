"""Parallel layers as one product against each of them alone."""

from dataclasses import replace

import numpy as np
import pytest
from plusb.gen.gemm import Gemm
from plusb.gen.models import golden_gemm
from plusb.gen.passes import FoldError, merge_gemms, merge_parallel
from plusb.rtl.numeric import Family

from .passes_float import convolve, random_linear


@pytest.mark.parametrize("biases", [(1, 1, 1), (1, 0, 1), (0, 0, 0)])
def test_qkv(biases):
    rng = np.random.default_rng(1)
    layers = [random_linear(rng, n, 9, bias=bool(b)) for n, b in zip((8, 4, 4), biases, strict=True)]
    x = rng.normal(size=(2, 20, 9))
    merged = merge_parallel(layers)
    assert merged.layer.outputs == 16
    assert (merged.layer.b is None) == (not any(biases))
    for layer, y in zip(layers, merged.split(merged.layer(x)), strict=True):
        np.testing.assert_allclose(y, layer(x), atol=1e-12)


def test_convolutions():
    rng = np.random.default_rng(2)
    layers = [random_linear(rng, n, 3, 3, 2) for n in (3, 5)]
    x = rng.normal(size=(5, 5, 2))
    merged = merge_parallel(layers)
    for layer, y in zip(layers, merged.split(convolve(x, merged.layer)), strict=True):
        np.testing.assert_allclose(y, convolve(x, layer), atol=1e-12)


def test_linear_refusals():
    rng = np.random.default_rng(3)
    a = random_linear(rng, 4, 9)
    with pytest.raises(FoldError, match=r"^at least 2 layers are needed to merge, not 1$"):
        merge_parallel([a])
    with pytest.raises(FoldError, match=r"^inputs and kernel must be the same in all, not \[9\], \[8\]$"):
        merge_parallel([a, random_linear(rng, 4, 8)])
    with pytest.raises(FoldError, match=r"^zero padding must be the same in all, not False, True$"):
        merge_parallel([a, replace(a, zero_padding=True)])
    with pytest.raises(FoldError, match=r"^layers of 2 groups read other inputs in each group$"):
        merge_parallel([replace(a, groups=2)] * 2)


def random_gemm(rng, n, family=Family.gemmlowp, **fixed):
    scales = (
        {"scale": rng.uniform(1e-4, 1e-3, n).astype(np.float32)}
        if family is Family.float32
        else {"multiplier": rng.integers(2**30, 2**31, n), "shift": rng.integers(-12, -6, n)}
    )
    values = {
        "name": f"n{n}",
        "op": "GEMM",
        "w": rng.integers(-128, 128, (9, n)).astype(np.int8),
        "bias": rng.integers(-1000, 1000, n),
        "family": family,
        "zp_out": 3,
    }
    return Gemm(**(values | scales | fixed))


@pytest.mark.parametrize("family", [Family.gemmlowp, Family.float32])
def test_quantized(family):
    rng = np.random.default_rng(4)
    gemms, x = [random_gemm(rng, n, family) for n in (8, 3)], rng.integers(-128, 128, (20, 9))
    merged = merge_gemms(gemms, "both")
    for gemm, y in zip(gemms, merged.split(golden_gemm(x, merged.layer)), strict=True):
        np.testing.assert_array_equal(y, golden_gemm(x, gemm))


@pytest.mark.parametrize("family", [Family.gemmlowp, Family.float32])
def test_quantized_with_everything(family):
    """Second scales, and a layer with weight zero points beside one without."""
    rng = np.random.default_rng(6)
    gemms = []
    for n, zw in ((4, rng.integers(-9, 9, 4)), (3, None)):
        other = random_gemm(rng, n, family)
        negative = other.scale if family is Family.float32 else (other.multiplier, other.shift)
        gemms.append(random_gemm(rng, n, family, zw=zw, negative=negative))
    x = rng.integers(-128, 128, (20, 9))
    merged = merge_gemms(gemms, "both")
    for gemm, y in zip(gemms, merged.split(golden_gemm(x, merged.layer)), strict=True):
        np.testing.assert_array_equal(y, golden_gemm(x, gemm))


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"zp_out": 4}, "the output zero point must be the same in all, not 3, 4"),
        ({"lo": 3}, "the clamp bounds must be the same in all, not (-128, 127), (3, 127)"),
        ({"raw": True}, "raw sums must be the same in all, not False, True"),
        (
            {"negative": (np.full(3, 2**30), np.full(3, -7))},
            "a second scale for negative sums must be the same in all, not False, True",
        ),
        ({"family": Family.ruy}, "the rounding family must be the same in all, not gemmlowp, ruy"),
        ({"w": np.zeros((8, 3), np.int8)}, "K must be the same in all, not 9, 8"),
    ],
)
def test_quantized_refusals(fixed, message):
    rng = np.random.default_rng(5)
    gemms = [random_gemm(rng, 3), random_gemm(rng, 3, **fixed)]
    with pytest.raises(FoldError) as error:
        merge_gemms(gemms, "both")
    assert str(error.value) == message
