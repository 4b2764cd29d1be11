"""Engine: tiles that differ from their neighbours in every mode, extremes, and streams that run dry or full."""

import cocotb
import numpy as np

from .streams import TRAFFIC
from .tiles import random_records, random_tile, random_tiles, tile_load
from .unit_bench import UnitBench

_INT32 = (-(1 << 31), (1 << 31) - 1)
_M_MAX = (1 << 31) - 1


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(traffic=list(TRAFFIC))
async def neighbours(dut, traffic):
    """Families, bounds, sizes, swaps and partial sums change from tile to tile."""
    bench = UnitBench(dut)
    tiles = random_tiles(bench.rng, bench.config, 60)
    await bench.run(tile_load(bench.config, tiles), TRAFFIC[traffic], seed=21)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(traffic=list(TRAFFIC))
async def shortest_tiles(dut, traffic):
    """K = 1 throughout, every tile with new records: tiles end as often as the lanes allow."""
    bench = UnitBench(dut)
    config, rng = bench.config, bench.rng
    tiles = [random_tile(rng, config, 1) for _ in range(24)]
    if config.epilogue is not None:
        for tile in tiles:
            tile.bias, tile.scale = random_records(rng, config, 1)
    await bench.run(tile_load(config, tiles), TRAFFIC[traffic], seed=22)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(slow=["cmd", "a", "w", "bias", "scale"])
async def one_slow_stream(dut, slow):
    """One stream that nearly never has a word delays the others and changes nothing."""
    bench = UnitBench(dut)
    if slow not in bench.sources:
        return
    load = tile_load(bench.config, random_tiles(bench.rng, bench.config, 12, longest=6))
    await bench.start(load, seed=23)
    bench.sources[slow].idle = 240
    await bench.finish(load)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def full_to_the_brim(dut):
    """The sink takes nothing until the whole unit stands still, then everything."""
    bench = UnitBench(dut)
    config = bench.config
    tiles = [random_tile(bench.rng, config, 3) for _ in range(40)]
    if config.epilogue is not None:
        for tile in tiles:
            tile.bias, tile.scale = random_records(bench.rng, config, 3)
    load = tile_load(config, tiles)
    await bench.start(load, seed=24)
    bench.sink.stall = 256
    await bench.stand_still()
    assert not bench.sources["a"].empty, "back-pressure never reached the operands"
    bench.sink.stall = 0
    await bench.finish(load)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def operand_extremes(dut):
    """The largest sums in both directions, K times the extremes of both operand types."""
    bench = UnitBench(dut)
    config, rng = bench.config, bench.rng
    k = min(config.max_k, 300)
    tiles = []
    for x in (config.activation_type.min, config.activation_type.max):
        for w in (config.weight_type.min, config.weight_type.max):
            tile = random_tile(rng, config, k)
            tile.x[:], tile.w[:] = x, w
            tiles.append(tile)
    if config.epilogue is not None:
        tiles[0].bias, tiles[0].scale = random_records(rng, config, k * k)
    await bench.run(tile_load(config, tiles))


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def parameter_extremes(dut):
    """Bias at the limits of 32 bits, multipliers 0 and 2**31 - 1, each shift from 0 to 62, for each family."""
    bench = UnitBench(dut)
    config, rng = bench.config, bench.rng
    if config.epilogue is None:
        return
    output = config.output_type
    tiles = []
    for t in range(63):
        family = config.epilogue.families[t % len(config.epilogue.families)]
        tile = random_tile(rng, config, 2, family=family, lo=output.min, hi=output.max)
        near = rng.choice([*_INT32, 0, 1, -1, 1 << max(t - 31, 0), -1 << max(t - 31, 0)], config.cols)
        tile.bias = np.clip(near + rng.integers(-3, 4, config.cols), *_INT32)
        multiplier = rng.choice([0, 1, 1 << 30, _M_MAX, int(rng.integers(1, _M_MAX))], config.cols)
        tile.scale = multiplier.astype(np.int64), np.full(config.cols, t)
        tile.zp = int(rng.choice([output.min, 0, output.max]))
        if t % 5 == 0:
            tile.lo = tile.hi = int(rng.integers(output.min, output.max + 1))
        tiles.append(tile)
    await bench.run(tile_load(config, tiles))
