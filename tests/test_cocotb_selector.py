"""The row selector's cocotb bench on generated Verilog."""

import pytest
from plusb.sim.runner import run_bench

from .bench_configs import CONFIGS


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small", "odd", "tall_uint8"])
def test_bench(name):
    run_bench(CONFIGS[name], "selector")
