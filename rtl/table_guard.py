"""The table guard: keeps tiles from tables that are not complete, and writes from tables that tiles use."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .fields import layout

__all__ = ["TableGuard"]


class TableGuard(wiring.Component):
    """Passes writes on and tells which banks are complete.

    A bank is complete once its last address has been written, until a tile has claimed it for the last time and is
    through. While it is complete, writes to it wait; while it is not, tiles do. So the streams of commands and writes
    need no other order, and a bank can be loaded while tiles use another.

    Parameters
    ----------
    fields : sequence of Field
        Of a write: ``address`` and ``value``, and ``bank`` where there is more than one.
    banks, depth : int
        Number of banks and words of each.
    tiles : int
        Most tiles on their way.

    Members
    -------
    i : In, stream of writes
    word, valid : Out, the write, for the tables
    ready : ``Out(banks)``, complete banks
    claim, free : ``In(banks)``, a tile that uses the bank is on its way; it is the last one (only with ``claim``)
    release : ``In(banks)``, a tile that uses the bank is through

    Latency
    -------
    1 cycle, one write a cycle.
    """

    def __init__(self, fields, *, banks, depth, tiles):
        self._banks, self._depth, self._tiles = banks, depth, tiles
        super().__init__(
            {
                "i": In(stream.Signature(layout(fields))),
                "word": Out(layout(fields)),
                "valid": Out(1),
                "ready": Out(banks),
                "claim": In(banks),
                "free": In(banks),
                "release": In(banks),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word = Signal.like(self.word, name="held_word", reset_less=True)
        valid = Signal(name="held_valid")
        accepted = Signal()
        complete, leaving = Signal(self._banks), Signal(self._banks)
        bank = self.i.payload.bank if self._banks > 1 else Const(0)
        m.d.comb += [
            self.i.ready.eq(~complete.bit_select(bank, 1)),
            accepted.eq(self.i.ready & self.i.valid),
            self.word.eq(word),
            self.valid.eq(valid),
            self.ready.eq(complete & ~leaving),
        ]
        m.d.sync += [word.eq(self.i.payload), valid.eq(accepted)]
        for index in range(self._banks):
            users = Signal(range(self._tiles + 1), name=f"users_{index}")
            m.d.sync += users.eq(users + self.claim[index] - self.release[index])
            with m.If(self.free[index]):
                m.d.sync += leaving[index].eq(1)
            with m.Elif(leaving[index] & (users == 0)):
                m.d.sync += [leaving[index].eq(0), complete[index].eq(0)]
            with m.If(accepted & (bank == index) & (self.i.payload.address == self._depth - 1)):
                m.d.sync += complete[index].eq(1)
        return m
