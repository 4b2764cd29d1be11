"""Byte buffers whose two ends can each be taken back."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..rtl.target import UNUSED_COLLISIONS

__all__ = ["Ring"]


class Ring(wiring.Component):
    """A byte FIFO that can forget what was written, and repeat what was read.

    Written bytes are seen by the reader only once kept, so that a frame's bytes can go straight here and be dropped if
    the frame turns out damaged. Read bytes are overwritten only once released, so that a response that was lost can be
    made again.

    Parameters
    ----------
    depth : int
        Capacity in bytes; a power of two, at most 32768 (counts are 16 bits modulo twice the depth at least).
    droppable : bool
        Whether writes wait for ``keep``; otherwise they count at once, and ``keep`` and ``drop`` do nothing.
    repeatable : bool
        Whether reads wait for ``release``; otherwise their space is free at once, and ``release`` and ``rewind`` do
        nothing.

    Members
    -------
    i : ``In(stream.Signature(8))``
        Not ready when full.
    keep, drop : ``In(1)``
        Show all bytes written so far to the reader; forget those not kept. A byte written in the same clock is in
        neither.
    o : ``Out(stream.Signature(8))``
        Kept bytes, in order.
    release, rewind : ``In(1)``
        Give the space of all bytes read so far back; read again those not released.
    level : ``Out(range(depth + 1))``
        Bytes kept and not released.
    taken : ``Out(16)``
        Bytes whose space was given back since reset, modulo ``2 * depth``.

    Latency
    -------
    2 clocks from ``keep`` to ``o.valid``.

    Throughput
    ----------
    One byte a clock each way.
    """

    def __init__(self, depth, *, droppable=False, repeatable=False):
        if depth < 4 or depth > 32768 or depth & (depth - 1):
            raise ValueError(f"depth must be a power of two in 4..32768, not {depth!r}")
        self._depth = depth
        self._droppable = droppable
        self._repeatable = repeatable
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "keep": In(1),
                "drop": In(1),
                "o": Out(stream.Signature(8)),
                "release": In(1),
                "rewind": In(1),
                "level": Out(range(depth + 1)),
                "taken": Out(range(2 * depth)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # No byte is written while it is read.
        m.submodules.memory = memory = Memory(shape=8, depth=self._depth, init=[], attrs=UNUSED_COLLISIONS)
        write = memory.write_port()
        read = memory.read_port()
        # One bit more than an address: full and empty differ.
        written = Signal(range(2 * self._depth))
        fetched = Signal.like(written)
        kept = Signal.like(written) if self._droppable else written
        released = Signal.like(written) if self._repeatable else fetched
        address_bits = len(written) - 1

        m.d.comb += [
            self.i.ready.eq(written != released ^ self._depth),
            write.addr.eq(written[:address_bits]),
            write.data.eq(self.i.payload),
            write.en.eq(self.i.valid & self.i.ready),
            self.level.eq((kept - released)[: len(written)]),
            self.taken.eq(released),
        ]
        with m.If(write.en):
            m.d.sync += written.eq(written + 1)
        if self._droppable:
            with m.If(self.keep):
                m.d.sync += kept.eq(written)
            with m.If(self.drop):
                m.d.sync += written.eq(kept)

        fetch = Signal()
        m.d.comb += [
            fetch.eq((kept != fetched) & (~self.o.valid | self.o.ready)),
            read.en.eq(fetch),
            read.addr.eq(fetched[:address_bits]),
            self.o.payload.eq(read.data),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(fetch):
            m.d.sync += [fetched.eq(fetched + 1), self.o.valid.eq(1)]
        if self._repeatable:
            consumed = Signal.like(written)  # without the byte that stands on the output
            m.d.comb += consumed.eq(fetched - (self.o.valid & ~self.o.ready))
            with m.If(self.release):
                m.d.sync += released.eq(consumed)
            with m.If(self.rewind):
                m.d.sync += [fetched.eq(released), self.o.valid.eq(0)]
        return m
