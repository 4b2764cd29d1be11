"""The epilogue row's cocotb bench on generated Verilog."""

import pytest
from plusb.sim.runner import run_bench

from .bench_configs import CONFIGS


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "odd", "half", "tall_uint8", "wide_int4", "raw"])
def test_bench(name):
    run_bench(CONFIGS[name], "epilogue")
