from collections import deque

import numpy as np
import pytest
from plusb.rtl.row_buffer import RowBuffer

from .rtl_sim import play, simulate


def test_one_row_a_cycle_and_latency_is_as_stated():
    buffer = RowBuffer(8, 4)
    rows = list(range(1, 21))
    inputs = {"row": rows, "valid": [1] * 20 + [0], "o.ready": [1]}
    valid, payload = play(buffer, inputs, ["o.valid", "o.payload"], extra=2)
    assert valid == [0] * RowBuffer.LATENCY + [1] * 20
    assert payload[RowBuffer.LATENCY :] == rows


@pytest.mark.parametrize("depth", [2, 4, 16])
@pytest.mark.parametrize("stall", [0.0, 0.5, 0.9])
def test_every_row_once_in_order_up_to_the_last_place(depth, stall):
    """The filler keeps the books as the sequencer does: it counts the rows that were not taken yet."""
    rng = np.random.default_rng(depth)
    buffer = RowBuffer(8, depth)
    rows = rng.integers(0, 256, 300).tolist()
    received, most = [], 0

    async def testbench(ctx):
        nonlocal most
        waiting, held, to_send = None, 0, deque(rows)
        while len(received) < len(rows):
            fill = bool(to_send) and held < depth and rng.random() < 0.8
            ctx.set(buffer.valid, fill)
            ctx.set(buffer.row, to_send.popleft() if fill else int(rng.integers(256)))
            ready = rng.random() >= stall
            ctx.set(buffer.o.ready, ready)
            held += fill
            most = max(most, held)
            if ctx.get(buffer.o.valid):
                row = ctx.get(buffer.o.payload)
                assert waiting in (None, row), "a stalled row changed"
                waiting = None if ready else row
                if ready:
                    received.append(row)
                    held -= 1
            else:
                assert waiting is None, "valid was retracted"
            await ctx.tick()
        for _ in range(5):
            ctx.set(buffer.valid, 0)
            await ctx.tick()
            assert not ctx.get(buffer.o.valid), "a row too many"

    simulate(buffer, testbench)
    assert received == rows
    assert most == depth or stall == 0
