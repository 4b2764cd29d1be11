"""The testbench of whole units: streams in, rows out, compared with what the golden model expects."""

from dataclasses import dataclass, field

import numpy as np

from .bench import Bench
from .streams import FULL_RATE, Chance, Sink, Source

__all__ = ["Expected", "Load", "UnitBench", "expect_rows", "join"]


@dataclass(frozen=True)
class Expected:
    """A row as the sink reports it: data with only kept bytes, keep, last."""

    data: int
    keep: int
    last: int


@dataclass(frozen=True)
class Load:
    """Words for each input stream, and what they must give.

    Parameters
    ----------
    streams : dict of str to uint8 array, shape (beats, bytes)
    rows : list of Expected
    statistics : list of int
        Words of the tiles' statistics, where the unit has them.
    """

    streams: dict
    rows: list
    statistics: list = field(default_factory=list)


def join(loads):
    """One load after the other."""
    loads = list(loads)
    names = {name: None for load in loads for name in load.streams}
    streams = {name: np.concatenate([load.streams[name] for load in loads if name in load.streams]) for name in names}
    rows = [row for load in loads for row in load.rows]
    return Load(streams, rows, [word for load in loads for word in load.statistics])


def expect_rows(config, values):
    """The rows of one tile: ``values``, int array (valid rows, valid columns), in the unit's output format."""
    size = config.element_type.width // 8
    values = np.asarray(values, np.int64)
    keep = (1 << (values.shape[1] * size)) - 1
    octets = np.ascontiguousarray(values.astype(f"<i{size}")).view(np.uint8)
    end = len(values) - 1
    return [Expected(int.from_bytes(row.tobytes(), "little"), keep, int(i == end)) for i, row in enumerate(octets)]


class UnitBench(Bench):
    """Bench of a Verilog unit with its AXI4-Stream ports: an engine, or an epilogue alone."""

    def __init__(self, dut):
        super().__init__(dut)
        self._chance = Chance()

        def ports(prefix, *names):
            return [getattr(dut, f"{prefix}_t{name}") for name in names]

        self.sources = {
            name: Source(*ports(f"s_axis_{name}", "data", "valid", "ready"), self._chance)
            for name in self.facts["inputs"]
        }
        self.sink = Sink(*ports("m_axis_out", "data", "keep", "last", "valid", "ready"), self._chance)
        self.operands = self.sources["a" if "a" in self.sources else "acc"]
        self.statistics = None
        if "statistics" in self.facts["outputs"]:
            data, valid, ready = ports("m_axis_statistics", "data", "valid", "ready")
            self.statistics = Sink(data, None, None, valid, ready, self._chance)
        self.agents = [agent for agent in (*self.sources.values(), self.sink, self.statistics) if agent is not None]

    @property
    def sinks(self):
        """All sinks."""
        return [sink for sink in (self.sink, self.statistics) if sink is not None]

    async def start(self, load, traffic=FULL_RATE, *, seed=1):
        """Reset and offer a load; nothing of an earlier one is left."""
        self._chance.seed(seed)
        for sink in self.sinks:
            sink.stall = traffic.stall
        for source in self.sources.values():
            source.idle = traffic.idle

        def prepare():
            for name, words in load.streams.items():
                self.sources[name].words = [int.from_bytes(word, "little") for word in words]

        await self.reset(prepare=prepare)

    async def finish(self, load):
        """Wait for all rows, compare them, and check that nothing is left."""
        words = load.statistics if self.statistics is not None else []
        counted = self.statistics or self.sink
        await self.until(lambda: self.sink.progress >= len(load.rows) and counted.progress >= len(words))
        compare(self.sink.rows, load.rows)
        for sink in self.sinks:
            sink.stall = 0
        await self.step(self.facts["latency"] + 4 * self.config.tile_period + 10)
        assert len(self.sink.rows) == len(load.rows), f"{len(self.sink.rows) - len(load.rows)} rows too many came out"
        if words:
            got = [data for data, _, _ in self.statistics.rows]
            assert got == words, f"the statistics are {got}, not {words}"
        left = {name: len(source.words) - source.progress for name, source in self.sources.items() if not source.empty}
        assert not left, f"words were left over: {left}"

    async def stand_still(self, quiet=200):
        """Advance until nothing has moved for ``quiet`` cycles."""
        still, before = 0, None
        while still < quiet:
            await self.step()
            now = [agent.progress for agent in self.agents]
            still = still + 1 if now == before else 0
            before = now

    async def run(self, load, traffic=FULL_RATE, *, seed=1):
        """Reset, run a load to its end and check everything. Returns the cycles from first operand to last row."""
        await self.start(load, traffic, seed=seed)
        await self.finish(load)
        return self.sink.last_cycle - self.operands.first_cycle + 1


def compare(rows, expected):
    """Fail with the first row that is not as expected."""
    for number, (row, want) in enumerate(zip(rows, expected, strict=True)):
        if row != (want.data, want.keep, want.last):
            got = Expected(*row)
            raise AssertionError(
                f"row {number} of {len(expected)} is data {got.data:#x} keep {got.keep:#x} last {got.last}, "
                f"not data {want.data:#x} keep {want.keep:#x} last {want.last}"
            )
