import numpy as np
from plusb.rtl.config import EngineConfig
from plusb.rtl.raw_lane import RawLane
from plusb.rtl.tags import element_tag, modes
from plusb.sim.benches.packing import pack

from .rtl_sim import measured_latency, play


def test_accumulators_are_handed_on_sign_extended():
    config = EngineConfig(rows=2, cols=2, max_k=50, epilogue=None)
    unit = RawLane(config, config.acc_range)
    acc = np.random.default_rng(1).integers(config.acc_range.lo, config.acc_range.hi, 40).tolist()
    got, saturated = play(unit, {"acc": acc}, ["o", "saturated"], extra=RawLane.latency)
    assert measured_latency(acc, got) == RawLane.latency
    assert not any(saturated)


def test_mode_changes_with_the_first_element_of_a_tile():
    config = EngineConfig(rows=2, cols=4, epilogue=None)
    unit = RawLane(config, config.acc_range)
    starts = [1, 0, 0, 1, 1, 0]
    cols = [3, 0, 1, 2, 1, 3]
    inputs = {
        "tag": [pack(element_tag(config), start=start, valid=1) for start in starts],
        "output_mode": [pack(modes(config)["output_mode"], cols=count) for count in cols],
    }
    (got,) = play(unit, inputs, ["output_mode_out"], extra=1)
    assert got[1:] == [3, 3, 3, 2, 1, 1]
