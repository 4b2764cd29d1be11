import numpy as np
import pytest
from plusb.rtl.mode_queue import ModeQueue

from .rtl_sim import play


@pytest.mark.parametrize("depth", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("wait", [0, 1, 3])
def test_modes_come_in_order_and_in_time(depth, wait):
    """Pushed in bursts of ``depth``, and each taken the earliest or a few cycles later."""
    rng = np.random.default_rng(depth)
    pushes, takes, free = [], [], 0
    for burst in range(6):
        begin = free + burst % 2
        pushes += range(begin, begin + depth)
        for cycle in pushes[-depth:]:
            free = max(free, cycle + ModeQueue.LATENCY + wait)
            takes.append(free)
            free += 1
    length = free + 1
    modes = rng.integers(0, 256, len(pushes))
    i = rng.integers(0, 256, length)  # what is not pushed must not matter
    i[pushes] = modes
    cycles = np.arange(length)
    streams = {"i": i, "push": np.isin(cycles, pushes), "take": np.isin(cycles, takes)}
    (got,) = play(ModeQueue(8, depth), streams, ["o"])
    assert [got[cycle] for cycle in takes] == modes.tolist()
