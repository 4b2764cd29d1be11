"""Engine: whole matrix products, under every pattern of traffic, in data and in cycles."""

import cocotb

from .programs import gemm_load, split_commands
from .streams import TRAFFIC
from .unit_bench import UnitBench, join


def _sizes(config):
    """K = 1, R and a prime; exact fits and tails in M and N."""
    rows, cols = config.rows, config.cols
    return (
        (rows, rows, cols),
        (2 * rows + 1, 1, cols),
        (1, 13, 2 * cols + 1),
        (2 * rows - 1, 31, 2 * cols - 1),
        (3 * rows, rows, 1),
    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(traffic=list(TRAFFIC))
async def products(dut, traffic):
    """Products of many sizes follow each other without a gap, each with another family and other parameters."""
    bench = UnitBench(dut)
    config = bench.config
    loads = [gemm_load(bench.rng, config, *size) for size in _sizes(config)]
    await bench.run(join(loads), TRAFFIC[traffic], seed=11)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_family(dut):
    """Each built family in turn, in neighbouring products."""
    bench = UnitBench(dut)
    config = bench.config
    families = config.epilogue.families if config.epilogue else (None,)
    loads = [gemm_load(bench.rng, config, config.rows + 1, 8, config.cols, family) for family in families * 2]
    await bench.run(join(loads))


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(traffic=list(TRAFFIC))
async def split_k(dut, traffic):
    """A dot product in several commands: partial sums stay in the array and the bias is added exactly once."""
    bench = UnitBench(dut)
    config = bench.config
    loads = [gemm_load(bench.rng, config, *size) for size in _sizes(config)]
    await bench.run(split_commands(bench.rng, config, join(loads)), TRAFFIC[traffic], seed=12)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def long_k(dut):
    """K = 2048, and the cycles it takes: one a step, and the way through the pipeline once."""
    bench = UnitBench(dut)
    config = bench.config
    k = min(2048, config.max_k)
    cycles = await bench.run(gemm_load(bench.rng, config, config.rows, k, 2 * config.cols))
    steps = 2 * max(k, config.tile_period)
    assert cycles <= steps + bench.facts["latency"] + config.tile_period, f"{cycles} cycles for {steps} steps"


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def full_utilization(dut):
    """Tiles of K = ``tile_period`` follow each other without a bubble: a tile more takes K cycles more, exactly."""
    bench = UnitBench(dut)
    config = bench.config
    k = min(max(config.tile_period, 2), config.max_k)
    few, many = 8, 24
    cycles = [
        await bench.run(gemm_load(bench.rng, config, count * config.rows, k, config.cols)) for count in (few, many)
    ]
    steps = (many - few) * max(k, config.tile_period)
    assert cycles[1] - cycles[0] == steps, f"{many - few} tiles more took {cycles[1] - cycles[0]} cycles, not {steps}"
