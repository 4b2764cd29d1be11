"""Storage forms of the bias, and layers whose bias has gone through them."""

from dataclasses import replace

import numpy as np
import pytest
from plusb.gen.models import LayerSpec, golden_gemm, lower_layer
from plusb.gen.study import FORMS, BiasForm, change_bias
from plusb.sim.golden import load_bias, store_bias

BIAS = np.array([0, 5, -3000, 100_000, -(2**30)])
SCALE = np.array([1e-3, 2e-3, 5e-4, 1e-3, 1e-12])


def form(name):
    return next(f for f in FORMS if f.name == name)


def test_the_forms():
    names = [f.name for f in FORMS]
    assert len(set(names)) == len(names) == 14
    assert names[0] == "int32"
    assert names[-1] == "none"


def test_reference_keeps_every_bias():
    np.testing.assert_array_equal(form("int32").restored(BIAS, SCALE), BIAS)
    np.testing.assert_array_equal(form("none").restored(BIAS, SCALE), 0)


@pytest.mark.parametrize("name", ["sat", "shift", "chshift"])
@pytest.mark.parametrize("width", [8, 16, 24])
def test_golden_forms(name, width):
    want = load_bias(store_bias(BIAS, width, name))
    np.testing.assert_array_equal(BiasForm(form=name, width=width).restored(BIAS, SCALE), want)


@pytest.mark.parametrize("width", [8, 16, 24])
def test_scale_is_a_grid_of_real_numbers(width):
    got = BiasForm(form="scale", width=width).restored(BIAS, SCALE)
    step = np.abs(BIAS * SCALE).max() / (2 ** (width - 1) - 1)
    # Half a step of the grid, and half a step of the accumulator.
    assert (np.abs(got - BIAS) * SCALE <= step / 2 + SCALE / 2).all()
    # A common factor of the scales does not matter.
    np.testing.assert_array_equal(BiasForm(form="scale", width=width).restored(BIAS, SCALE * 8), got)


def test_a_dead_channel_takes_the_shift_but_not_the_scale():
    bias, scale = np.array([2000, -700, 2**30]), np.array([1e-4, 1e-4, 1e-10])
    np.testing.assert_array_equal(form("int8 shift").restored(bias, scale)[:2], 0)
    np.testing.assert_array_equal(form("int16 shift").restored(bias, scale)[:2], [0, 0])
    np.testing.assert_allclose(form("int8 scale").restored(bias, scale)[:2], bias[:2], rtol=0.01)
    np.testing.assert_allclose(form("int8 chshift").restored(bias, scale)[:2], bias[:2], rtol=0.01)


def test_scale_of_zeros():
    np.testing.assert_array_equal(form("int8 scale").restored(np.zeros(3, np.int64), np.ones(3)), 0)


def make_spec(rng, *, signed=True, bias=True):
    dtype = np.dtype(np.int8 if signed else np.uint8)
    return LayerSpec(
        name="layer",
        op="FULLY_CONNECTED",
        index=0,
        input=0,
        output=1,
        in_shape=(4, 9),
        out_shape=(4, 5),
        x_dtype=dtype,
        y_dtype=dtype,
        w=rng.integers(-128, 128, (5, 1, 1, 9)).astype(np.int8),
        w_zero=rng.integers(-3, 4, 5),
        bias=rng.integers(-5000, 5000, 5) if bias else None,
        s_in=np.float32(0.02),
        s_w=rng.uniform(0.001, 0.01, 5).astype(np.float32),
        s_out=np.float32(0.1),
        z_in=-77 if signed else 51,
        z_out=3,
    )


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", ["int8 sat", "int8 shift", "int8 chshift", "int16 sat"])
def test_effective_is_what_the_unit_stores(name, bias, signed):
    spec = make_spec(np.random.default_rng(1), signed=signed, bias=bias)
    before = lower_layer(spec, "litert-xnnpack").groups[0].gemm.bias
    after = lower_layer(change_bias(spec, form(name), "effective"), "litert-xnnpack").groups[0].gemm.bias
    np.testing.assert_array_equal(after, form(name).restored(before, np.ones(5)))


@pytest.mark.parametrize("signed", [True, False])
def test_model_leaves_the_zero_point_alone(signed):
    spec = make_spec(np.random.default_rng(2), signed=signed)
    changed = change_bias(spec, form("int8 sat"), "model")
    np.testing.assert_array_equal(changed.bias, np.clip(spec.bias, -128, 127))
    x = np.random.default_rng(3).integers(-128, 128, (4, 9))
    for one in (spec, changed):
        (group,) = lower_layer(one, "litert-xnnpack").groups
        w = one.w.reshape(5, 9).astype(int) - one.w_zero[:, None]
        v = (x - one.z_in - (0 if signed else -128)) @ w.T + one.bias
        raw = np.clip(np.rint((v * group.gemm.scale).astype(np.float32)) + group.gemm.zp_out, -128, 127)
        np.testing.assert_array_equal(golden_gemm(group.widened(x), group.gemm), raw)


def test_what_cannot_be_stored_stays():
    spec = make_spec(np.random.default_rng(4), bias=False)
    assert change_bias(spec, form("int8 sat"), "model") is spec
    assert change_bias(spec, form("none"), "effective") is spec
    live = replace(spec, z_key=7, z_in=0)
    assert change_bias(live, form("int8 sat"), "effective") is live
