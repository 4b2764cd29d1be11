"""A cocotb test module that the tests of the runner use: one test passes, one fails, one is skipped."""

import cocotb
from plusb.sim.benches.bench import Bench


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def passing(dut):
    """Ten cycles, and a random number in the log."""
    bench = Bench(dut)
    await bench.reset()
    await bench.step(10)
    dut._log.info("drew %d", bench.rng.integers(1 << 30))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def failing(dut):
    """What a failure looks like."""
    raise AssertionError("on purpose")


@cocotb.test(skip=True)
async def skipped(dut):
    """A test that does not run does not count."""
