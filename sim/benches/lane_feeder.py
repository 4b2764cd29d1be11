"""Drives a row of epilogue lanes as the sequencer and the array do, with accumulators of any value."""

from dataclasses import dataclass

import numpy as np

from ...rtl.formats import row_layout
from ...rtl.tags import element_tag, modes
from ..golden import epilogue
from .packing import pack, pack_array

__all__ = ["Block", "LaneFeeder"]


@dataclass
class Block:
    """The accumulators of one tile and what its command says of them.

    Parameters
    ----------
    acc : int64 array, shape (R, C)
    rows, cols : int
        Valid ones.
    family, zp, lo, hi
        As in a command.
    bias, scale : bool
        Whether new records are swapped in; ``bias_records`` and ``scale_records`` are those in use.
    gap : int
        Cycles that pass before the tile beside what the lanes need.
    """

    acc: np.ndarray
    rows: int
    cols: int
    family: object = None
    zp: int = 0
    lo: int = -128
    hi: int = 127
    bias: bool = False
    scale: bool = False
    bias_records: np.ndarray | None = None
    scale_records: tuple | None = None
    gap: int = 0

    def result(self):
        """What the golden model makes of it, int64 array (R, C)."""
        if self.family is None:
            return self.acc
        multiplier, t = self.scale_records
        return epilogue(
            self.acc,
            bias=self.bias_records,
            family=self.family,
            multiplier=multiplier,
            shift=31 - t,
            zp_out=self.zp,
            lo=self.lo,
            hi=self.hi,
        )


class LaneFeeder:
    """An agent that pushes modes, claims records and feeds each lane its elements in its cycle.

    A tile starts when the lanes are free and the records that it swaps in are complete. Its modes are pushed ``lead``
    cycles before its first element, and each row must come out in the cycle that the latency says.

    Parameters
    ----------
    bench : Bench
    """

    def __init__(self, bench):
        self._bench, self._dut = bench, bench.dut
        self._config, self._facts = bench.config, bench.facts
        layout = row_layout(bench.config)
        self._element_width = layout["data"].shape.elem_shape.width
        self._data_at, self._keep_at, self._last_at = (layout[name].offset for name in ("data", "keep", "last"))
        self._swaps = ("bias", "scale") if bench.config.epilogue is not None else ()
        self.blocks = []
        self.reset()

    def reset(self):
        """Forget what is under way; the blocks stay."""
        self.progress = 0
        self._next = 0
        self._free = 0
        self._slots = {}  # cycle: (tag, accumulators of all lanes in their own columns)
        self._due = {}  # cycle: (data, keep, last), data with only the valid columns
        self._available = dict.fromkeys(self._swaps, False)
        self._claimed = False

    @property
    def done(self):
        """Whether every block was fed and every row came out."""
        return self._next == len(self.blocks) and not self._due

    def sample(self, cycle):
        """Check the row of this cycle, or that there is none."""
        dut = self._dut
        valid = int(dut.row_valid.value)
        want = self._due.pop(cycle, None)
        assert valid == (want is not None), f"row_valid is {valid} in cycle {cycle}"
        if valid:
            row = int(dut.row_out.value)
            data, keep, last, mask = want
            assert row >> self._keep_at & ((1 << self._config.cols) - 1) == keep, f"keep is wrong in cycle {cycle}"
            assert row >> self._last_at & 1 == last, f"last is wrong in cycle {cycle}"
            got = row >> self._data_at & mask
            assert got == data, f"row is {got:#x} in cycle {cycle}, not {data:#x}"
            self.progress += 1
        for name in self._swaps:
            self._available[name] = bool(getattr(dut, f"{name}_available").value)

    def drive(self, cycle):
        """Start the next block if it may, and feed the elements of this cycle."""
        block = self.blocks[self._next] if self._next < len(self.blocks) else None
        # A claim shows in `available` one cycle later.
        ready = block is not None and cycle >= self._free + block.gap and not self._claimed
        ready = ready and all(self._available[name] or not getattr(block, name) for name in self._swaps)
        self._claimed = ready
        self._dut.push.value = int(ready)
        for name in self._swaps:
            getattr(self._dut, f"{name}_claim").value = int(ready and getattr(block, name))
        if ready:
            self._start(block, cycle)
            self._next += 1
        self._feed(cycle)

    def _start(self, block, cycle):
        config, facts = self._config, self._facts
        mode = {"cols": block.cols - 1}
        if config.epilogue is not None:
            family = config.epilogue.families.index(block.family)
            self._dut.round_mode.value = pack(modes(config)["round_mode"], family=family)
            mode |= {"zp": block.zp, "lo": block.lo, "hi": block.hi}
        self._dut.output_mode.value = pack(modes(config)["output_mode"], **mode)
        begin = cycle + facts["lead"]
        swaps = {f"swap_{name}": getattr(block, name) for name in self._swaps}
        layout, group = element_tag(config), config.group
        use = pack(layout["use"].shape, channel=1) if self._swaps else 0
        for slot in range(config.rows * group):
            row, index = divmod(slot, group)
            start = slot == 0
            tag = {"valid": row < block.rows, "last": row == block.rows - 1, "index": index, "start": start, "use": use}
            word = pack(layout, **tag, **(swaps if start else {}))
            self._slots[begin + slot] = (word, block.acc[row, index::group])
        result = block.result()[: block.rows, : block.cols]
        mask = (1 << (block.cols * self._element_width)) - 1
        for row, values in enumerate(result):
            want = (pack_array(values, self._element_width), (1 << block.cols) - 1, int(row == block.rows - 1), mask)
            self._due[begin + facts["latency"] + row * group] = want
        self._free = cycle + config.tile_period

    def _feed(self, cycle):
        """Lane l is `skew` cycles behind lane l - 1."""
        config, skew = self._config, self._facts["skew"]
        width = config.acc_range.signed_width
        tag, _ = self._slots.get(cycle, (0, None))
        self._dut.tag.value = tag
        acc = []
        for lane in range(config.lanes):
            _, values = self._slots.get(cycle - lane * skew, (0, None))
            acc.append(0x55555555 if values is None else values[lane])
        self._dut.acc.value = pack_array(acc, width)
        self._slots.pop(cycle - config.lanes * skew, None)
