"""Engine: a reset at any moment leaves nothing behind."""

import cocotb

from .streams import TRAFFIC
from .tiles import random_tiles, tile_load
from .unit_bench import UnitBench


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(traffic=list(TRAFFIC))
async def reset_in_mid_tile(dut, traffic):
    """Reset after a random number of cycles, several times, and run other tiles to their end after it."""
    bench = UnitBench(dut)
    config = bench.config
    for attempt in range(6):
        await bench.start(tile_load(config, random_tiles(bench.rng, config, 20)), TRAFFIC[traffic], seed=attempt)
        await bench.step(int(bench.rng.integers(1, 60 + bench.facts["latency"])))
        await bench.run(tile_load(config, random_tiles(bench.rng, config, 6)), TRAFFIC[traffic], seed=attempt)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def pause_then_reset(dut):
    """Reset while everything is full and stands still."""
    bench = UnitBench(dut)
    config = bench.config
    for attempt in range(3):
        await bench.start(tile_load(config, random_tiles(bench.rng, config, 60)), seed=attempt)
        bench.sink.stall = 256
        await bench.stand_still()
        await bench.run(tile_load(config, random_tiles(bench.rng, config, 6)), seed=attempt)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def starve_then_reset(dut):
    """Reset while a tile waits for operands that never come, its parameters loaded and its sums begun."""
    bench = UnitBench(dut)
    config = bench.config
    for attempt in range(3):
        load = tile_load(config, random_tiles(bench.rng, config, 8))
        for name in ("a", "w"):
            load.streams[name] = load.streams[name][: int(bench.rng.integers(1, len(load.streams[name])))]
        await bench.start(load, seed=attempt)
        await bench.stand_still()
        await bench.run(tile_load(config, random_tiles(bench.rng, config, 6)), seed=attempt)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def quiet_after_reset(dut):
    """A reset in mid-tile without anything to do afterwards: no row comes out, and no stream is stuck."""
    bench = UnitBench(dut)
    config = bench.config
    load = tile_load(config, random_tiles(bench.rng, config, 10))
    for cycles in (1, bench.facts["latency"], bench.facts["latency"] + 5):
        await bench.start(load)
        await bench.step(cycles)
        await bench.reset()
        await bench.step(2 * bench.facts["latency"] + 4 * config.tile_period)
        assert not bench.sink.rows, "a row survived the reset"
