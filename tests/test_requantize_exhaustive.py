"""Every sum of 16 bits, and every corner, through the Verilog of the epilogue alone, for each rounding family."""

import numpy as np
import pytest
from plusb.gen.gemm import Gemm
from plusb.gen.lower import lower_epilogue
from plusb.gen.unit import epilogue_unit
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.numeric import Family
from plusb.sim.burst import open_unit
from plusb.sim.golden import epilogue

pytestmark = pytest.mark.slow

M_MAX = (1 << 31) - 1
CONFIG = EngineConfig(
    rows=8, cols=8, max_k=100, epilogue=EpilogueConfig(families=tuple(Family), bias=("scalar",), output="int16")
)


@pytest.fixture(scope="module")
def unit():
    with open_unit(CONFIG, make=epilogue_unit) as opened:
        yield opened


def _check(unit, family, acc, **scale):
    """The rows of the unit against the golden model, with zero points that pull saturated results back."""
    acc, n = np.asarray(acc, np.int64), acc.shape[1]
    for zp, lo, hi in ((0, -32768, 32767), (-32768, -32768, 32767), (32767, -200, 100)):
        gemm = Gemm(
            name=str(family),
            op="t",
            w=np.zeros((1, n), np.int64),
            bias=np.zeros(n, np.int64),
            family=family,
            zp_out=zp,
            lo=lo,
            hi=hi,
            **scale,
        )
        program = lower_epilogue(CONFIG, gemm, acc)
        unit.reset()
        got = program.collect(unit.run(program).data)
        want = epilogue(acc, family=family, zp_out=zp, lo=lo, hi=hi, **scale)
        wrong = np.argwhere(got != want)
        assert not len(wrong), f"{len(wrong)} are wrong, first acc {acc[tuple(wrong[0])]} column {wrong[0][1]}"


@pytest.mark.parametrize("family", Family, ids=str)
def test_every_sum_of_16_bits(unit, family):
    """Scales of all sizes: small ones, ties, 1, and more than 1."""
    acc = np.repeat(np.arange(-1 << 15, 1 << 15)[:, np.newaxis], 8, axis=1)
    if family is Family.float32:
        scale = np.float32([0.25, 0.1, 2.0**-15, 0.9999999, 1.0, 4.636909, 1e-9, 100.0])
        _check(unit, family, acc, scale=scale)
    else:
        multiplier = np.array([1 << 30, 1717986918, 1 << 30, M_MAX, 1 << 30, 1244695807, M_MAX, 1677721600])
        _check(unit, family, acc, multiplier=multiplier, shift=np.array([-1, -3, -14, 0, 1, 3, -31, 7]))


@pytest.mark.parametrize("family", Family, ids=str)
def test_corners(unit, family):
    """The ends of int32 and the neighbours of every power of two, multipliers 0 and 2**31 - 1, shifts 0 to 62."""
    rng = np.random.default_rng(8)
    powers = np.array([sign << bit for sign in (-1, 1) for bit in range(32)])
    values = (powers[:, np.newaxis] + [-1, 0, 1]).ravel()
    values = np.concatenate([values, rng.integers(-1 << 31, 1 << 31, 40)])
    values = np.unique(np.clip(values, -1 << 31, (1 << 31) - 1))
    t = np.repeat(np.arange(63), 4)
    acc = np.repeat(values[:, np.newaxis], len(t), axis=1)
    if family is Family.float32:
        significand = np.tile([1 << 23, (1 << 24) - 1, 0, int(rng.integers(1 << 23, 1 << 24))], 63)
        _check(unit, family, acc, scale=(significand * 2.0**-t).astype(np.float32))
    else:
        multiplier = np.tile([0, M_MAX, 1 << 30, int(rng.integers(1 << 31))], 63)
        _check(unit, family, acc, multiplier=multiplier, shift=31 - t)
