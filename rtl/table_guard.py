"""The table guard: keeps tiles from tables that are not complete, and writes from tables that tiles use."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .fields import layout

__all__ = ["TableGuard"]


class TableGuard(wiring.Component):
    """Passes writes on and tells which banks are complete.

    A bank is complete once its last address has been written, until its first address is written again. Writes to a
    bank wait while tiles that claimed it are on their way.

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
    claim, release : ``In(banks)``, a tile that uses the bank is on its way; it is through

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
                "release": In(banks),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word = Signal.like(self.word, name="held_word", reset_less=True)
        valid = Signal(name="held_valid")
        accepted = Signal()
        bank = word_bank = Const(0)
        if self._banks > 1:
            bank, word_bank = self.i.payload.bank, word.bank
        free = Signal(self._banks)
        m.d.comb += [
            self.i.ready.eq(free.bit_select(bank, 1)),
            accepted.eq(self.i.ready & self.i.valid),
            self.word.eq(word),
            self.valid.eq(valid),
        ]
        m.d.sync += [word.eq(self.i.payload), valid.eq(accepted)]
        complete = Signal(self._banks)
        m.d.comb += self.ready.eq(complete)
        for index in range(self._banks):
            users = Signal(range(self._tiles + 1), name=f"users_{index}")
            m.d.sync += users.eq(users + self.claim[index] - self.release[index])
            m.d.comb += free[index].eq((users == 0) & ~self.claim[index])
            # A bank whose first word is on its way must not be claimed any more.
            with m.If(accepted & (bank == index) & (self.i.payload.address == 0)):
                m.d.sync += complete[index].eq(0)
            with m.Elif(valid & (word_bank == index) & (word.address == self._depth - 1)):
                m.d.sync += complete[index].eq(1)
        return m
