"""Row selector: the selected row, its latency later, for every order and spacing of rows."""

import cocotb
import numpy as np

from .bench import Bench
from .packing import pack_array
from .script import Script, play


async def _play(bench, selected):
    """``selected``: the row to take in each cycle, or -1."""
    dut, rows, latency = bench.dut, bench.config.rows, bench.facts["latency"]
    width = len(dut.o)
    values = [[int.from_bytes(bench.rng.bytes(8), "little") for _ in range(rows)] for _ in selected]
    script = Script(dut)
    script.feed("rows", [pack_array(row, width) for row in values])
    script.feed("select", [0 if row < 0 else 1 << int(row) for row in selected])
    for cycle, row in enumerate(selected):
        if row >= 0:
            script.expect("o", cycle + latency, values[cycle][row])
    await play(bench, script)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def in_order(dut):
    """The rows of many tiles, one a cycle without a gap, as a column finishes them."""
    bench = Bench(dut)
    await _play(bench, np.arange(20 * bench.config.rows) % bench.config.rows)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def any_order(dut):
    """Any row after any other, with cycles in which none is selected."""
    bench = Bench(dut)
    await _play(bench, bench.rng.integers(-1, bench.config.rows, 300))
