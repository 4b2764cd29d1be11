"""The cross of all features, sampled: random configurations against the golden model. Seeds are in the tests' names."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from plusb.rtl.numeric import Family
from plusb.sim.random_cases import random_config

from .random_units import check_seed

#: Replay one with ``pytest "tests/test_random_configs.py::test_random_configuration[SEED]"``.
SEEDS = range(1000, 1220)


@pytest.fixture(scope="module")
def results(request):
    """Futures of the selected seeds by seed: two at a time, since most of the work is building."""
    items = [item for item in request.session.items if item.originalname == "test_random_configuration"]
    chosen = [item.callspec.params["seed"] for item in items]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        futures = {seed: pool.submit(check_seed, seed) for seed in chosen}
        yield futures
        pool.shutdown(cancel_futures=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_random_configuration(seed, results):
    assert results[seed].result() > 0


@pytest.mark.parametrize("quick", range(3))
def test_a_few(quick):
    assert check_seed(quick, both=quick == 0) > 0


def test_the_configurations_differ_and_cover_the_features():
    configs = [random_config(np.random.default_rng(seed)) for seed in SEEDS]
    assert len({config.config_hash for config in configs}) >= 200
    epilogues = [config.epilogue for config in configs]
    for name in ("output", "bias_width", "bias_storage", "multiplier_width", "lut_banks"):
        assert len({getattr(epilogue, name) for epilogue in epilogues}) >= 3, name
    flags = ("negative_scale", "weight_zero_point", "row_zero_point", "residual", "raw", "statistics")
    for name in flags:
        count = sum(getattr(epilogue, name) for epilogue in epilogues)
        assert 50 <= count <= 170, name
    pairs = {(a, b) for e in epilogues for a in flags for b in flags if getattr(e, a) and getattr(e, b)}
    assert len(pairs) == len(flags) ** 2
    for form in ("scalar", "channel", "row", "tile", "relative"):
        assert 50 <= sum(form in epilogue.bias for epilogue in epilogues) <= 170, form
    for family in Family:
        assert sum(family in epilogue.families for epilogue in epilogues) >= 50, family
