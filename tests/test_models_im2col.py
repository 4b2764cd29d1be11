"""Convolutions as matrix products, with and without blocks of output pixels and merged groups."""

import numpy as np
import pytest
from plusb.gen.models import (
    Grouping,
    Im2col,
    LayerSpec,
    ModelError,
    choose_grouping,
    grouping_cycles,
    lower_layer,
    run_layer,
)


def spec_of(
    rng,
    *,
    size=(7, 6),
    channels=4,
    outputs=8,
    groups=4,
    kernel=(3, 2),
    stride=(1, 1),
    dilation=(1, 1),
    pad=(1, 0),
    **changes,
):
    out = tuple((size[d] + 2 * pad[d] - (kernel[d] - 1) * dilation[d] - 1) // stride[d] + 1 for d in (0, 1))
    fields = dict(
        name="0:CONV_2D",
        op="CONV_2D",
        index=0,
        input=0,
        output=1,
        in_shape=(2, *size, channels),
        out_shape=(2, *out, outputs),
        x_dtype=np.dtype(np.int8),
        y_dtype=np.dtype(np.int8),
        w=rng.integers(-127, 128, (outputs, *kernel, channels // groups)).astype(np.int8),
        w_zero=np.zeros(outputs, np.int64),
        bias=rng.integers(-900, 900, outputs),
        s_in=np.float32(0.03),
        s_w=rng.uniform(0.002, 0.01, outputs).astype(np.float32),
        s_out=np.float32(0.07),
        z_in=-5,
        z_out=4,
        groups=groups,
        geometry=Im2col(in_size=size, out_size=out, kernel=kernel, stride=stride, dilation=dilation, pad=pad),
    )
    return LayerSpec(**(fields | changes))


def direct(spec, x):
    """Accumulators of the convolution by its definition, one output pixel at a time."""
    g, (oh, ow) = spec.geometry, spec.geometry.out_size
    acc = np.zeros((x.shape[0], oh, ow, spec.w.shape[0]), np.int64)
    own_in, own_out = spec.w.shape[3], spec.w.shape[0] // spec.groups
    for b, i, j, o, ky, kx in np.ndindex(x.shape[0], oh, ow, spec.w.shape[0], *g.kernel):
        y, z = i * g.stride[0] + ky * g.dilation[0] - g.pad[0], j * g.stride[1] + kx * g.dilation[1] - g.pad[1]
        if 0 <= y < g.in_size[0] and 0 <= z < g.in_size[1]:
            first = o // own_out * own_in
            acc[b, i, j, o] += (x[b, y, z, first : first + own_in].astype(np.int64) - spec.z_in) @ spec.w[
                o, ky, kx
            ].astype(np.int64)
    return acc + spec.bias


@pytest.mark.parametrize(
    "changes", [{}, {"stride": (2, 3)}, {"dilation": (2, 2)}, {"stride": (2, 1), "dilation": (1, 3)}]
)
@pytest.mark.parametrize(
    "grouping", [Grouping(), Grouping(merge=2), Grouping(block=(2, 3)), Grouping(merge=4, block=(1, 2))]
)
def test_every_grouping_computes_the_convolution(changes, grouping):
    rng = np.random.default_rng(5)
    raw = spec_of(rng, y_dtype=np.dtype(np.int32), z_out=0, **changes)
    x = rng.integers(-128, 128, raw.in_shape).astype(np.int8)
    assert np.array_equal(run_layer(lower_layer(raw, "ort", grouping), x), direct(raw, x))


@pytest.mark.parametrize("grouping", [Grouping(merge=2, block=(3, 1)), Grouping(block=(2, 4))])
def test_a_block_repeats_every_channels_scale(grouping):
    rng = np.random.default_rng(6)
    spec = spec_of(rng)
    x = rng.integers(-128, 128, spec.in_shape).astype(np.int8)
    plain, grouped = (run_layer(lower_layer(spec, "tflm", g), x) for g in (Grouping(), grouping))
    assert np.array_equal(plain, grouped)


def test_unsigned_activations_and_weights_with_a_zero_point():
    rng = np.random.default_rng(7)
    signed = spec_of(rng)
    x = rng.integers(-128, 128, signed.in_shape).astype(np.int8)
    unsigned = spec_of(
        np.random.default_rng(7),
        x_dtype=np.dtype(np.uint8),
        y_dtype=np.dtype(np.uint8),
        z_in=123,
        z_out=132,
        w=(signed.w.astype(np.int16) + 128).astype(np.uint8),
        w_zero=np.full(8, 128),
        bias=signed.bias,
        s_w=signed.s_w,
    )
    layer = lower_layer(unsigned, "ort")
    assert all(
        m.dtype == np.int8 and gemm.w.dtype == np.int8
        for m, gemm in layer.matrices((x.astype(int) + 128).astype(np.uint8))
    )
    y = run_layer(layer, (x.astype(int) + 128).astype(np.uint8))
    assert y.dtype == np.uint8
    assert np.array_equal(y.astype(int) - 128, run_layer(lower_layer(signed, "ort"), x))


def test_the_cost_of_a_grouping_is_that_of_its_products():
    spec = spec_of(
        np.random.default_rng(8), size=(12, 12), channels=16, outputs=16, groups=16, kernel=(3, 3), pad=(1, 1)
    )
    for grouping in (Grouping(), Grouping(merge=8), Grouping(block=(2, 4)), choose_grouping(spec, 8, 8)):
        layer = lower_layer(spec, "tflm", grouping)
        cycles = sum(-(-layer.m // 8) * -(-g.gemm.n // 8) * max(g.gemm.k, 8) for g in layer.groups)
        assert grouping_cycles(spec, grouping, 8, 8) == cycles
    assert choose_grouping(spec, 8, 8) == Grouping(block=(2, 3))
    # 288 pixels are 36 tiles of 9 cycles, merged or not; blocks of 8 pixels make 5 tiles of 24,
    # and blocks of 6 make 6 tiles of 20.
    assert [
        grouping_cycles(spec, g, 8, 8)
        for g in (Grouping(), Grouping(merge=8), Grouping(block=(2, 4)), Grouping(block=(2, 3)))
    ] == [
        16 * 36 * 9,
        2 * 36 * 72,
        16 * 5 * 24,
        16 * 6 * 20,
    ]


def test_a_plain_convolution_is_not_blocked():
    assert choose_grouping(spec_of(np.random.default_rng(9), groups=1), 8, 8) == Grouping()


def test_refusals():
    spec = spec_of(np.random.default_rng(9))
    with pytest.raises(ModelError, match=r"operator 0:CONV_2D: .* does not fit 4 groups"):
        lower_layer(spec, "tflm", Grouping(merge=3))
    with pytest.raises(ValueError, match="merge and block must be at least 1, not 0 and"):
        Grouping(merge=0)
    with pytest.raises(ValueError, match=r"the input of 0:CONV_2D must be int8 of shape .* not uint8"):
        lower_layer(spec, "tflm").matrices(np.zeros(spec.in_shape, np.uint8))
    with pytest.raises(ModelError, match="K must be at most 65793 to fit 32-bit accumulators, not 65794"):
        spec_of(np.random.default_rng(9), w=np.zeros((8, 1, 1, 65794), np.int8))
    with pytest.raises(ModelError, match="7 biases do not fit 8 outputs"):
        spec_of(np.random.default_rng(9), bias=np.zeros(7, np.int64))


def test_weights_of_nine_bits_take_further_rows():
    rng = np.random.default_rng(10)
    w = rng.integers(0, 256, (8, 3, 2, 1)).astype(np.uint8)
    zero = np.array([0, 255, 0, 128, 100, 130, 1, 254])
    w[0, 0, 0, 0], w[1, 0, 0, 0] = 255, 0
    raw = spec_of(rng, y_dtype=np.dtype(np.int32), z_out=0, w=w, w_zero=zero)
    x = rng.integers(-128, 128, raw.in_shape).astype(np.int8)
    layer = lower_layer(raw, "ort", Grouping(merge=2))
    assert all(group.gemm.w.dtype == np.int8 and group.gemm.k > 12 for group in layer.groups)
    signed = spec_of(rng, w=w.astype(np.int64) - zero[:, None, None, None], bias=raw.bias)
    assert np.array_equal(run_layer(layer, x), direct(signed, x))
