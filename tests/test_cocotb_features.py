"""Every feature of the epilogue on generated Verilog under back-pressure, in the engine and in the unit of its own."""

import pytest
from plusb.sim.runner import run_bench

from .bench_configs import FEATURES


@pytest.mark.slow
@pytest.mark.parametrize("bench", ["features", "epilogue_unit"])
@pytest.mark.parametrize("name", FEATURES)
def test_bench(name, bench):
    run_bench(FEATURES[name], bench)
