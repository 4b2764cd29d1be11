"""The table guard between random writers and users: no tile sees a part of a table, no write hits one in use."""

from collections import deque

import numpy as np
import pytest
from plusb.rtl.fields import Field, layout
from plusb.rtl.table_guard import TableGuard
from plusb.sim.benches.packing import pack

from .rtl_sim import play, simulate

DEPTH = 6


def _fields(banks):
    bank = [Field("bank", (banks - 1).bit_length())] if banks > 1 else []
    return (*bank, Field("address", 3), Field("value", 8))


def test_writes_pass_one_cycle_later_until_the_bank_is_complete():
    fields = _fields(1)
    guard = TableGuard(fields, banks=1, depth=3, tiles=2)
    words = [pack(layout(fields), address=address, value=7 + address) for address in (0, 2, 0)]
    ready, word, valid, complete = play(
        guard, {"i.payload": words, "i.valid": [1]}, ["i.ready", "word", "valid", "ready"], extra=3
    )
    assert ready == [1, 1, 0, 0, 0, 0], "a complete table was written again"
    assert valid == [0, 1, 1, 0, 0, 0]
    assert word[1:3] == words[:2]
    assert complete == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("banks", [1, 2, 4])
@pytest.mark.parametrize(("idle", "hurry"), [(0, 1), (0.6, 0.3), (0.1, 0.05)])
def test_tables_are_whole_while_in_use_and_follow_each_other(banks, idle, hurry):
    """A memory that is written as the guard says holds the table that each tile means, from claim to release."""
    rng = np.random.default_rng(banks)
    fields = _fields(banks)
    guard = TableGuard(fields, banks=banks, depth=DEPTH, tiles=8)
    loads = [(int(rng.integers(banks)), rng.integers(0, 256, DEPTH).tolist()) for _ in range(25)]
    writes = deque((bank, address, table[address]) for bank, table in loads for address in range(DEPTH))
    # Tiles use the tables in the order in which they are loaded, each one to three times; the last frees it.
    tiles = deque()
    for bank, table in loads:
        uses = int(rng.integers(1, 4))
        tiles.extend((bank, table, use == uses - 1) for use in range(uses))
    memory, passed = [[None] * DEPTH for _ in range(banks)], 0

    async def testbench(ctx):
        nonlocal passed
        flying, offered = deque(), False
        for _ in range(6000):
            if not offered and writes and rng.random() >= idle:
                bank, address, value = writes[0]
                offered = True
                values = {"bank": bank} if banks > 1 else {}
                ctx.set(guard.i.payload.as_value(), pack(layout(fields), **values, address=address, value=value))
            ctx.set(guard.i.valid, offered)
            claim = free = release = 0
            earlier = list(flying)  # in the cycle of a claim the last write may still be on its way
            if tiles and len(flying) < 8 and ctx.get(guard.ready) >> tiles[0][0] & 1 and rng.random() < hurry:
                bank, table, last = tile = tiles.popleft()
                claim, free = 1 << bank, last << bank
                flying.append(tile)
            elif flying and rng.random() < 0.3:
                bank, table, _ = flying.popleft()
                assert memory[bank] == table, "the table changed under a tile"
                release, passed = 1 << bank, passed + 1
            ctx.set(guard.claim, claim)
            ctx.set(guard.free, free)
            ctx.set(guard.release, release)
            taken = offered and ctx.get(guard.i.ready)
            if ctx.get(guard.valid):
                word = ctx.get(guard.word)
                bank = word.bank if banks > 1 else 0
                assert all(tile[0] != bank for tile in earlier), "a table in use was written"
                memory[bank][word.address] = word.value
            for bank, table, _ in earlier:
                assert memory[bank] == table, "a tile was let in before its table was there"
            await ctx.tick()
            if taken:
                writes.popleft()
                offered = False

    simulate(guard, testbench)
    assert not tiles, f"{len(tiles)} tiles were never let in"
    assert passed
