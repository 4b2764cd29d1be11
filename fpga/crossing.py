"""Streams between the clock of the serial line and that of the engine."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["Crossing"]


class Crossing(wiring.Component):
    """Hands single words from one clock domain to another.

    The word itself is not stored: a stream's payload stands still until it is accepted, and it is accepted only when
    the other side has taken it. Both domains must be reset together.

    Parameters
    ----------
    shape : ShapeLike
        Payload of the streams.
    i_domain, o_domain : str

    Members
    -------
    i : ``In(stream.Signature(shape))``
    o : ``Out(stream.Signature(shape))``

    Throughput
    ----------
    One word in 3 clocks of each domain and 2 of the input's.
    """

    def __init__(self, shape, *, i_domain, o_domain):
        self._i_domain = i_domain
        self._o_domain = o_domain
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        sent, taken = Signal(), Signal()  # toggle with each word
        seen_sent, seen_taken = Signal(), Signal()
        waiting = Signal()
        # Without a reset of their own they would show a toggle of before it.
        m.submodules.sent = FFSynchronizer(sent, seen_sent, o_domain=self._o_domain, reset_less=False)
        m.submodules.taken = FFSynchronizer(taken, seen_taken, o_domain=self._i_domain, reset_less=False)

        m.d.comb += self.i.ready.eq(waiting & (seen_taken == sent))
        with m.If(self.i.ready):
            m.d[self._i_domain] += waiting.eq(0)
        with m.Elif(self.i.valid & ~waiting):
            m.d[self._i_domain] += [waiting.eq(1), sent.eq(~sent)]

        m.d.comb += [self.o.valid.eq(seen_sent != taken), self.o.payload.eq(self.i.payload)]
        with m.If(self.o.valid & self.o.ready):
            m.d[self._o_domain] += taken.eq(~taken)
        return m
