import numpy as np
import pytest
from plusb.rtl.collector import ColumnCollector
from plusb.sim.benches.packing import pack_array

from .rtl_sim import play


@pytest.mark.parametrize(("rows", "group"), [(1, 2), (2, 2), (3, 2), (4, 4), (5, 3), (2, 5)])
@pytest.mark.parametrize("gaps", [[0, 0, 0, 0], [3, 0, 1, 7]])
def test_elements_row_by_row_in_the_promised_cycles(rows, group, gaps):
    rng = np.random.default_rng(rows)
    width, period = 12, rows * group
    starts = np.cumsum([0, *(period + gap for gap in gaps)])
    length = starts[-1] + 2 * period + ColumnCollector.LATENCY
    tiles = rng.integers(-1 << (width - 1), 1 << (width - 1), (len(starts), rows, group))
    columns = rng.integers(-1 << (width - 1), 1 << (width - 1), (length, group))  # what is no result must not matter
    for start, tile in zip(starts, tiles, strict=True):
        for i in range(rows):
            for c in range(group):
                columns[start + i + c, c] = tile[i, c]
    unit = ColumnCollector(rows, group, width)
    strobe = np.isin(np.arange(length), starts)
    (got,) = play(unit, {"acc": [pack_array(row, width) for row in columns], "start": strobe}, ["o"])
    for start, tile in zip(starts, tiles, strict=True):
        begin = start + ColumnCollector.LATENCY
        assert got[begin : begin + period] == tile.ravel().tolist()
