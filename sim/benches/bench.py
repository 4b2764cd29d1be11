"""The testbench every bench shares: clock, reset, and agents that act once a clock cycle."""

import json
import os

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from ...rtl.config import EngineConfig

__all__ = ["PERIOD_NS", "Bench"]

#: Of the clock; the runner turns simulated time into cycles with it.
PERIOD_NS = 10


class Bench:
    """Owns the clock, the reset and the agents; the tests advance it cycle by cycle.

    Every agent has three methods: ``reset()``; ``sample(cycle)``, which sees the signals as they were at the end of a
    cycle; and ``drive(cycle)``, which sets them for a cycle. One loop calls them in a fixed order, so that a run is
    repeatable and costs one scheduled task.

    Parameters
    ----------
    dut : cocotb handle

    Attributes
    ----------
    config : EngineConfig
    facts : dict
        What the runner knows of the design, such as its latency.
    rng : numpy Generator
        Seeded by the test's name and ``COCOTB_RANDOM_SEED``.
    cycle : int
        Cycles since the last reset.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = EngineConfig.from_dict(json.loads(os.environ["PLUSB_BENCH_CONFIG"]))
        self.facts = json.loads(os.environ["PLUSB_BENCH_FACTS"])
        self.rng = np.random.default_rng(cocotb.RANDOM_SEED & 0xFFFFFFFF)
        self.agents = []
        self.cycle = 0
        self._edge = RisingEdge(dut.clk)
        dut.rst.value = 1
        Clock(dut.clk, PERIOD_NS, unit="ns").start(start_high=False)

    async def reset(self, cycles=2, prepare=lambda: None):
        """Reset the design and the agents; ``prepare`` gives these their work for the first cycle after it."""
        self.dut.rst.value = 1
        for agent in self.agents:
            agent.reset()
        for _ in range(cycles):
            await self._edge
        prepare()
        self.dut.rst.value = 0
        self.cycle = 0
        for agent in self.agents:
            agent.drive(0)

    async def step(self, cycles=1):
        """Advance by a number of clock cycles."""
        for _ in range(cycles):
            await self._edge
            for agent in self.agents:
                agent.sample(self.cycle)
            self.cycle += 1
            for agent in self.agents:
                agent.drive(self.cycle)

    async def until(self, done, *, patience=5000):
        """Advance until ``done()``; fail if ``patience`` cycles pass in which no agent makes progress."""
        idle, before = 0, None
        while not done():
            await self.step()
            now = [getattr(agent, "progress", 0) for agent in self.agents]
            idle = 0 if now != before else idle + 1
            before = now
            assert idle < patience, f"nothing moved for {patience} cycles; progress of the agents: {now}"
