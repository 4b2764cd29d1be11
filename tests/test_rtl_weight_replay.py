"""The weight replay: every command gets its K rows, from where it says, in order and without a gap."""

import numpy as np
import pytest
from amaranth.hdl import Value
from plusb.rtl.config import EngineConfig
from plusb.rtl.weight_replay import WeightReplay

from .rtl_sim import simulate

CONFIG = EngineConfig(rows=2, cols=1, max_k=16, replay_depth=8)


def run(commands, *, idle=0.0, stall=0.0, seed=1):
    """Words that come out for ``(k, store, replay)`` commands, with the cycle of each, and words that were wanted."""
    rng = np.random.default_rng(seed)
    unit = WeightReplay(CONFIG)
    stream, kept, want = [], [], []
    for k, store, replay in commands:
        if replay:
            want += kept[:k]
        else:
            words = rng.integers(-128, 128, k).tolist()
            stream += words
            want += words
            if store:
                kept = words
    received = []

    async def give(ctx, port, words, pause):
        for word in words:
            while rng.random() < pause:
                await ctx.tick()
            ctx.set(port.payload, word)
            ctx.set(port.valid, 1)
            await ctx.tick().until(port.ready)
            ctx.set(port.valid, 0)

    async def give_commands(ctx):
        words = [{"k": k - 1, "store_w": store, "replay_w": replay} for k, store, replay in commands]
        await give(ctx, unit.cmd, words, 0)

    async def give_weights(ctx):
        await give(ctx, unit.i, [[word] for word in stream], idle)

    async def take(ctx):
        for cycle in range(4000):
            ready = rng.random() >= stall
            ctx.set(unit.o.ready, ready)
            if ready and ctx.get(unit.o.valid):
                received.append((ctx.get(Value.cast(unit.o.payload).as_signed()), cycle))
                if len(received) == len(want):
                    return
            await ctx.tick()

    simulate(unit, give_commands, give_weights, take)
    return [word for word, _ in received], [cycle for _, cycle in received], want


MIXED = [
    (5, 1, 0),
    (5, 0, 1),
    (3, 0, 1),
    (4, 0, 0),
    (5, 0, 1),
    (8, 1, 0),
    (8, 0, 1),
    (1, 1, 0),
    (1, 0, 1),
    (1, 0, 1),
    (9, 0, 0),
]


@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0.5, 0), (0, 0.5), (0.4, 0.4)])
def test_every_command_gets_its_rows(idle, stall):
    got, _, want = run(MIXED, idle=idle, stall=stall)
    assert got == want


def test_no_gap_between_commands_that_take_two_cycles_or_more():
    got, cycles, want = run([(6, 1, 0), (6, 0, 1), (2, 0, 1), (2, 0, 1), (7, 0, 0), (6, 0, 1)])
    assert got == want
    assert cycles == list(range(cycles[0], cycles[0] + len(want)))


@pytest.mark.parametrize("depth", [1, -1, 65537])
def test_depth_is_checked(depth):
    allowed = "0 or in 2..65536" if depth == 1 else "in 0..65536"
    with pytest.raises(ValueError, match=f"^replay_depth must be {allowed}, not {depth}$"):
        EngineConfig(replay_depth=depth)
