from collections import deque

import numpy as np
import pytest
from plusb.rtl.row_feed import RowFeed

from .rtl_sim import play, simulate


def test_a_row_can_be_claimed_one_and_taken_two_cycles_after_it_came():
    feed = RowFeed(8, 4, 2)
    count, word = play(feed, {"i.payload": [77, 0], "i.valid": [1, 0]}, ["count", "o"], extra=2)
    assert count == [0, 1, 1, 1]
    assert word[2:] == [77, 77]


def test_one_row_a_cycle():
    feed = RowFeed(8, 8, 2)
    rows = list(range(1, 25))
    inputs = {"i.payload": rows, "i.valid": [1], "claim": [0, *[1] * 23], "take": [0, 0, *[1] * 22]}
    ready, count, word = play(feed, inputs, ["i.ready", "count", "o"])
    assert ready == [1] * 24
    assert count[1:] == [1] * 23
    assert word[2:] == rows[:22]


@pytest.mark.parametrize("depth", [2, 4, 16])
@pytest.mark.parametrize("idle", [0, 0.5, 0.9])
def test_every_row_once_in_order_and_the_count_is_of_those_not_claimed(depth, idle):
    """Tiles claim several rows at a time, and take them one by one, some cycles later."""
    rng = np.random.default_rng(depth)
    most = min(3, depth)
    feed = RowFeed(8, depth, most)
    rows = deque(rng.integers(0, 256, 200).tolist())
    expected, came, claimed, taken = list(rows), 0, deque(), []

    async def testbench(ctx):
        nonlocal came
        offered, unclaimed, cycle = False, 0, 0
        while len(taken) < len(expected) and cycle < 6000:
            cycle += 1
            if not offered and rows and rng.random() >= idle:
                offered = True
                ctx.set(feed.i.payload, rows[0])
            ctx.set(feed.i.valid, offered)
            assert ctx.get(feed.count) == unclaimed
            last = len(expected) - came + unclaimed  # rows that can still be claimed at all
            claim = min(int(rng.integers(0, most + 1)), unclaimed, last)
            ctx.set(feed.claim, claim)
            take = bool(claimed) and claimed[0] <= cycle and rng.random() < 0.7
            ctx.set(feed.take, take)
            if take:
                claimed.popleft()
                taken.append(ctx.get(feed.o))
            accepted = offered and ctx.get(feed.i.ready)
            await ctx.tick()
            unclaimed += accepted - claim
            claimed.extend([cycle + 3] * claim)
            if accepted:
                rows.popleft()
                came += 1
                offered = False

    simulate(feed, testbench)
    assert taken == expected
