"""A register slice: cuts every combinational path of a stream without costing throughput."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamBuffer"]


class StreamBuffer(wiring.Component):
    """Two words of buffer between two streams; neither ``ready`` nor ``valid`` passes combinationally.

    Parameters
    ----------
    shape : ShapeLike
        Of the payload.

    Members
    -------
    i, o : ``In(stream.Signature(shape))``, ``Out(stream.Signature(shape))``

    Latency
    -------
    1 cycle, one word a cycle.
    """

    def __init__(self, shape):
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        words = [Signal.like(self.o.payload, name=f"word_{index}", reset_less=True) for index in range(2)]
        write, read = Signal(), Signal()
        some, full = Signal(), Signal()
        put, take = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~full),
            self.o.valid.eq(some),
            self.o.payload.eq(Mux(read, words[1], words[0])),
            put.eq(self.i.valid & ~full),
            take.eq(self.o.ready & some),
        ]
        # Neither handshake has a say in what the words hold, or it would have to reach every bit of them in time.
        with m.If(~full):
            for index, word in enumerate(words):
                with m.If(write == index):
                    m.d.sync += word.eq(self.i.payload)
        m.d.sync += [write.eq(write ^ put), read.eq(read ^ take)]
        with m.If(put & ~take):
            m.d.sync += [some.eq(1), full.eq(some)]
        with m.Elif(take & ~put):
            m.d.sync += [some.eq(full), full.eq(0)]
        return m
