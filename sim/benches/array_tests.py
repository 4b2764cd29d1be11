"""Array: every element's exact sum, in its column and in the cycle that is promised."""

import cocotb

from ...rtl.pe import MAC_TAG
from .bench import Bench
from .packing import pack, pack_array
from .script import Script, play
from .sums import make_slots, random_slots


async def _play(bench, slots):
    config, latency = bench.config, bench.facts["latency"]
    script = Script(bench.dut)
    script.feed("a", [pack_array(row, config.activation_type.width) for row in slots.a])
    script.feed("w", [pack_array(row, config.weight_type.width) for row in slots.w])
    tags = zip(slots.valid, slots.first, slots.last, strict=True)
    script.feed("tag", [*(pack(MAC_TAG, valid=valid, first=first, last=last) for valid, first, last in tags), 0])
    width = config.acc_range.signed_width
    for slot, sums in slots.sums():
        for i in range(config.rows):
            for j in range(config.cols):
                script.expect("acc", slot + latency + i + j, sums[i, j], width, at=j * width)
    await play(bench, script)


def _shape(config):
    return config.rows, config.cols


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(empty=[0.0, 0.4])
async def random_sums(dut, empty):
    """Sums of many lengths, some going on from the one before; R slots or more from end to end."""
    bench = Bench(dut)
    config = bench.config
    await _play(bench, random_slots(bench.rng, config, _shape(config), 60, distance=config.rows, empty=empty))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def no_bubble(dut):
    """K = R: a sum ends every R slots, and no slot is empty."""
    bench = Bench(dut)
    config = bench.config
    slots = make_slots(bench.rng, config, _shape(config), [config.rows] * 40, distance=config.rows)
    assert slots.valid.all()
    await _play(bench, slots)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def long_extremes(dut):
    """The extremes of both operands, K = 2048 times: the largest and the smallest sums."""
    bench = Bench(dut)
    config = bench.config
    k = min(2048, config.max_k)
    slots = make_slots(bench.rng, config, _shape(config), [k, k], distance=config.rows)
    slots.a[:], slots.w[:] = config.activation_type.min, config.weight_type.min
    slots.w[k:] = config.weight_type.max
    await _play(bench, slots)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reset_in_mid_sum(dut):
    """Tags of sums that were cut off by a reset do not come out after it."""
    bench = Bench(dut)
    config = bench.config
    for cycles in (1, 5, 9):
        dut.tag.value = pack(MAC_TAG, valid=1, first=1)
        bench.agents = []
        await bench.reset()
        await bench.step(cycles)
        dut.tag.value = 0
        await _play(bench, random_slots(bench.rng, config, _shape(config), 10, distance=config.rows))
