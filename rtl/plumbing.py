"""Connections that the engine and the stand-alone epilogue have in common."""

from amaranth import *
from amaranth.lib import wiring

from .row_buffer import RowBuffer
from .statistics import TileStatistics
from .tags import modes

__all__ = ["connect_admission", "connect_modes", "connect_output"]


def connect_admission(m, admission, epilogue):
    """What the admission asks of, and claims from, the epilogue's loaders and feeds."""
    for name in admission.signature.members:
        if name.endswith(("_available", "_count", "_ready")):
            m.d.comb += getattr(admission, name).eq(getattr(epilogue, name))
        elif name.endswith(("_claim", "_free")):
            m.d.comb += getattr(epilogue, name).eq(getattr(admission, name))


def connect_modes(m, config, command, epilogue):
    """The modes in a tile's command."""
    for mode, layout in modes(config).items():
        m.d.comb += [getattr(epilogue, mode)[name].eq(command[name]) for name in layout.members]


def connect_output(m, unit, epilogue, admission, depth):
    """Buffers for rows and, where they are built, statistics, which give their room back to the admission."""
    buffers = [("out", epilogue.row_out, epilogue.row_valid, admission.row_taken)]
    if hasattr(unit, "statistics"):
        m.submodules.tile_statistics = statistics = TileStatistics(unit.config)
        m.d.comb += [
            statistics.row.eq(epilogue.row_out),
            statistics.saturated.eq(epilogue.saturated),
            statistics.valid.eq(epilogue.row_valid),
        ]
        buffers.append(("statistics", statistics.o, statistics.o_valid, admission.statistics_taken))
    for name, word, valid, taken in buffers:
        port = getattr(unit, name)
        m.submodules[f"{name}_buffer"] = buffer = RowBuffer(word.shape(), depth)
        m.d.comb += [buffer.row.eq(word), buffer.valid.eq(valid)]
        # Room is given back a cycle late, which shortens a path and only makes the admission more careful.
        returned = Signal(name=f"{name}_returned")
        m.d.sync += returned.eq(port.valid & port.ready)
        m.d.comb += taken.eq(returned)
        wiring.connect(m, buffer.o, wiring.flipped(port))
