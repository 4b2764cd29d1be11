import numpy as np
import pytest
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.formats import command_layout
from plusb.rtl.row_sequencer import RowSequencer
from plusb.rtl.tags import element_tag
from plusb.sim.benches.packing import pack, pack_array, unpack_array

from .rtl_sim import simulate

WIDTH, TILES = 12, 30


def _config(rows, cols, lanes):
    return EngineConfig(
        rows=rows, cols=cols, lanes=lanes, epilogue=EpilogueConfig(families=("ruy", "float32"), bias=("channel", "row"))
    )


class _Run:
    """Random tiles; every element and its tag is written down."""

    def __init__(self, config, *, idle, admit, seed=1, rows=None):
        self._config, self._idle, self._admit = config, idle, admit
        self._rng = rng = np.random.default_rng(seed)
        self.sizes = [rows] * TILES if rows else rng.integers(1, config.rows + 1, TILES).tolist()
        switches = ("swap_bias", "swap_scale", "use_channel", "use_row", "family")
        self.commands = [{name: int(rng.integers(2)) for name in switches} for _ in range(TILES)]
        self.rows = rng.integers(-1 << (WIDTH - 1), 1 << (WIDTH - 1), (sum(self.sizes), config.cols))
        self.elements = []  # (cycle, tag, accumulators of the lanes)
        self.unit = RowSequencer(config, WIDTH)
        simulate(self.unit, self._testbench)

    def expected(self):
        """Tag and accumulators of each element in order."""
        config, row = self._config, 0
        for size, command in zip(self.sizes, self.commands, strict=True):
            layout = element_tag(config)
            use = pack(layout["use"].shape, channel=command["use_channel"], row=command["use_row"])
            for number in range(size):
                for index in range(config.group):
                    tag = {"valid": 1, "last": number == size - 1, "index": index, "use": use}
                    tag["float32"] = command["family"]
                    if number == index == 0:
                        tag |= {"start": 1, "swap_bias": command["swap_bias"], "swap_scale": command["swap_scale"]}
                    yield pack(layout, **tag), self.rows[row, index :: config.group].tolist()
                row += 1

    async def _testbench(self, ctx):
        unit, rng, config = self.unit, self._rng, self._config
        layout = command_layout(config, engine=False)
        command, row, sent, could_end, admitted = 0, 0, False, False, 0
        for cycle in range(20 * len(self.rows) * config.group + 1000):
            if len(self.elements) == len(self.rows) * config.group:
                break
            ctx.set(unit.cmd.valid, command < TILES)
            if command < TILES:
                fields = self.commands[command] | {"rows": self.sizes[command] - 1}
                ctx.set(unit.cmd.payload.as_value(), pack(layout, **fields))
            sent = sent or (row < len(self.rows) and rng.random() >= self._idle)
            ctx.set(unit.rows.valid, sent)
            if sent:
                ctx.set(unit.rows.payload.as_value(), pack_array(self.rows[row], WIDTH))
            may_end = could_end or rng.random() < self._admit
            ctx.set(unit.may_end, may_end)
            ended = ctx.get(unit.end)
            if ended:
                assert may_end, "a tile was admitted that must not be"
                admitted += 1
            could_end = may_end and not ended
            tag = ctx.get(unit.tag.as_value())
            if ctx.get(unit.tag.valid):
                word = ctx.get(unit.acc.as_value())
                self.elements.append((cycle, tag, unpack_array(word, WIDTH, config.lanes)))
                started = sum(element[1] & pack(element_tag(config), start=1) > 0 for element in self.elements)
                assert started <= admitted, "a tile started that was not admitted"
            taken, cmd_taken = sent and ctx.get(unit.rows.ready), ctx.get(unit.cmd.ready) and command < TILES
            await ctx.tick()
            command += cmd_taken
            if taken:
                row, sent = row + 1, False


@pytest.mark.parametrize(("idle", "admit"), [(0, 1), (0.6, 1), (0, 0.1), (0.3, 0.3)])
@pytest.mark.parametrize("size", [(1, 1, 1), (4, 2, 2), (3, 4, 2), (2, 3, 1)], ids=str)
def test_every_element_once_in_order_with_its_tag(size, idle, admit):
    config = _config(*size)
    run = _Run(config, idle=idle, admit=admit)
    got = [(tag, acc) for _, tag, acc in run.elements]
    assert got == list(run.expected())


@pytest.mark.parametrize("size", [(5, 2, 2), (4, 4, 2), (2, 3, 1)], ids=str)
def test_no_cycle_is_lost_at_full_rate(size):
    """Tiles of ``PERIOD`` cycles or more follow each other without a gap."""
    config = _config(*size)
    assert config.rows * config.group >= RowSequencer.PERIOD
    run = _Run(config, idle=0, admit=1, rows=config.rows)
    cycles = [cycle for cycle, _, _ in run.elements]
    assert np.diff(cycles).tolist() == [1] * (len(cycles) - 1)


def test_shortest_tiles_take_the_stated_period_or_less():
    run = _Run(_config(1, 1, 1), idle=0, admit=1)
    assert max(np.diff([cycle for cycle, _, _ in run.elements])) <= RowSequencer.PERIOD
