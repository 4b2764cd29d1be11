"""The cost model predicts the burst simulation's cycles exactly, whatever the unit and the sizes."""

import numpy as np
import pytest
from plusb.gen.cost import Size, cycles, sizes_of, timing
from plusb.gen.gemm import Gemm
from plusb.gen.lower import lower
from plusb.gen.sequence import ProgramSequence
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.numeric import Family
from plusb.rtl.presets import PRESETS
from plusb.sim.burst import open_unit

CONFIGS = {
    "tiny": PRESETS["tiny"],
    "medium": PRESETS["medium"],
    "without an epilogue": EngineConfig(rows=3, cols=5, epilogue=None),
    "half the lanes, float32": EngineConfig(rows=4, cols=4, lanes=2, epilogue=EpilogueConfig(families=("float32",))),
    "one lane": EngineConfig(rows=6, cols=4, lanes=1),
    "kept weights": EngineConfig(rows=4, cols=4, lanes=2, replay_depth=12),
    "kept weights, without an epilogue": EngineConfig(rows=3, cols=4, replay_depth=2, epilogue=None),
    "without a bias": EngineConfig(rows=8, cols=2, epilogue=EpilogueConfig(bias=())),
    "one column": EngineConfig(rows=2, cols=1),
    "one row": EngineConfig(rows=1, cols=8, lanes=4),
    "long epilogue": EngineConfig(
        rows=3,
        cols=4,
        lanes=2,
        max_k=200,
        epilogue=EpilogueConfig(
            families=tuple(Family),
            negative_scale=True,
            bias_width=16,
            bias_storage="chshift",
            weight_zero_point=True,
            raw=True,
            lut_banks=2,
            statistics=True,
        ),
    ),
}


def problem(config, size):
    """A product whose values do not matter, lowered."""
    random = np.random.default_rng(size.m + size.k + size.n)
    has_bias = config.epilogue is not None and "channel" in config.epilogue.bias
    gemm = Gemm(
        name="t",
        op="t",
        w=random.integers(-128, 128, (size.k, size.n)),
        bias=random.integers(-(2**15), 2**15, size.n) * has_bias,
        family=Family.half_up if config.epilogue is None else config.epilogue.families[0],
        multiplier=random.integers(2**30, 2**31, size.n),
        shift=random.integers(-14, -6, size.n),
        scale=random.uniform(1e-4, 1e-2, size.n).astype(np.float32),
    )
    return lower(config, gemm, random.integers(-128, 128, (size.m, size.k)))


def sizes(config, random):
    """One to three products, with tails, of a single step or more, and often too few to hide the loading of records."""
    longest = 1 + random.choice([1, 3, 12, 100])
    limits = random.choice([1, 5 * config.rows]) + 1, longest + 1, 6 * config.cols + 1
    return [Size(*map(int, random.integers(1, limits))) for _ in range(random.integers(1, 4))]


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_predicted_is_simulated(name):
    config = CONFIGS[name]
    random = np.random.default_rng(5)
    waited = 0
    with open_unit(config) as unit:
        for _ in range(150):
            program = ProgramSequence(tuple(problem(config, size) for size in sizes(config, random)))
            unit.reset()
            assert unit.run(program).cycles == cycles(config, sizes_of(program)), sizes_of(program)
            plain = sum(
                -(-size.m // config.rows) * -(-size.n // config.cols) * max(size.k, config.tile_period)
                for size in sizes_of(program)
            )
            waited += cycles(config, sizes_of(program)) > plain + timing(config).latency + config.cols + 3
    assert config.epilogue is None or waited > 20  # else waiting for records was hardly tested


def test_what_the_cycles_are_made_of():
    config = PRESETS["medium"]
    unit = timing(config)
    assert (unit.rows, unit.cols, unit.group, unit.tile_period, unit.first_swap) == (8, 8, 1, 8, 11)
    one = cycles(config, [Size(8, 100, 8)])
    assert one == 1 + 100 + unit.latency + 7
    assert cycles(config, [Size(7, 100, 8)]) == one - 1  # its last row is one cycle earlier
    assert cycles(config, [Size(8, 101, 8)]) == one + 1
    assert cycles(config, [Size(16, 100, 16)]) == one + 3 * 100  # no bubble between tiles
    assert cycles(config, [Size(8, 100, 8)] * 4) == one + 3 * 100  # nor between products
    # Short products wait for records: at first, and then a swap's time each.
    short = cycles(config, [Size(8, 1, 8)])
    assert short == unit.first_swap + unit.latency + 7
    assert cycles(config, [Size(8, 1, 80)]) == short + 9 * unit.swap_period
    assert cycles(config.replace(epilogue=None), [Size(8, 1, 80)]) < short + 9 * unit.swap_period


def test_timing_follows_the_configuration():
    fixed, floating = timing(EngineConfig()), timing(EngineConfig(epilogue=EpilogueConfig(families=("float32",))))
    assert fixed != floating
    assert timing(EngineConfig(epilogue=None)).swap_period is None
    assert cycles(fixed, [Size(1, 1, 1)]) == cycles(EngineConfig(), [Size(1, 1, 1)])


def test_sequences():
    config = EngineConfig(rows=2, cols=2, lanes=1)
    first, second = problem(config, Size(3, 4, 5)), problem(config, Size(1, 2, 1))
    program = ProgramSequence((first, second))
    assert sizes_of(program) == [Size(3, 4, 5), Size(1, 2, 1)]
    assert sizes_of(first) == [Size(3, 4, 5)]
    assert program.rows == first.rows + second.rows == 3 * 3 + 1
    assert program.config == config
    assert all(len(words) == len(first.streams[n]) + len(second.streams[n]) for n, words in program.streams.items())
    octets = np.arange(program.rows * 2, dtype=np.uint8).reshape(-1, 2)
    left, right = program.collect(octets)
    assert np.array_equal(left, first.collect(octets[:9]))
    assert np.array_equal(right, second.collect(octets[9:]))
    with pytest.raises(TypeError, match=r"programs must be one Program or more, not \(\)"):
        ProgramSequence(())
    with pytest.raises(ValueError, match="programs must be of one configuration"):
        ProgramSequence((first, problem(PRESETS["small"], Size(1, 1, 1))))
