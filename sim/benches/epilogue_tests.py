"""Epilogue lanes: accumulators and parameters of any value, straight into the lanes."""

import cocotb
import numpy as np

from ...gen.words import pack_fields
from ...rtl.formats import bias_fields, scale_fields
from .bench import Bench
from .lane_feeder import Block, LaneFeeder
from .streams import Chance, Source

_INT32 = (-(1 << 31), (1 << 31) - 1)
_M_MAX = (1 << 31) - 1


class _EpilogueBench(Bench):
    def __init__(self, dut):
        super().__init__(dut)
        self.feeder = LaneFeeder(self)
        self.records = {}
        if self.config.epilogue is not None:
            for name in ("bias", "scale"):
                ports = [getattr(dut, f"{name}__{part}") for part in ("payload", "valid", "ready")]
                self.records[name] = Source(*ports, Chance(7))
        self.agents = [*self.records.values(), self.feeder]

    async def run(self, blocks, *, idle=0):
        """Reset, run the blocks, and check that nothing is left."""
        self.feeder.blocks = blocks

        def prepare():
            for name, source in self.records.items():
                source.words = _record_words(self.config, name, blocks)
                source.idle = idle

        await self.reset(prepare=prepare)
        await self.until(lambda: self.feeder.done)
        await self.step(2 * self.facts["latency"] + 2 * self.config.tile_period)
        assert self.feeder.progress == sum(block.rows for block in blocks), "rows are missing"
        left = {name: len(source.words) - source.progress for name, source in self.records.items()}
        assert not any(left.values()), f"records were left over: {left}"


def _record_words(config, name, blocks):
    if name == "bias":
        fields = bias_fields(config)
        records = [{"bias": block.bias_records} for block in blocks if block.bias]
    else:
        fields = scale_fields(config)
        scales = [block.scale_records for block in blocks if block.scale]
        records = [{"multiplier": multiplier, "shift": t} for multiplier, t in scales]
    zeros = {field.name: np.zeros(config.cols, np.int64) for field in fields}
    words = [word for record in records for word in pack_fields(fields, **(zeros | record))]
    return [int.from_bytes(word, "little") for word in words]


def _accumulators(rng, config):
    """Any value an accumulator can have, its extremes and small ones more often than others."""
    low, high = config.acc_range.lo, config.acc_range.hi
    shape = (config.rows, config.cols)
    scale = 2.0 ** rng.uniform(-40, 0, shape)
    near = np.round(rng.integers(low, high, shape, endpoint=True) * scale).astype(np.int64)
    corner = rng.choice([low, low + 1, -1, 0, 1, high - 1, high], shape)
    return np.where(rng.random(shape) < 0.2, corner, near)


def _random_blocks(rng, config, count, *, gap=0):
    blocks = []
    for number in range(count):
        block = Block(
            acc=_accumulators(rng, config),
            rows=config.rows if rng.random() < 0.5 else int(rng.integers(1, config.rows + 1)),
            cols=config.cols if rng.random() < 0.5 else int(rng.integers(1, config.cols + 1)),
            gap=int(rng.integers(0, gap + 1)),
        )
        if config.epilogue is not None:
            _set_modes(rng, config, block)
            block.bias = number == 0 or rng.random() < 0.5
            block.scale = number == 0 or rng.random() < 0.5
            previous = blocks[-1] if blocks else None
            block.bias_records = _biases(rng, config) if block.bias else previous.bias_records
            block.scale_records = _scales(rng, config) if block.scale else previous.scale_records
        blocks.append(block)
    return blocks


def _set_modes(rng, config, block):
    output = config.output_type
    block.family = config.epilogue.families[rng.integers(len(config.epilogue.families))]
    block.zp = int(rng.choice([output.min, output.max, rng.integers(output.min, output.max + 1)]))
    block.lo, block.hi = output.min, output.max
    if rng.random() < 0.3:
        block.lo, block.hi = sorted(rng.integers(output.min, output.max + 1, 2).tolist())


def _biases(rng, config):
    near = np.round(rng.integers(*_INT32, config.cols, endpoint=True) * 2.0 ** rng.uniform(-40, 0, config.cols))
    corner = rng.choice([*_INT32, 0, -1, 1], config.cols)
    return np.where(rng.random(config.cols) < 0.3, corner, near.astype(np.int64))


def _scales(rng, config):
    multiplier = rng.integers(0, _M_MAX, config.cols, endpoint=True)
    corner = rng.choice([0, 1, 1 << 30, _M_MAX], config.cols)
    return np.where(rng.random(config.cols) < 0.3, corner, multiplier), rng.integers(0, 63, config.cols)


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(gap=[0, 5])
async def anything(dut, gap):
    """Any accumulator, bias, multiplier, shift and mode, tile after tile without a gap and with some."""
    bench = _EpilogueBench(dut)
    await bench.run(_random_blocks(bench.rng, bench.config, 300, gap=gap), idle=0 if gap == 0 else 100)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def every_shift_of_every_family(dut):
    """Shifts 0 to 62 with accumulators near the ties of that shift, for each family."""
    bench = _EpilogueBench(dut)
    config, rng = bench.config, bench.rng
    if config.epilogue is None:
        return
    blocks = []
    for family in config.epilogue.families:
        for t in range(63):
            block = _random_blocks(rng, config, 1)[0]
            multiplier = np.full(config.cols, 1 << 30)
            block.family, block.scale_records = family, (multiplier, np.full(config.cols, t))
            # With m = 2**30 the value is v * 2**(30 - t): halves and quarters are ties of one rounding or of two.
            step = 1 << max(t - 32, 0)
            limit = config.acc_range.hi // 2
            acc = (rng.integers(-40, 41, block.acc.shape) * step) + rng.integers(-1, 2, block.acc.shape)
            block.acc = np.clip(acc, -limit, limit)
            block.bias_records = np.zeros(config.cols, np.int64)
            block.lo, block.hi, block.zp = config.output_type.min, config.output_type.max, 0
            blocks.append(block)
    await bench.run(blocks)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def saturation(dut):
    """Sums at both limits of 32 + 1 bits with the largest scale, and zero points that pull the other way."""
    bench = _EpilogueBench(dut)
    config, rng = bench.config, bench.rng
    if config.epilogue is None:
        return
    output, blocks = config.output_type, []
    for bias in _INT32:
        for acc in (config.acc_range.lo, config.acc_range.hi):
            for t in (0, 1, 23, 24, 31, 32, 62):
                for zp in (output.min, output.max):
                    block = _random_blocks(rng, config, 1)[0]
                    block.acc[:] = acc
                    block.zp, block.lo, block.hi = zp, output.min, output.max
                    block.bias_records = np.full(config.cols, bias)
                    block.scale_records = np.full(config.cols, _M_MAX), np.full(config.cols, t)
                    blocks.append(block)
    await bench.run(blocks)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def reset_under_way(dut):
    """A reset with tiles, records and modes under way leaves nothing behind."""
    bench = _EpilogueBench(dut)
    for _ in range(5):
        bench.feeder.blocks = _random_blocks(bench.rng, bench.config, 10)

        def prepare(blocks=bench.feeder.blocks):
            for name, source in bench.records.items():
                source.words = _record_words(bench.config, name, blocks)

        await bench.reset(prepare=prepare)
        await bench.step(int(bench.rng.integers(1, bench.facts["latency"] + 20)))
        await bench.run(_random_blocks(bench.rng, bench.config, 5))
