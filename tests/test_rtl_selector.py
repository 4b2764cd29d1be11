import numpy as np
import pytest
from plusb.rtl.selector import RowSelector

from .rtl_sim import measured_latency, play


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8, 13])
def test_rows_in_order_and_latency_is_as_stated(rows):
    rng = np.random.default_rng(rows)
    width, cycles = 9, 40
    values = rng.integers(0, 1 << width, (cycles, rows))
    chosen = np.arange(cycles) % rows
    words = [sum(int(value) << (width * i) for i, value in enumerate(row)) for row in values]
    unit = RowSelector(rows, width)
    inputs = {"rows": words, "select": 1 << chosen}
    (got,) = play(unit, inputs, ["o"], extra=unit.latency, combinational=unit.latency == 0)
    assert measured_latency(values[np.arange(cycles), chosen], got) == unit.latency == int(np.ceil(np.log2(rows)))
