"""Replays given streams on the engine and writes down what came out, for a comparison with another simulation."""

import os

import cocotb
import numpy as np

from .streams import Traffic
from .unit_bench import Load, UnitBench

__all__ = ["REPLAY"]

#: Environment variable with the path of an ``.npz`` file: an array for each stream, ``rows`` to wait for, and ``runs``,
#: one (idle, stall, seed) each. The results go to the same path with ``.out.npz`` added.
REPLAY = "PLUSB_BENCH_REPLAY"


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def replay(dut):
    """Every run from a reset; data, TKEEP and TLAST of each row, and the cycles from first operand to last row."""
    bench = UnitBench(dut)
    path = os.environ[REPLAY]
    with np.load(path) as file:
        given = dict(file)
    rows, runs = int(given.pop("rows")), given.pop("runs")
    load = Load(given, [])
    out = {"data": [], "keep": [], "last": [], "cycles": []}
    sizes = {"data": len(dut.m_axis_out_tdata) // 8, "keep": -(-len(dut.m_axis_out_tkeep) // 8), "last": 1}
    for idle, stall, seed in runs.tolist():
        await bench.start(load, Traffic(idle, stall), seed=seed)
        await bench.until(lambda: bench.sink.progress >= rows)
        for index, (name, size) in enumerate(sizes.items()):
            words = b"".join(row[index].to_bytes(size, "little") for row in bench.sink.rows)
            out[name].append(np.frombuffer(words, np.uint8).reshape(rows, size))
        out["cycles"].append(bench.sink.last_cycle - bench.operands.first_cycle + 1)
    np.savez(f"{path}.out.npz", **{name: np.array(values) for name, values in out.items()})
