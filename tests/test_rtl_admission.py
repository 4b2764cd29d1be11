"""The admission among surroundings that keep the books it must respect."""

import numpy as np
import pytest
from plusb.rtl.admission import Admission, row_terms
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.formats import command_layout
from plusb.sim.benches.packing import pack

from .bench_configs import ALL_FORMS
from .rtl_sim import simulate

TILES, ROOM, FEED, PERIOD = 60, 8, 6, 4
CONFIG = EngineConfig(
    rows=3,
    cols=2,
    max_k=50,
    epilogue=EpilogueConfig(
        bias=ALL_FORMS,
        weight_zero_point=True,
        row_zero_point=True,
        residual=True,
        lut_banks=2,
        statistics=True,
    ),
)
STREAMS = ("bias", "scale", "row", "aux", "table", "lut")


class _Surroundings:
    """Random commands one after the other; what they need comes with a chance in each cycle, what they make leaves."""

    def __init__(self, *, supply, drain, engine, seed):
        self._rng = rng = np.random.default_rng(seed)
        self._supply, self._drain, self._engine = supply, drain, engine
        members = command_layout(CONFIG, engine=engine).members
        switches = [name for name in members if name.startswith(("use_", "swap_", "free_")) or name == "lut_bank"]
        self.commands = [
            {"rows": int(rng.integers(3)), **{name: int(rng.integers(2)) for name in switches}} for _ in range(TILES)
        ]
        self.ends = []
        self.unit = Admission(CONFIG, period=PERIOD, room=ROOM, streams=STREAMS, feed_depth=FEED, engine=engine)
        simulate(self.unit, self._testbench)

    def _takes(self, command, stream):
        return any(command.get(f"use_{term}") for term in row_terms(CONFIG, stream, engine=self._engine))

    async def _testbench(self, ctx):
        unit, rng = self.unit, self._rng
        layout = command_layout(CONFIG, engine=self._engine)
        number, could_end, rows_held, tiles_held = 0, False, 0, 0
        available, count = {"bias": False, "scale": False}, {"row": 0, "aux": 0}
        ready = {"table": 0, "lut": 0}
        for cycle in range(8000):
            if number == TILES:
                break
            command = self.commands[number]
            ctx.set(unit.command.as_value(), pack(layout, **command))
            for name in available:
                available[name] = available[name] or rng.random() < self._supply
                ctx.set(getattr(unit, f"{name}_available"), available[name])
            for name in count:
                count[name] = min(FEED, count[name] + (rng.random() < 3 * self._supply))
                ctx.set(getattr(unit, f"{name}_count"), count[name])
            for name, banks in (("table", 1), ("lut", 2)):
                ready[name] |= sum((rng.random() < self._supply) << bank for bank in range(banks))
                ctx.set(getattr(unit, f"{name}_ready"), ready[name])
            row_taken = rows_held > 0 and rng.random() < self._drain
            tile_taken = tiles_held > 0 and rng.random() < self._drain / 2
            ctx.set(unit.row_taken, row_taken)
            ctx.set(unit.statistics_taken, tile_taken)
            rows_held, tiles_held = rows_held - row_taken, tiles_held - tile_taken
            # What was said of the last cycle holds in this one, unless a tile ended in that.
            end = could_end and rng.random() < 0.8
            ctx.set(unit.end, end)
            ctx.set(unit.loaded, end)
            claims = {name: ctx.get(getattr(unit, f"{name}_claim")) for name in STREAMS}
            if not end:
                assert not any(claims.values()), "something was claimed without a tile"
            else:
                rows = command["rows"] + 1
                rows_held, tiles_held = rows_held + rows, tiles_held + 1
                assert rows_held <= ROOM, "a tile ended without room for its rows"
                assert tiles_held <= ROOM, "a tile ended without room for its statistics"
                want = {name: rows * self._takes(command, name) for name in count}
                want |= {name: command[f"swap_{name}"] for name in available}
                want["table"] = command["use_relative"]
                want["lut"] = command["use_lut"] << command["lut_bank"]
                assert claims == want
                for name in count:
                    count[name] -= want[name]
                    assert count[name] >= 0, f"rows of {name} were claimed that are not there"
                for name in available:
                    assert available[name] or not want[name], f"records of {name} were claimed that are not there"
                    available[name] = available[name] and not want[name]
                for name in ready:
                    assert want[name] & ~ready[name] == 0, f"{name} was claimed that is not there"
                    freed = want[name] * command[f"free_{name}"]
                    assert ctx.get(getattr(unit, f"{name}_free")) == freed
                    ready[name] &= ~freed
                self.ends.append(cycle)
                number += 1
            could_end = ctx.get(unit.may_end) and not end
            await ctx.tick()


@pytest.mark.parametrize("engine", [True, False], ids=["engine", "alone"])
@pytest.mark.parametrize(("supply", "drain"), [(1, 1), (0.05, 1), (1, 0.2), (0.2, 0.3)])
def test_no_tile_ends_before_all_is_there_and_each_ends_in_time(supply, drain, engine):
    run = _Surroundings(supply=supply, drain=drain, engine=engine, seed=1)
    assert len(run.ends) == TILES, "a tile was never let in"
    assert min(np.diff(run.ends)) >= PERIOD
    if (supply, drain) == (1, 1):
        assert np.median(np.diff(run.ends)) <= PERIOD + 4


def test_without_an_epilogue_only_time_and_room_count():
    """Two tiles fill the buffer; the third has to wait until all of a tile's rows are taken, not only one."""
    config = EngineConfig(rows=2, cols=2, epilogue=None)
    unit = Admission(config, period=3, room=4, streams=(), feed_depth=0)
    ends, taken_at = [], {30: 1, 40: 1}

    async def testbench(ctx):
        could_end = False
        ctx.set(unit.command.as_value(), pack(command_layout(config), rows=1))
        for cycle in range(50):
            ctx.set(unit.end, could_end)
            ctx.set(unit.loaded, could_end)
            ctx.set(unit.row_taken, taken_at.get(cycle, 0))
            if could_end:
                ends.append(cycle)
            could_end = ctx.get(unit.may_end) and not could_end
            await ctx.tick()

    simulate(unit, testbench)
    assert len(ends) == 3
    assert ends[1] - ends[0] >= 3
    assert ends[1] < 20
    assert ends[2] > 40
