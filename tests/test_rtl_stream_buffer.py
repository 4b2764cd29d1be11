from collections import deque

import numpy as np
import pytest
from plusb.rtl.stream_buffer import StreamBuffer

from .rtl_sim import play, simulate


@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0.5, 0), (0, 0.5), (0.4, 0.4)])
def test_every_word_once_in_order(idle, stall):
    rng = np.random.default_rng(1)
    buffer = StreamBuffer(8)
    words = rng.integers(0, 256, 300).tolist()
    sent, received = deque(words), []

    async def testbench(ctx):
        offered, waiting = False, None
        for _ in range(4000):
            if not offered and sent and rng.random() >= idle:
                offered = True
                ctx.set(buffer.i.payload, sent[0])
            ctx.set(buffer.i.valid, offered)
            ready = rng.random() >= stall
            ctx.set(buffer.o.ready, ready)
            taken = offered and ctx.get(buffer.i.ready)
            if ctx.get(buffer.o.valid):
                payload = ctx.get(buffer.o.payload)
                assert waiting in (None, payload), "a stalled word changed"
                waiting = None if ready else payload
                if ready:
                    received.append(payload)
            else:
                assert waiting is None, "valid was retracted"
            await ctx.tick()
            if taken:
                sent.popleft()
                offered = False
            if len(received) == len(words) and not sent:
                break

    simulate(buffer, testbench)
    assert received == words


def test_one_word_a_cycle_one_cycle_later():
    buffer = StreamBuffer(8)
    words = list(range(1, 21))
    ready, valid, payload = play(
        buffer, {"i.payload": words, "i.valid": [1] * 20 + [0], "o.ready": [1]}, ["i.ready", "o.valid", "o.payload"]
    )
    assert ready == [1] * 21
    assert valid == [0] + [1] * 20
    assert payload[1:] == words


def test_ready_depends_on_no_input_of_the_same_cycle():
    """`ready` falls only after a word had to wait, so no combinational path goes back through the buffer."""
    buffer = StreamBuffer(8)
    (ready,) = play(buffer, {"i.valid": [1] * 6, "o.ready": [0, 0, 0, 0, 1, 1]}, ["i.ready"])
    assert ready == [1, 1, 0, 0, 0, 1]
