"""What a build came to, read from the tools' own reports."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from .boards import BOARDS
from .clocking import CLOCK_NETS

__all__ = ["BuildResult", "Clock", "explain_overflow", "figures", "read_clocks", "read_stat", "read_utilization"]

# nextpnr's cell types behind each of the figures, by family.
_FIGURES = {
    "ice40": {"luts": ("ICESTORM_LC",), "dsps": ("ICESTORM_DSP",), "brams": ("ICESTORM_RAM",)},
    "ecp5": {"luts": ("TRELLIS_COMB",), "dsps": ("MULT18X18D",), "brams": ("DP16KD",)},
    "gowin": {
        "luts": ("LUT4", "ALU"),
        "dsps": ("MULT9X9", "MULT18X18", "MULTALU18X18", "MULTADDALU18X18", "MULT36X36"),
        "brams": ("BSRAM",),
    },
}
_FLIP_FLOPS = re.compile(r"(SB_DFF|TRELLIS_FF|DFF)")
_WORDS = {"luts": "LUTs", "dsps": "DSPs", "brams": "block RAMs"}
# Placement and routing fail on a device much fuller than this.
_COMFORTABLE = 0.85


@dataclass(frozen=True)
class Clock:
    """Timing of one clock domain, in MHz."""

    achieved: float
    wanted: float

    @property
    def is_met(self):
        """Whether the design runs at the clock it was built for."""
        return self.achieved >= self.wanted


@dataclass(frozen=True, kw_only=True)
class BuildResult:
    """A build's figures.

    Parameters
    ----------
    board, top : str
    seed : int
    freq_mhz : float
        Clock the engine runs at.
    luts : int
        Look-up tables as the device counts them, carry chains and distributed memory included (iCE40: logic cells).
    ffs, dsps, brams : int
    utilization : dict of str to (int, int)
        nextpnr's cell types: used and available.
    cells : dict of str to int
        Yosys' cell types.
    clocks : dict of str to Clock
    tools : tuple of str
    seconds : dict of str to float
        Time each step took.
    bitstream, placed_svg : Path
    """

    board: str
    top: str
    seed: int
    freq_mhz: float
    luts: int
    ffs: int
    dsps: int
    brams: int
    utilization: dict
    cells: dict
    clocks: dict
    tools: tuple
    seconds: dict
    bitstream: Path
    placed_svg: Path

    @property
    def fmax_mhz(self):
        """What the slowest clock built for the engine's frequency reaches."""
        return min(clock.achieved for clock in self.clocks.values() if clock.wanted == self.freq_mhz)

    def to_json(self):
        """The figures as JSON text."""
        return json.dumps(asdict(self), indent=2, default=str)


def read_stat(path):
    """Cell counts from the file that ``tee stat -json`` wrote."""
    text = path.read_text()
    return json.loads(text[text.index("{") :])["design"]["num_cells_by_type"]


def read_clocks(report, wanted):
    """Clock domains in nextpnr's report.

    Parameters
    ----------
    report : dict
    wanted : dict of str to float
        MHz that the ``crystal`` and the ``engine`` need; any other clock needs what nextpnr was told.
    """
    clocks = {}
    for net, fmax in report["fmax"].items():
        name = next((name for name, nets in CLOCK_NETS.items() if any(part in net for part in nets)), net)
        clocks[name] = Clock(fmax["achieved"], wanted.get(name, fmax["constraint"]))
    return clocks


def read_utilization(report):
    """Used and available cells in nextpnr's report, those used only."""
    return {name: (cell["used"], cell["available"]) for name, cell in report["utilization"].items() if cell["used"]}


def figures(family, utilization, cells):
    """Keyword arguments ``luts``, ``ffs``, ``dsps`` and ``brams`` of :class:`BuildResult`."""
    used = {
        figure: sum(utilization.get(name, (0, 0))[0] for name in names) for figure, names in _FIGURES[family].items()
    }
    return {**used, "ffs": sum(count for name, count in cells.items() if _FLIP_FLOPS.match(name))}


def explain_overflow(device, log):
    """One line on what does not fit and where it would, from nextpnr's log; None if everything fits."""
    found = {
        name: (int(used), int(available))
        for name, used, available in re.findall(r"(\w+):\s+(\d+)/\s*(\d+)\s+\d+%", log)
    }
    over = {name: amounts for name, amounts in found.items() if amounts[0] > amounts[1]}
    if not over:
        return None
    need = {
        figure: sum(found.get(name, (0, 0))[0] for name in names) for figure, names in _FIGURES[device.family].items()
    }
    parts = []
    for name, (used, available) in over.items():
        figure = next((f for f, names in _FIGURES[device.family].items() if name in names), None)
        parts.append(f"{used} of {available} {_WORDS.get(figure, name)}")
    fits = [
        board.name
        for board in BOARDS.values()
        if all(
            amount <= getattr(board.device, figure) * (_COMFORTABLE if figure == "luts" else 1)
            for figure, amount in need.items()
        )
    ]
    return f"the design does not fit the {device.name}: it needs {', '.join(parts)}; " + (
        f"it would fit {', '.join(fits)}" if fits else "no supported board is large enough"
    )
