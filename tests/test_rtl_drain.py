import pytest
from plusb.rtl.config import EngineConfig
from plusb.rtl.drain import DrainTagger
from plusb.rtl.tags import drain_event, element_tag
from plusb.sim.benches.packing import pack

from .rtl_sim import play

#: rows, cols, lanes
_SIZES = [(1, 1, 1), (4, 4, 4), (3, 4, 2), (2, 4, 1), (5, 3, 1), (1, 4, 1)]


@pytest.mark.parametrize("size", _SIZES, ids=str)
def test_elements_of_each_tile_in_order(size):
    rows, cols, lanes = size
    config = EngineConfig(rows=rows, cols=cols, lanes=lanes)
    event, tag = drain_event(config), element_tag(config)
    valid_rows = [rows, 1, max(1, rows - 1), rows]
    gaps = [0, 3, 0, 0]
    events, want = [], []
    for number, (count, gap) in enumerate(zip(valid_rows, gaps, strict=True)):
        swaps = {"swap_bias": number % 2 == 0, "swap_scale": number == 1}
        length = config.tile_period + gap
        events += [pack(event, valid=1, rows=count - 1, **swaps)] + [0] * (length - 1)
        for slot in range(length):
            row, index = divmod(slot, config.group)
            first = {"start": 1, **swaps} if slot == 0 else {}
            valid = row < count
            want.append(pack(tag, valid=1, last=row == count - 1, index=index, **first) if valid else None)
    unit = DrainTagger(config)
    (got,) = play(unit, {"event": [*events, 0]}, ["tag"], extra=2)
    assert got[0] & pack(tag, valid=1, start=1) == 0
    for cycle, word in enumerate(want):
        seen = got[cycle + DrainTagger.LATENCY]
        if word is None:
            assert not seen & pack(tag, valid=1, start=1, swap_bias=1, swap_scale=1), f"slot {cycle} is not empty"
        else:
            assert seen == word, f"slot {cycle}"
