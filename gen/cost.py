"""How many cycles a unit takes for products of given sizes, exactly, where nothing from outside makes it wait.

Three things decide when a tile may end: its operands enter one step a cycle; the epilogue needs the tile period; and
the first tile of each block of columns waits for the block's parameter records. Those are loaded, one a cycle, while
the block before works, but not before that block's first tile has taken its own from the loader. So two swaps are at
least ``Timing.swap_period`` cycles apart, whatever the sizes: this limits products of few rows and a short K.
"""

from dataclasses import dataclass
from functools import lru_cache

from amaranth.hdl import Fragment

from ..rtl.drain import DrainTagger
from ..rtl.engine import Engine
from ..rtl.target import Target
from ..rtl.weight_replay import WeightReplay

__all__ = ["Size", "Timing", "cycles", "sizes_of", "timing"]


@dataclass(frozen=True)
class Size:
    """Size of one product: rows, length of the dot products, columns."""

    m: int
    k: int
    n: int


@dataclass(frozen=True)
class Timing:
    """What the cycles of an engine depend on beside the sizes.

    Parameters
    ----------
    rows, cols, group, tile_period : int
        As in the configuration.
    latency : int
        Cycles from the last operands of a tile to its first finished row.
    swap_period : int or None
        Fewest cycles between the ends of two tiles that swap records in; None where there are no records.
    first_swap : int
        First cycle, after the one that takes the first operand, in which such a tile can end.
    weight_delay : int
        Cycles by which weights lag behind activations on an idle unit.
    """

    rows: int
    cols: int
    group: int
    tile_period: int
    latency: int
    swap_period: int | None
    first_swap: int
    weight_delay: int


@lru_cache(maxsize=32)
def timing(config):
    """The :class:`Timing` of a configuration, from the latencies that its hardware states of itself."""
    engine = Engine(config)
    Fragment.get(engine, Target.portable)  # Amaranth wants every component it made to be used.
    swap_period, first_swap = None, 0
    if config.epilogue is not None:
        epilogue = engine._epilogue
        stages = [epilogue._lanes[0].release_stages[name] for name in ("bias", "scale") if hasattr(epilogue, name)]
        # The tag of the tile reaches the first lane `lead` cycles after its event, which follows the tile's end.
        lead = engine._tag_delay + DrainTagger.LATENCY
        # The lane swaps; then C records come, the set is complete, and the admission sees that two cycles ahead.
        swap_period = lead + max(stages) + config.cols + 4
        first_swap = config.cols + 3
    return Timing(
        rows=config.rows,
        cols=config.cols,
        group=config.group,
        tile_period=config.tile_period,
        latency=engine.latency,
        swap_period=swap_period,
        first_swap=first_swap,
        weight_delay=WeightReplay.LATENCY if config.replay_depth else 0,
    )


def sizes_of(program):
    """The sizes in a :class:`~plusb.gen.lower.Program` or :class:`~plusb.gen.sequence.ProgramSequence`."""
    programs = getattr(program, "programs", (program,))
    return [Size(part.m, part.k, part.n) for part in programs]


def cycles(unit, sizes):
    """Cycles of products that follow each other on an idle unit, when sources never pause and the sink never stalls.

    The count is that of the burst simulation: from the cycle that takes the first operand to the one that gives the
    last row, both included. Products whose epilogue reads side streams of rows or tables are not covered where those,
    and not the operands, come last.

    Parameters
    ----------
    unit : EngineConfig or Timing
    sizes : iterable of Size

    Returns
    -------
    int
    """
    unit = unit if isinstance(unit, Timing) else timing(unit)
    end = 1  # cycle of the last tile's end; the first command's first step is in cycle 2
    swap = None  # of the last swap
    final_rows = 1
    for size in sizes:
        row_tiles, col_tiles = -(-size.m // unit.rows), -(-size.n // unit.cols)
        steps = max(size.k, 3)  # a command that ends a tile takes 3 cycles
        spacing = max(steps, unit.tile_period)
        first = end + max(steps, unit.weight_delay + size.k) if swap is None else end + spacing
        between = row_tiles * spacing
        if unit.swap_period is not None:
            first = max(first, unit.first_swap if swap is None else swap + unit.swap_period)
            between = max(between, unit.swap_period)
        swap = first + (col_tiles - 1) * between
        end = swap + (row_tiles - 1) * spacing
        final_rows = size.m - (row_tiles - 1) * unit.rows
    return end + unit.latency + (final_rows - 1) * unit.group
