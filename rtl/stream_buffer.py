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
        front = Signal.like(self.o.payload, reset_less=True)
        spare = Signal.like(self.o.payload, reset_less=True)
        front_valid = Signal()
        spare_valid = Signal()
        m.d.comb += [self.i.ready.eq(~spare_valid), self.o.valid.eq(front_valid), self.o.payload.eq(front)]
        with m.If(~spare_valid):
            m.d.sync += spare.eq(self.i.payload)
        with m.If(self.o.ready | ~front_valid):
            m.d.sync += [
                front.eq(Mux(spare_valid, spare, self.i.payload)),
                front_valid.eq(spare_valid | self.i.valid),
                spare_valid.eq(0),
            ]
        with m.Else():
            m.d.sync += spare_valid.eq(spare_valid | self.i.valid)
        return m
