"""The fast simulation: the same data whatever stalls, exact cycle counts, and an error instead of a hang."""

import numpy as np
import pytest
from plusb.gen.gemm import Gemm
from plusb.gen.lower import lower
from plusb.gen.reference import product_stages
from plusb.gen.unit import engine_unit
from plusb.rtl.config import EngineConfig
from plusb.rtl.numeric import Family
from plusb.rtl.presets import PRESETS
from plusb.sim.burst import open_unit
from plusb.sim.layers import open_pair

pytestmark = pytest.mark.slow

SMALL = PRESETS["small"]
# Chances, of 256, that a source is idle and that the sink stalls.
STALLS = {"idle": (100, 0), "back-pressure": (0, 200), "both": (60, 60), "nearly stopped": (250, 250)}


def problem(m, k, n, family=Family.gemmlowp):
    random = np.random.default_rng(m + k + n)
    gemm = Gemm(
        name="t",
        op="t",
        w=random.integers(-128, 128, (k, n)),
        bias=random.integers(-(2**15), 2**15, n),
        family=family,
        multiplier=random.integers(2**30, 2**31, n),
        shift=random.integers(-14, -6, n),
        zp_out=3,
        lo=-100,
        hi=120,
    )
    return gemm, random.integers(-128, 128, (m, k))


@pytest.fixture(scope="module")
def unit():
    with open_unit(SMALL) as opened:
        yield opened


@pytest.mark.parametrize("size", [(1, 1, 1), (4, 4, 4), (5, 7, 9), (13, 2, 11), (16, 31, 8)])
def test_stalls_change_nothing(unit, size):
    for family in SMALL.epilogue.families:
        gemm, x = problem(*size, family)
        program = lower(SMALL, gemm, x)
        unit.reset()
        plain = unit.run(program)
        assert np.array_equal(program.collect(plain.data), product_stages(gemm, x).out)
        for idle, stall in STALLS.values():
            unit.reset(seed=7)
            result = unit.run(program, idle=idle, stall=stall)
            assert np.array_equal(result.data, plain.data)
            assert np.array_equal(result.keep, plain.keep)
            assert np.array_equal(result.last, plain.last)
            assert result.cycles >= plain.cycles


def test_seed_repeats_the_stalls(unit):
    program = lower(SMALL, *problem(9, 8, 9))
    cycles = []
    for seed in (3, 3, 4):
        unit.reset(seed)
        cycles.append(unit.run(program, idle=90, stall=90).cycles)
    assert cycles[0] == cycles[1] != cycles[2]


def test_keep_and_last(unit):
    unit.reset()
    result = unit.run(lower(SMALL, *problem(5, 3, 6)))
    # Tiles of 4 and 1 rows, for columns 0 to 3 and then 4 and 5.
    assert result.last.tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 1, 1]
    assert result.keep[:, 0].tolist() == [15] * 5 + [3] * 5


def test_programs_follow_each_other_without_reset(unit):
    unit.reset()
    for size in [(4, 4, 4), (3, 2, 1), (8, 5, 7)]:
        gemm, x = problem(*size)
        program = lower(SMALL, gemm, x)
        assert np.array_equal(program.collect(unit.run(program).data), product_stages(gemm, x).out)


def test_progress(unit):
    seen = []
    unit.reset()
    program = lower(SMALL, *problem(64, 128, 64))
    unit.run(program, idle=64, progress=lambda rows, cycles: seen.append((rows, cycles)))
    assert seen == sorted(seen)
    assert seen[-1][0] == program.rows
    assert len(seen) > 1


@pytest.mark.parametrize(("idle", "stall", "rows"), [(256, 0, 0), (0, 256, 0)])
def test_hang_is_an_error(unit, idle, stall, rows):
    unit.reset()
    with pytest.raises(RuntimeError) as caught:
        unit.run(lower(SMALL, *problem(8, 3, 4)), idle=idle, stall=stall)
    assert str(caught.value) == f"the unit stopped after {rows} of 8 rows"
    unit.reset()


def test_missing_records_are_an_error(unit):
    program = lower(SMALL, *problem(8, 3, 4))
    program.streams["bias"] = program.streams["bias"][:-1]
    unit.reset()
    with pytest.raises(RuntimeError, match="the unit stopped after 0 of 8 rows"):
        unit.run(program)


def test_waves(tmp_path):
    config = EngineConfig(rows=1, cols=1, max_k=16, epilogue=None)
    path = tmp_path / "w.vcd"
    with open_unit(config, waves=path) as traced:
        program = lower(config, *problem(2, 3, 1))
        traced.run(program)
    text = path.read_text(encoding="utf-8")
    assert "$enddefinitions" in text
    assert "s_axis_a_tdata" in text
    assert text.count("\n#") >= 2 * 4


@pytest.mark.parametrize(("m", "k", "n"), [(256, 256, 256), (1024, 8, 64)])
def test_the_epilogue_is_free(m, k, n):
    """The same number of cycles with and without it, but for its own pipeline once at the very end."""
    config = PRESETS["medium"]
    gemm, x = problem(m, k, n)
    with open_pair(config) as pair:
        run = pair.run(gemm, x)
    assert run.mismatches == 0
    assert run.ideal_cycles == m * k * n // 64
    tiles = (m // 8) * (n // 8)
    depth = engine_unit(config).latency
    assert 0 <= run.cycles - run.cycles_raw <= depth < tiles
    if k == 256:
        assert run.utilization >= 0.999
