"""Fitting a unit to a model: exactly the families it needs, and nothing where all is there."""

import numpy as np
import pytest
from plusb.gen.fit import fitted
from plusb.gen.gemm import Gemm
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.numeric import Family

CONFIG = EngineConfig(rows=2, cols=2)


def gemm(family):
    return Gemm(name="t", op="t", w=np.ones((1, 1), np.int8), bias=np.zeros(1, np.int64), family=family)


def test_a_unit_that_has_everything_stays_as_it_is():
    config, changes = fitted(CONFIG, map(gemm, (Family.ruy, Family.gemmlowp)))
    assert config is CONFIG
    assert changes == []


def test_missing_families_replace_those_that_are_there():
    config, changes = fitted(CONFIG, map(gemm, (Family.float32, Family.half_up, Family.float32)))
    assert config.epilogue.families == (Family.half_up, Family.float32)
    assert changes == ["rounding half_up, float32 in place of gemmlowp, ruy, half_up, half_away"]
    assert config == CONFIG.replace(epilogue=EpilogueConfig(families=("half_up", "float32")))


def test_raw_sums():
    config, changes = fitted(CONFIG, [gemm(Family.half_up)], raw=True)
    assert config.epilogue == EpilogueConfig(raw=True)
    assert changes == ["raw sums"]
    assert fitted(config, [gemm(Family.half_up)], raw=True) == (config, [])


def test_what_the_rest_of_the_unit_does_not_allow():
    narrow = EngineConfig(rows=1, cols=1, epilogue=EpilogueConfig(multiplier_width=15))
    with pytest.raises(ValueError, match=r"multiplier_width must be in 24\.\.31 \(float32 needs 24\), not 15"):
        fitted(narrow, [gemm(Family.float32)])
