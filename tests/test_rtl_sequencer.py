import numpy as np
import pytest
from plusb.rtl.config import EngineConfig
from plusb.rtl.formats import command_layout
from plusb.rtl.sequencer import Sequencer
from plusb.sim.benches.packing import pack

from .rtl_sim import simulate


class _Run:
    """Random commands into a sequencer whose surroundings keep the books that it must respect."""

    def __init__(self, config, *, idle, drain, records, seed, room=2, swaps=0.3):
        rng = np.random.default_rng(seed)
        self.room = room * config.rows
        self.ks = rng.integers(1, 9, 60).tolist()
        self.rows = rng.integers(1, config.rows + 1, 60).tolist()
        self.emit = [*(rng.random(59) < 0.7), True]
        self.clear = [True, *self.emit[:-1]]
        self.swap = (rng.random(60) < swaps).tolist()
        self.steps = []  # (cycle, a word, first, last)
        self._config, self._rng = config, rng
        self._idle, self._drain, self._records = idle, drain, records
        self.unit = Sequencer(config, self.room)
        simulate(self.unit, self._testbench)

    async def _testbench(self, ctx):
        unit, rng, layout = self.unit, self._rng, command_layout(self._config)
        held, available, sent, command, word = 0, False, False, 0, 0
        for cycle in range(3000):
            if command < 60:
                ctx.set(
                    unit.cmd.payload.as_value(),
                    pack(
                        layout,
                        k=self.ks[command] - 1,
                        rows=self.rows[command] - 1,
                        clear=self.clear[command],
                        emit=self.emit[command],
                        swap_bias=self.swap[command],
                    ),
                )
            ctx.set(unit.cmd.valid, command < 60)
            sent = sent or rng.random() >= self._idle
            ctx.set(unit.a.payload.as_value(), word & 0xFF)
            ctx.set(unit.a.valid, sent)
            ctx.set(unit.w.valid, sent)
            row_taken = held > 0 and rng.random() < self._drain
            ctx.set(unit.row_taken, row_taken)
            held -= row_taken
            available = available or rng.random() < self._records
            # A claim shows one cycle after the step that makes it, as in the engine.
            claimed = ctx.get(unit.event.swap_bias)
            ctx.set(unit.bias_available, available and not claimed)
            if claimed:
                assert available, "records were claimed that are not there"
                available = False
            taken, cmd_taken = ctx.get(unit.a.ready) and sent, ctx.get(unit.cmd.ready)
            assert ctx.get(unit.a.ready) == ctx.get(unit.w.ready)
            if ctx.get(unit.tag.valid):
                self.steps.append(
                    (cycle, ctx.get(unit.a_step.as_value()) & 0xFF, ctx.get(unit.tag.first), ctx.get(unit.tag.last))
                )
            if ctx.get(unit.event.valid):
                held += ctx.get(unit.event.rows) + 1
                assert held <= self.room, "a tile ended without room for its rows"
            await ctx.tick()
            command += cmd_taken
            if taken:
                word, sent = word + 1, False


@pytest.mark.parametrize(
    "traffic",
    [
        {"idle": 0, "drain": 1, "records": 1},
        {"idle": 0.5, "drain": 1, "records": 1},
        {"idle": 0, "drain": 0.15, "records": 1},
        {"idle": 0, "drain": 1, "records": 0.05},
        {"idle": 0.3, "drain": 0.3, "records": 0.1},
    ],
    ids=["full_rate", "idle", "full_buffer", "slow_records", "all"],
)
@pytest.mark.parametrize("size", [(1, 1, 1), (3, 2, 2), (2, 4, 1)], ids=str)
def test_every_step_once_in_order_and_no_tile_ends_too_early(size, traffic):
    rows, cols, lanes = size
    config = EngineConfig(rows=rows, cols=cols, lanes=lanes, max_k=100)
    run = _Run(config, seed=1, **traffic)
    assert [word for _, word, _, _ in run.steps] == [n & 0xFF for n in range(sum(run.ks))]
    ends = np.cumsum(run.ks) - 1
    last = [bool(step[3]) for step in run.steps]
    first = [bool(step[2]) for step in run.steps]
    assert last == [n in set(ends[np.array(run.emit)]) for n in range(len(run.steps))]
    starts = ends - np.array(run.ks) + 1
    assert first == [n in set(starts[np.array(run.clear)]) for n in range(len(run.steps))]
    cycles = [step[0] for step, final in zip(run.steps, last, strict=True) if final]
    assert min(np.diff(cycles)) >= config.tile_period


def test_no_cycle_is_lost_at_full_rate():
    config = EngineConfig(rows=2, cols=2, max_k=100)
    run = _Run(config, idle=0, drain=1, records=1, seed=2, room=8, swaps=0)
    cycles = [step[0] for step in run.steps]
    # A tile lasts as many cycles as it has steps; one that ends another sooner than the lanes allow waits for them.
    period, allowed = config.tile_period, 0
    for k, emit in zip(run.ks, run.emit, strict=True):
        allowed += max(k, period) if emit else k
    assert cycles[-1] - cycles[0] + 1 <= allowed
