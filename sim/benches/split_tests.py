"""Engine with features: a dot product in several commands adds every term exactly once."""

import cocotb

from .feature_bench import FeatureBench
from .programs import split_commands
from .streams import TRAFFIC
from .unit_bench import join


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(traffic=list(TRAFFIC))
async def split_k(dut, traffic):
    """Partial sums stay in the array; commands that only add products say nonsense about the epilogue."""
    bench = FeatureBench(dut)
    loads = [bench.load((size[0], 17, size[2]), 0.8) for size in bench.sizes()]
    await bench.run(split_commands(bench.rng, bench.config, join(loads)), TRAFFIC[traffic], seed=51)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def one_product_a_command(dut):
    """Each step of K is a command of its own."""
    bench = FeatureBench(dut)
    config = bench.config
    loads = [bench.load((config.rows, 9, config.cols), set(bench.features) - {"raw"}) for _ in range(3)]
    await bench.run(split_commands(bench.rng, config, join(loads), every_step=True), seed=52)
