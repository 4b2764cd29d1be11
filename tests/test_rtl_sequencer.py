import numpy as np
import pytest
from plusb.rtl.config import EngineConfig
from plusb.rtl.formats import command_layout
from plusb.rtl.sequencer import Sequencer
from plusb.sim.benches.packing import pack

from .rtl_sim import simulate

COUNT = 60


class _Run:
    """Random commands into a sequencer, and an admission that says no until it has said yes.

    A tile's permission, once given, stays until the tile ends, as the admission promises.
    """

    def __init__(self, config, *, idle, admit, seed):
        rng = np.random.default_rng(seed)
        self.ks = rng.integers(1, 9, COUNT).tolist()
        self.rows = rng.integers(1, config.rows + 1, COUNT).tolist()
        self.emit = [*(rng.random(COUNT - 1) < 0.7), True]
        self.clear = [True, *self.emit[:-1]]
        self.steps = []  # (cycle, a word, first, last)
        self.events = []  # (rows, swap_bias) of each tile that ended
        self._config, self._rng = config, rng
        self._idle, self._admit = idle, admit
        self.unit = Sequencer(config)
        simulate(self.unit, self._testbench)

    def _command(self, number):
        return pack(
            command_layout(self._config),
            k=self.ks[number] - 1,
            rows=self.rows[number] - 1,
            clear=self.clear[number],
            emit=self.emit[number],
            swap_bias=number % 3 == 0,
        )

    async def _testbench(self, ctx):
        unit, rng = self.unit, self._rng
        sent, command, word, may_end, could_end = False, 0, 0, False, False
        emitting = [number for number in range(COUNT) if self.emit[number]]
        for cycle in range(3000):
            if command < COUNT:
                ctx.set(unit.cmd.payload.as_value(), self._command(command))
            ctx.set(unit.cmd.valid, command < COUNT)
            sent = sent or rng.random() >= self._idle
            ctx.set(unit.a.payload.as_value(), word & 0xFF)
            ctx.set(unit.a.valid, sent)
            ctx.set(unit.w.valid, sent)
            may_end = may_end or rng.random() < self._admit
            ctx.set(unit.may_end, may_end)
            taken, cmd_taken = ctx.get(unit.a.ready) and sent, ctx.get(unit.cmd.ready)
            assert ctx.get(unit.a.ready) == ctx.get(unit.w.ready)
            if ctx.get(unit.tag.valid):
                self.steps.append(
                    (cycle, ctx.get(unit.a_step.as_value()) & 0xFF, ctx.get(unit.tag.first), ctx.get(unit.tag.last))
                )
            if ctx.get(unit.event.valid):
                number = emitting[len(self.events)]
                assert ctx.get(unit.issued.as_value()) == self._command(number)
                self.events.append((ctx.get(unit.event.rows) + 1, ctx.get(unit.event.swap_bias)))
            ended = ctx.get(unit.end)
            if ended:
                assert could_end, "a tile ended without permission"
                number = emitting[len(self.events)]
                assert ctx.get(unit.command.as_value()) == self._command(number), "another tile's command was shown"
            could_end = may_end
            await ctx.tick()
            command += cmd_taken
            if ended:
                may_end = False
            if taken:
                word, sent = word + 1, False


@pytest.mark.parametrize(
    "traffic",
    [{"idle": 0, "admit": 1}, {"idle": 0.5, "admit": 1}, {"idle": 0, "admit": 0.1}, {"idle": 0.3, "admit": 0.3}],
    ids=["full_rate", "idle", "slow_admission", "both"],
)
@pytest.mark.parametrize("size", [(1, 1, 1), (3, 2, 2), (2, 4, 1)], ids=str)
def test_every_step_once_in_order_and_no_tile_ends_without_permission(size, traffic):
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
    numbers = [number for number in range(COUNT) if run.emit[number]]
    assert run.events == [(run.rows[number], int(number % 3 == 0)) for number in numbers]


def test_no_cycle_is_lost_at_full_rate():
    config = EngineConfig(rows=2, cols=2, max_k=100)
    run = _Run(config, idle=0, admit=1, seed=2)
    cycles = [step[0] for step in run.steps]
    # A command lasts as many cycles as it has steps, but 2 at least.
    assert cycles[-1] - cycles[0] + 1 <= sum(max(k, 2) for k in run.ks)
