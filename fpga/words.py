"""Between the bytes of the wire and the words of a stream."""

from amaranth.hdl import Cat, Module, Shape, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["BytesToWords", "WordsToBytes", "bytes_of"]


def bytes_of(shape):
    """Whole bytes a value of ``shape`` takes."""
    return max(1, -(-Shape.cast(shape).width // 8))


class BytesToWords(wiring.Component):
    """Collects bytes, least significant first, into words.

    Parameters
    ----------
    shape : ShapeLike
        Payload of the word stream; bits of the last byte beyond it are ignored.

    Members
    -------
    i : ``In(stream.Signature(8))``
    o : ``Out(stream.Signature(shape))``
    """

    def __init__(self, shape):
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(shape))})
        self._count = bytes_of(shape)

    def elaborate(self, platform):
        m = Module()
        word = Signal(8 * self._count, reset_less=True)
        have = Signal(range(self._count))
        m.d.comb += [
            Value.cast(self.o.payload).eq(word),
            self.i.ready.eq(~self.o.valid | self.o.ready),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += word.eq(Cat(word[8:], self.i.payload))
            with m.If(have == self._count - 1):
                m.d.sync += [have.eq(0), self.o.valid.eq(1)]
            with m.Else():
                m.d.sync += have.eq(have + 1)
        return m


class WordsToBytes(wiring.Component):
    """Takes words apart into bytes, least significant first.

    Parameters
    ----------
    shape : ShapeLike
        Payload of the word stream; bits of the last byte beyond it are zero.

    Members
    -------
    i : ``In(stream.Signature(shape))``
    o : ``Out(stream.Signature(8))``
    """

    def __init__(self, shape):
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(8))})
        self._count = bytes_of(shape)

    def elaborate(self, platform):
        m = Module()
        word = Signal(8 * self._count, reset_less=True)
        left = Signal(range(self._count + 1))
        m.d.comb += [
            self.o.payload.eq(word[:8]),
            self.o.valid.eq(left != 0),
            self.i.ready.eq((left == 0) | ((left == 1) & self.o.ready)),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [word.eq(word >> 8), left.eq(left - 1)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [word.eq(self.i.payload), left.eq(self._count)]
        return m
