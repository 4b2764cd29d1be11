"""A product with its epilogue in one pass gives the bytes that raw sums followed by the epilogue alone give."""

import numpy as np
import pytest
from plusb.sim.random_cases import random_product
from plusb.sim.unfused import compare_unfused

from .bench_configs import FEATURES

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", FEATURES)
def test_fused_equals_unfused(name):
    """Every family with every feature that is built, at once and in random choices."""
    config, rng = FEATURES[name], np.random.default_rng(21)
    large = config.rows * 2 + 1, 20, config.cols * 2 + 1
    cases = [
        random_product(rng, config, *size, family=family, use=use)
        for family in config.epilogue.families
        for size, use in ((large, 1.0), ((5, 7, 3), 0.5), ((1, 1, 1), 0.5))
    ]
    runs = compare_unfused(config, [(case.gemm, case.x, case.terms) for case in cases])
    assert [(run.m, run.k, run.n) for run in runs] == [(*case.x.shape, case.gemm.n) for case in cases]
    for run in runs:
        assert run.identical
        assert run.cycles_unfused > run.cycles_fused
        assert run.bytes_unfused > run.bytes_fused
        assert run.ratio > 1
