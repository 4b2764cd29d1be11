"""The engine's cocotb bench on generated Verilog, and its agreement with the burst simulation."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from plusb.sim.benches.designs import BENCHES
from plusb.sim.benches.programs import gemm_load
from plusb.sim.benches.replay_tests import REPLAY
from plusb.sim.benches.tiles import random_tiles, tile_load
from plusb.sim.burst import open_unit
from plusb.sim.runner import run_bench, run_tests

from .bench_configs import CONFIGS

_SLOW = ["tiny", "medium", "one", "odd", "half", "tall_uint8", "wide_int4", "row_int4", "raw", "raw_column"]


@pytest.mark.parametrize("name", ["small", *(pytest.param(name, marks=pytest.mark.slow) for name in _SLOW)])
def test_bench(name):
    run_bench(CONFIGS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "odd"])
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not on PATH")
def test_bench_with_icarus(name):
    run_bench(CONFIGS[name], simulator="icarus")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small", "half", "raw", "no_bias"])
@pytest.mark.parametrize("kind", ["product", "tiles"])
def test_burst_simulation_agrees(name, kind, tmp_path):
    """Data, TKEEP, TLAST and every cycle, at full rate and with the same random stalls."""
    config = CONFIGS[name]
    rng = np.random.default_rng(5)
    if kind == "product":
        load = gemm_load(rng, config, 3 * config.rows + 1, 37, 2 * config.cols + 1)
    else:
        load = tile_load(config, random_tiles(rng, config, 40))
    runs = [(0, 0, 1), (90, 0, 2), (0, 180, 3), (60, 60, 4)]
    path = tmp_path / "replay.npz"
    np.savez(path, **load.streams, rows=len(load.rows), runs=runs)
    _, design = BENCHES["engine"]
    run_tests(design(config), ["plusb.sim.benches.replay_tests"], settings={REPLAY: str(path)})
    replayed = np.load(f"{path}.out.npz")
    missing = {name: np.zeros((0, 4), np.uint8) for name in ("bias", "scale", "aux")}
    program = SimpleNamespace(streams=missing | load.streams, rows=len(load.rows))
    with open_unit(config) as unit:
        for index, (idle, stall, seed) in enumerate(runs):
            unit.reset(seed)
            result = unit.run(program, idle=idle, stall=stall)
            kept = np.unpackbits(result.keep, axis=1, bitorder="little")[:, : result.data.shape[1]]
            np.testing.assert_array_equal(replayed["data"][index], result.data * kept)
            np.testing.assert_array_equal(replayed["keep"][index], result.keep)
            np.testing.assert_array_equal(replayed["last"][index][:, 0], result.last)
            assert replayed["cycles"][index] == result.cycles
