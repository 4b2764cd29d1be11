"""Answers of real runtimes and published designs; wrong published values are negative tests."""

import json
from pathlib import Path

import numpy as np
import pytest
from plusb.rtl.numeric import Family
from plusb.sim.golden import (
    epilogue,
    fold_zero_point,
    gemm,
    gemm_epilogue,
    load_bias,
    quantize_multiplier,
    requantize,
    requantize_float32,
    requantize_float64,
    runtime_scale,
    store_bias,
)

VECTORS = Path(__file__).resolve().parents[2] / "shared" / "vectors"
FIXED = [family for family in Family if family.is_fixed_point]

COLUMNS = {
    "fully_connected/litert_ref": ("litert-ref", "FULLY_CONNECTED"),
    "fully_connected/litert_ruy": ("litert", "FULLY_CONNECTED"),
    "fully_connected/litert_xnnpack": ("litert-xnnpack", "FULLY_CONNECTED"),
    "fully_connected/tflm": ("tflm", "FULLY_CONNECTED"),
    "conv_2d/litert_ref": ("litert-ref", "CONV_2D"),
    "conv_2d/litert_ruy": ("litert", "CONV_2D"),
    "conv_2d/litert_xnnpack": ("litert-xnnpack", "CONV_2D"),
    "conv_2d/tflm": ("tflm", "CONV_2D"),
    "ort/qgemm": ("ort", "QGemm"),
}


def load(name):
    path = VECTORS / name
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def rounding():
    return load("runtime_rounding.json")


@pytest.fixture(scope="module")
def cases():
    return load("epilogue_cases.json")


def test_every_column_is_checked(rounding):
    assert len(rounding) == 240
    assert {column for row in rounding for column in row if "/" in column} == set(COLUMNS)


@pytest.mark.parametrize("column", COLUMNS)
def test_equals_the_runtime(rounding, column):
    for row in rounding:
        scale = runtime_scale(*COLUMNS[column], row["s_in"], row["s_w"], row["s_out"])
        assert epilogue([[row["acc"]]], **scale.parameters, lo=-(1 << 31), hi=(1 << 31) - 1) == row[column]


def test_the_families_differ_on_these_vectors(rounding):
    """Otherwise the test above would prove little: no family answers like another on all of them."""
    acc, multiplier, shift, scale = (
        np.array([row[key] for row in rounding]) for key in ("acc", "mult", "shift", "scale_f32")
    )
    answers = {str(family): requantize(acc, multiplier, shift, family).tolist() for family in FIXED}
    answers["float32"] = requantize_float32(acc, scale).tolist()
    del answers["half_even"]  # Answers like float32 here, where no sum exceeds 24 bits.
    assert len(set(map(tuple, answers.values()))) == len(answers)


def test_scales_are_formed_as_stored(rounding):
    for row in rounding:
        s_in, s_w, s_out = (np.float32(row[key]) for key in ("s_in", "s_w", "s_out"))
        exact = np.float64(s_in) * np.float64(s_w) / np.float64(s_out)
        assert quantize_multiplier(exact) == (row["mult"], row["shift"])
        narrow = np.float64(s_in * s_w) / np.float64(s_out)
        assert quantize_multiplier(narrow) == (row["mult_f32prod"], row["shift_f32prod"])
        assert s_in * s_w / s_out == np.float32(row["scale_f32"])


def test_the_double_of_the_reference_fully_connected(rounding):
    for row in rounding:
        scale = runtime_scale("litert-ref", "FULLY_CONNECTED", row["s_in"], row["s_w"], row["s_out"])
        assert requantize_float64(row["acc"], scale.real) == row["fully_connected/litert_ref"]


def check_mbqm(x, multiplier, shift, expect):
    assert requantize(x, multiplier, shift, "gemmlowp") == expect["double"]
    assert requantize(x, multiplier, shift, "half_up") == expect["single"]
    assert 31 - shift == expect["tosa_shift"]


def check_leftshift(x, multiplier, shift, expect):
    for family in FIXED:
        assert requantize(x, multiplier, shift, family) == expect["exact"] != expect["double_C_wrap"]
        assert epilogue([[x]], family=family, multiplier=multiplier, shift=shift) == expect["int8_sat"]


def check_onnx(acc, scale, zp, expect):
    got = epilogue([[acc]], family="float32", scale=scale, zp_out=zp)
    assert got == expect["mlas"] != expect["onnx_reference"]


def check_fp32(acc, scale, expect):
    assert requantize_float32(acc, scale) == expect["fp32"]
    assert requantize(acc, 1 << 30, 1, "half_even") == expect["exact"] != expect["fp32"]


def check_nvdla(x, offset, scale, trunc, expect):
    assert requantize(x - offset, scale, 31 - trunc, "half_away") == expect


def check_hps_rdbpot(x, shift, expect):
    assert requantize(x, 1, 31 - shift, "half_away") == expect["gemmlowp"] != expect["hps_rtl"]


def check_hps_clamp(acc, bias, multiplier, shift, offset, expect, **clamp):
    got = epilogue(
        [[acc]],
        bias=[bias],
        family="gemmlowp",
        multiplier=multiplier,
        shift=shift,
        zp_out=offset,
        lo=clamp["min"],
        hi=clamp["max"],
    )
    assert got == expect["correct"] != expect["hps_rtl"]


def check_cmsis(val, multiplier, shift, expect):
    assert requantize(val, multiplier, shift, "half_up") == expect["after"] != expect["before"]
    assert requantize(val, multiplier, shift, "gemmlowp") == expect["after"]


def check_zp_fold(x, w, zx, zw, b, expect):
    x, w = [x], [[value] for value in w]
    folded = fold_zero_point([b], w, zx, zw)
    assert gemm(x, w) == expect["acc"]
    assert folded == expect["bias_eff"]
    assert -zw * np.sum(x) == expect["row_corr"]
    assert gemm_epilogue(x, w, bias=folded, zw=zw, raw=True) == expect["result"]
    assert gemm_epilogue(x, w, bias=[b], zx=zx, zw=zw, raw=True) == expect["result"]


def check_ort16105(x, w, zx, zw, expect):
    got = gemm_epilogue([x], [[value] for value in w], zx=zx, zw=zw, raw=True)
    assert got == expect["exact"] != expect["int16_pair_saturated"]


def check_ort22020(bias_q, expect):
    assert expect == {"int32": "overflow", "int40": "fits"}
    assert load_bias(store_bias(bias_q, 40, "sat")).tolist() == bias_q
    assert load_bias(store_bias(bias_q, 32, "sat")).tolist() == [(1 << 31) - 1, -(1 << 31)]
    assert epilogue([[0, 0]], bias=bias_q, raw=True).tolist() == [bias_q]


def check_igelu(q, qb, qc, expect):
    """I-BERT's integer GELU ``q * (erf + one)``; why activations are tables here."""
    got = gemm([[q]], [[(q + qb) ** 2 + qc + qc]])
    assert got == expect["exact"] != expect["gemmini_32bit"]
    assert (expect["exact"] - expect["gemmini_32bit"]) % (1 << 32) == 0


CHECKS = {
    "mbqm": check_mbqm,
    "leftshift": check_leftshift,
    "onnx_tie": check_onnx,
    "fp32_24bit": check_fp32,
    "nvdla_cvt": check_nvdla,
    "hps_rdbpot": check_hps_rdbpot,
    "hps_clamp": check_hps_clamp,
    "cmsis220": check_cmsis,
    "zp_fold": check_zp_fold,
    "ort16105": check_ort16105,
    "ort22020": check_ort22020,
    "igelu": check_igelu,
}


@pytest.mark.parametrize("prefix", CHECKS)
def test_published_cases(cases, prefix):
    selected = [case for case in cases if case["id"].startswith(prefix)]
    assert selected
    for case in selected:
        CHECKS[prefix](**case["inputs"], expect=case["expect"])


def test_every_published_case_is_checked(cases):
    for case in cases:
        assert sum(case["id"].startswith(prefix) for prefix in CHECKS) == 1, case["id"]
