"""Admission: when a tile may send its sums to the epilogue."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .formats import command_layout

__all__ = ["Admission", "row_terms"]


def row_terms(config, stream, *, engine):
    """The terms for which a tile takes the rows of a side stream."""
    if stream == "aux":
        return ("tile", "residual")
    terms = ("row", "relative", "row_zero_point")
    return terms if engine else (*terms, "weight_zero_point")


class Admission(wiring.Component):
    """Tells, a cycle ahead, whether the tile of a command may end.

    It may, once

    * ``period`` cycles have passed since the last tile ended (the epilogue's lanes are free),
    * the output buffers have room for all it can bring (so nothing behind it ever has to stop), and
    * the records it swaps in, the tables it uses and the rows of the side streams it adds are there.

    Parameters
    ----------
    config : EngineConfig
    period : int
        Fewest cycles between the ends of two tiles, 3 or more.
    room : int
        Rows that the output buffer holds.
    streams : iterable of str
        Side streams that are built, of ``bias, scale, row, aux, table, lut``.
    feed_depth : int
        Rows that the side streams' feeds hold.
    engine : bool
        Whether commands are an engine's, and row sums come from an array.

    Members
    -------
    command : In, the command whose tile is to end
    loaded : ``In(1)``, the next cycle has a new command
    end : ``In(1)``, the command's tile ends
    row_taken, statistics_taken : ``In(1)``, a row or a tile's statistics have left the output buffers
    bias_available, scale_available : In; bias_claim, scale_claim : Out
    table_ready, lut_ready : In; table_claim, table_free, lut_claim, lut_free : Out
    row_count, aux_count : In; row_claim, aux_claim : Out
    may_end : ``Out(1)``, the tile of this cycle's command may end in the next one

    Latency
    -------
    2 cycles from a new command, or from anything it waits for, to ``may_end``; so few gates decide on a step.
    """

    def __init__(self, config, *, period, room, streams, feed_depth, engine=True):
        self._config, self._period, self._room, self._engine = config, period, room, engine
        self._records = [name for name in ("bias", "scale") if name in streams]
        self._banks = {"table": 1, "lut": config.epilogue.lut_banks} if config.epilogue else {}
        self._banks = {name: count for name, count in self._banks.items() if name in streams}
        self._feeds = [name for name in ("row", "aux") if name in streams]
        members = {
            "command": In(command_layout(config, engine=engine)),
            "loaded": In(1),
            "end": In(1),
            "row_taken": In(1),
            "statistics_taken": In(1),
            "may_end": Out(1),
        }
        for name in self._records:
            members |= {f"{name}_available": In(1), f"{name}_claim": Out(1)}
        for name, banks in self._banks.items():
            members |= {f"{name}_ready": In(banks), f"{name}_claim": Out(banks), f"{name}_free": Out(banks)}
        for name in self._feeds:
            members |= {f"{name}_count": In(range(feed_depth + 1)), f"{name}_claim": Out(range(config.rows + 1))}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        config, command = self._config, self.command
        wait = Signal(range(self._period))
        rested = Signal()
        m.d.sync += rested.eq((wait == 0) & ~self.end & ~self.loaded)
        with m.If(self.end):
            m.d.sync += wait.eq(self._period - 3)
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)

        rows = Signal(range(config.rows + 1))
        room = Signal(range(self._room + 1), init=self._room)
        m.d.comb += rows.eq(command.rows + 1)
        # What changed is added a cycle later, which shortens a path; meanwhile a tile that ended counts as a whole one.
        change, ended = Signal(range(-config.rows, 2)), Signal()
        m.d.sync += [change.eq(self.row_taken - Mux(self.end, rows, 0)), ended.eq(self.end), room.eq(room + change)]
        conditions = [Mux(ended, room >= 2 * config.rows, room >= config.rows)]
        if config.epilogue is not None and config.epilogue.statistics:
            tiles = Signal(range(self._room + 1), init=self._room)
            m.d.sync += tiles.eq(tiles - self.end + self.statistics_taken)
            conditions.append(tiles != 0)

        for name in self._records:
            swap = getattr(command, f"swap_{name}")
            m.d.comb += getattr(self, f"{name}_claim").eq(self.end & swap)
            conditions.append(~swap | getattr(self, f"{name}_available"))
        for name, banks in self._banks.items():
            used, bank = (command.use_relative, 0) if name == "table" else (command.use_lut, command.lut_bank)
            wanted = Signal(banks, name=f"{name}_wanted")
            m.d.comb += [
                wanted.eq(Mux(used, Const(1) << bank, 0)),
                getattr(self, f"{name}_claim").eq(Mux(self.end, wanted, 0)),
                getattr(self, f"{name}_free").eq(Mux(self.end & command[f"free_{name}"], wanted, 0)),
            ]
            conditions.append((wanted & ~getattr(self, f"{name}_ready")) == 0)
        for name in self._feeds:
            terms = row_terms(config, name, engine=self._engine)
            names = [f"use_{term}" for term in terms if f"use_{term}" in command.shape().members]
            used = Cat(command[member] for member in names).any()
            m.d.comb += getattr(self, f"{name}_claim").eq(Mux(self.end & used, rows, 0))
            conditions.append(~used | (getattr(self, f"{name}_count") >= rows))
        met = Signal()
        m.d.sync += met.eq(Cat(conditions).all())
        m.d.comb += self.may_end.eq(met & rested)
        return m
