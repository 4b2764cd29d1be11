import numpy as np
import pytest
from plusb.rtl.adder import PipelinedAdder

from .rtl_sim import measured_latency, play


@pytest.mark.parametrize(("a", "b", "width", "chunk"), [(4, 4, 5, 18), (4, 3, 6, 2), (32, 32, 33, 18), (5, 30, 31, 7)])
def test_sums_are_exact_and_latency_is_as_stated(a, b, width, chunk):
    rng = np.random.default_rng(1)
    x = np.append(rng.integers(-1 << (a - 1), 1 << (a - 1), 200), [(1 << (a - 1)) - 1, -1 << (a - 1), -1, 0])
    y = np.append(rng.integers(-1 << (b - 1), 1 << (b - 1), 200), [(1 << (b - 1)) - 1, -1 << (b - 1), 1, 0])
    adder = PipelinedAdder(a, b, width, chunk=chunk)
    (got,) = play(adder, {"a": x, "b": y}, ["o"], extra=adder.latency)
    assert measured_latency(x + y, got) == adder.latency == -(-width // chunk)


def test_every_sum_of_small_addends():
    x, y = (grid.ravel() for grid in np.meshgrid(np.arange(-8, 8), np.arange(-4, 4)))
    adder = PipelinedAdder(4, 3, 5, chunk=2)
    (got,) = play(adder, {"a": x, "b": y}, ["o"], extra=adder.latency)
    assert got[adder.latency :] == (x + y).tolist()
