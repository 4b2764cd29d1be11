import numpy as np
import pytest
from plusb.rtl.multiplier import Multiplier

from .rtl_sim import measured_latency, play


@pytest.mark.parametrize(("a", "b"), [(4, 4), (9, 8), (18, 18)])
def test_products_are_exact_and_latency_is_as_stated(a, b):
    rng = np.random.default_rng(1)
    x = np.append(rng.integers(-1 << (a - 1), 1 << (a - 1), 200), [-1 << (a - 1), (1 << (a - 1)) - 1, 0])
    y = np.append(rng.integers(-1 << (b - 1), 1 << (b - 1), 200), [-1 << (b - 1), -1 << (b - 1), 0])
    unit = Multiplier(a, b)
    (got,) = play(unit, {"a": x, "b": y}, ["p"], extra=Multiplier.LATENCY)
    assert measured_latency(x * y, got) == Multiplier.LATENCY
