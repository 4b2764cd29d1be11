"""Processing element: every sum exact, operands and tags passed on, the halves of the sum when they are promised."""

import cocotb

from ...rtl.pe import MAC_TAG
from .bench import Bench
from .packing import pack
from .script import Script, play
from .sums import make_slots, random_slots


async def _play(bench, slots):
    dut, latency = bench.dut, bench.facts["latency"]
    script = Script(dut)
    a, w = slots.a[:, 0] & ((1 << len(dut.a)) - 1), slots.w[:, 0] & ((1 << len(dut.w)) - 1)
    tags = [
        pack(MAC_TAG, valid=valid, first=first, last=last)
        for valid, first, last in zip(slots.valid, slots.first, slots.last, strict=True)
    ]
    script.feed("a", a)
    script.feed("w", w)
    # The tag follows the operands by the latency of the multiplier.
    script.feed("tag", [0] * latency + [*tags, 0])
    for slot in range(len(tags)):
        script.expect("a_out", slot + 1, a[slot])
        script.expect("w_out", slot + 1, w[slot])
        script.expect("tag_out", slot + latency + 1, tags[slot])
    for slot, sums in slots.sums():
        total = int(sums[0, 0])
        script.expect("low", slot + latency + 1, total)
        script.expect("high", slot + latency + 2, total >> len(dut.low))
    await play(bench, script)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(empty=[0.0, 0.4])
async def random_sums(dut, empty):
    """Sums of many lengths, some going on from the one before, with and without empty slots."""
    bench = Bench(dut)
    await _play(bench, random_slots(bench.rng, bench.config, (1, 1), 200, empty=empty))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def single_products(dut):
    """K = 1 in every cycle: a finished sum stands for one cycle only."""
    bench = Bench(dut)
    await _play(bench, make_slots(bench.rng, bench.config, (1, 1), [1] * 300))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def largest_sums(dut):
    """The extremes of both operands, K = 2048 times each: carries reach the top of the accumulator."""
    bench = Bench(dut)
    config = bench.config
    extremes = [
        (x, w)
        for x in (config.activation_type.min, config.activation_type.max)
        for w in (config.weight_type.min, config.weight_type.max)
    ]
    k = min(2048, config.max_k)
    slots = make_slots(bench.rng, config, (1, 1), [k] * len(extremes))
    for number, (x, w) in enumerate(extremes):
        slots.a[number * k : (number + 1) * k] = x
        slots.w[number * k : (number + 1) * k] = w
    await _play(bench, slots)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reset_in_mid_sum(dut):
    """A sum that was cut off by a reset leaves nothing to the next one."""
    bench = Bench(dut)
    await bench.reset()
    dut.tag.value = pack(MAC_TAG, valid=1, last=1)
    await bench.step(5)
    dut.tag.value = 0
    await bench.reset()
    assert int(dut.tag_out.value) == 0, "a tag survived the reset"
    await _play(bench, random_slots(bench.rng, bench.config, (1, 1), 20))
