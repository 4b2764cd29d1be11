"""The committed figures of finished builds: one record a board and configuration, written by the builds themselves."""

import sys
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from .boards import BOARDS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["PATH", "Figures", "load", "record"]

#: Where the figures are.
PATH = Path(__file__).with_name("figures.toml")

_HEADER = """\
# Measured figures of the bitstreams, each by the command that stands beside it. Do not edit: run the command, which
# replaces its record. LUTs are as the device counts them, carry chains and distributed memory included.

"""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What one build came to.

    Parameters
    ----------
    board, config : str
    command : str
        That builds and measures it.
    macs : int
        Multiply-accumulates a clock, ``R * C``.
    luts, ffs, dsps, brams : int
    freq_mhz, fmax_mhz : float
        Clock it was built for, and what the engine's reaches.
    gops : float
        ``2 * R * C`` operations at ``freq_mhz``.
    tools : tuple of str
    """

    board: str
    config: str
    command: str
    macs: int
    luts: int
    ffs: int
    dsps: int
    brams: int
    freq_mhz: float
    fmax_mhz: float
    gops: float
    tools: tuple = ()

    @classmethod
    def of(cls, result, name, config, command):
        """The figures of a :class:`~plusb.fpga.report.BuildResult` of configuration ``config``, called ``name``."""
        macs = config.rows * config.cols
        return cls(
            board=result.board,
            config=name,
            command=command,
            macs=macs,
            luts=result.luts,
            ffs=result.ffs,
            dsps=result.dsps,
            brams=result.brams,
            freq_mhz=round(result.freq_mhz, 3),
            fmax_mhz=round(result.fmax_mhz, 1),
            gops=round(2 * macs * result.freq_mhz / 1000, 3),
            tools=tuple(sorted(set(result.tools))),
        )

    def cells(self):
        """Fields for a table, resources with their share of the device."""
        device = BOARDS[self.board].device

        def share(used, available):
            return f"{used} ({used / available:.0%})" if available else f"{used}"

        return [
            self.board,
            self.config,
            f"{self.macs}",
            share(self.luts, device.luts),
            f"{self.ffs}",
            share(self.dsps, device.dsps),
            share(self.brams, device.brams),
            f"{self.fmax_mhz:.1f}",
            f"{self.freq_mhz:g}",
            f"{self.gops:.3f}",
        ]

    #: Of :meth:`cells`.
    HEADINGS = ("board", "config", "MACs/cycle", "LUTs", "FFs", "DSPs", "BRAMs", "Fmax MHz", "clock MHz", "GOPS")


def load(path=PATH):
    """The records of a file by board and configuration; none if there is no file."""
    if not path.exists():
        return {}
    records = tomllib.loads(path.read_text(encoding="utf-8"))["build"]
    figures = [Figures(**{**record, "tools": tuple(record["tools"])}) for record in records]
    return {(entry.board, entry.config): entry for entry in figures}


def record(figures, path=PATH):
    """Put a record into a file, in the place of an older one of the same board and configuration."""
    records = load(path) | {(figures.board, figures.config): figures}
    order = list(BOARDS)
    entries = sorted(records.values(), key=lambda entry: (order.index(entry.board), entry.macs, entry.config))
    values = [{**vars(entry), "tools": list(entry.tools)} for entry in entries]
    path.write_text(_HEADER + tomli_w.dumps({"build": values}), encoding="utf-8")
