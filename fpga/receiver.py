"""The board's ear: finds requests in the received bytes and decides what becomes of them."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .crc import SerialCrc
from .frames import MAX_PAYLOAD, SYNC, Kind, Nak

__all__ = ["FrameReceiver"]

_LENGTH_BITS = MAX_PAYLOAD.bit_length()


class FrameReceiver(wiring.Component):
    """Takes frames apart as they arrive, and judges each at its end.

    The bytes of a ``data`` request go to the streams' buffers at once; ``keep`` or ``drop`` at the frame's end says
    whether they count. A frame that breaks off is given up after ``timeout`` clocks of silence, so that nothing waits
    forever.

    Parameters
    ----------
    streams : int
        Number of streams into the board.
    timeout : int
        Clocks without a byte after which a frame begun is given up; rounded up to a power of two.

    Members
    -------
    i : ``In(stream.Signature(8, always_ready=True))``
        Received bytes; at least 16 clocks apart.
    busy : ``In(1)``
        A response is still being sent. A request that ends meanwhile is dropped, to be sent again by the host.
    data, put : ``Out(8)``, ``Out(streams)``
        A byte, and a 1 for the buffer it is for.
    full : ``In(streams)``
        Buffers without room.
    keep, drop : ``Out(1)``
        The bytes put since the last of these count; are void.
    respond : ``Out(1)``
        For one clock: answer with the following.
    kind, seq, nak : ``Out(8)``
        Of the response; ``nak`` is the reason if the kind is :data:`Kind.nak`.
    fresh : ``Out(1)``
        A ``data`` request that was not executed before.
    want : ``Out(11)``
        Output bytes a ``data`` request asks for.
    hello : ``Out(1)``
        For one clock: a new session.
    crc, timeout, overrun : ``Out(1)``
        For one clock: a damaged frame, a frame that broke off, a byte or a frame that found no room.
    """

    def __init__(self, streams, timeout):
        if timeout < 16:
            raise ValueError(f"timeout must be at least 16 clocks, the distance of two bytes, not {timeout!r}")
        self._streams = streams
        self._timeout = timeout
        super().__init__(
            {
                "i": In(stream.Signature(8, always_ready=True)),
                "busy": In(1),
                "data": Out(8),
                "put": Out(streams),
                "full": In(streams),
                "keep": Out(1),
                "drop": Out(1),
                "respond": Out(1),
                "kind": Out(8),
                "seq": Out(8),
                "nak": Out(8),
                "fresh": Out(1),
                "want": Out(_LENGTH_BITS),
                "hello": Out(1),
                "crc": Out(1),
                "timeout": Out(1),
                "overrun": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.checksum = checksum = SerialCrc()
        byte, arrived = self.i.payload, self.i.valid
        kind = Signal(8)
        length = Signal(_LENGTH_BITS)
        too_long = Signal()
        silence = Signal((self._timeout - 1).bit_length() + 1)
        silent = silence[-1]
        payload = _Payload(self, self._streams, m, kind)

        m.d.comb += [checksum.data.eq(byte), self.data.eq(byte)]
        m.d.sync += silence.eq(silence + 1)
        with m.If(arrived):
            m.d.sync += silence.eq(0)

        position = Signal(2)
        match = Signal()
        judge, broken = Signal(), Signal()
        with m.FSM():
            with m.State("search"):
                m.d.comb += checksum.clear.eq(1)
                m.d.sync += [position.eq(0), silence.eq(0)]
                with m.If(arrived & (byte == SYNC)):
                    m.next = "header"
            with m.State("header"):
                m.d.comb += checksum.put.eq(arrived)
                with m.If(arrived):
                    m.d.sync += position.eq(position + 1)
                    with m.Switch(position):
                        with m.Case(0):
                            m.d.sync += kind.eq(byte)
                        with m.Case(1):
                            m.d.sync += self.seq.eq(byte)
                        with m.Case(2):
                            m.d.sync += length[:8].eq(byte)
                        with m.Case(3):
                            m.d.sync += length[8:].eq(byte)
                            m.d.sync += too_long.eq(byte[_LENGTH_BITS - 8 :].any())
                            m.next = "check"
                with m.Elif(silent):
                    m.next = "search"
            with m.State("check"):
                payload.start()
                m.d.sync += match.eq(1)
                with m.If(arrived):
                    with m.If((byte != checksum.value[:8]) | too_long):
                        m.next = "search"
                    with m.Elif(length == 0):
                        m.next = "crc"
                    with m.Else():
                        m.next = "payload"
                with m.Elif(silent):
                    m.next = "search"
            with m.State("payload"):
                m.d.comb += checksum.put.eq(arrived)
                with m.If(arrived):
                    payload.take(byte, last=length == 1)
                    m.d.sync += length.eq(length - 1)
                    with m.If(length == 1):
                        m.next = "crc"
                with m.Elif(silent):
                    m.d.comb += broken.eq(1)
                    m.next = "search"
            with m.State("crc"):
                with m.If(arrived):
                    m.d.sync += position.eq(position + 1)
                    with m.If(byte != checksum.value.word_select(position, 8)):
                        m.d.sync += match.eq(0)
                    with m.If(position == 3):
                        m.next = "judge"
                with m.Elif(silent):
                    m.d.comb += broken.eq(1)
                    m.next = "search"
            with m.State("judge"):
                m.d.comb += judge.eq(1)
                m.next = "search"

        self._judge(m, kind, payload, match, judge, broken)
        return m

    def _judge(self, m, kind, payload, match, judge, broken):
        """What becomes of a frame at its end."""
        session = Signal()
        last = Signal(8)
        m.d.comb += [self.kind.eq(Kind.nak), self.nak.eq(Nak.malformed)]
        with m.If(broken | judge):
            m.d.comb += [self.drop.eq(~self.keep), self.respond.eq(~self.busy)]
        with m.If(broken):
            m.d.comb += [self.nak.eq(Nak.timeout), self.timeout.eq(1)]
        with m.Elif(judge & ~match):
            m.d.comb += [self.nak.eq(Nak.crc), self.crc.eq(1)]
        with m.Elif(judge & self.busy):
            m.d.comb += self.overrun.eq(1)
        with m.Elif(judge):
            with m.Switch(kind):
                with m.Case(Kind.hello):
                    m.d.comb += [self.kind.eq(kind), self.hello.eq(1)]
                    m.d.sync += [session.eq(1), last.eq(self.seq)]
                with m.Case(Kind.identify):
                    m.d.comb += self.kind.eq(kind)
                with m.Case(Kind.data):
                    with m.If(session & (self.seq == last)):
                        m.d.comb += self.kind.eq(kind)
                    with m.Elif(~session | (self.seq != (last + 1)[:8])):
                        m.d.comb += self.nak.eq(Nak.sequence)
                    with m.Elif(payload.overrun):
                        m.d.comb += [self.nak.eq(Nak.overrun), self.overrun.eq(1)]
                    with m.Elif(~payload.malformed):
                        m.d.comb += [self.kind.eq(kind), self.fresh.eq(1), self.keep.eq(1)]
                        m.d.sync += last.eq(self.seq)


class _Payload:
    """The fields of a ``data`` request."""

    WANT_LOW, WANT_HIGH, STREAM, LENGTH_LOW, LENGTH_HIGH, DATA = range(6)

    def __init__(self, receiver, streams, m, kind):
        self._m = m
        self._streams = streams
        self._receiver = receiver
        self._is_data = kind == Kind.data
        self._field = Signal(range(6))
        self._stream = Signal(range(streams))
        self._left = Signal(_LENGTH_BITS)
        self.malformed = Signal()
        self.overrun = Signal()

    def start(self):
        """A payload is about to begin."""
        self._m.d.sync += [self._field.eq(self.WANT_LOW), self.malformed.eq(1), self.overrun.eq(0)]

    def take(self, byte, last):
        """One more byte of it; ``last`` if no more follow."""
        m, receiver = self._m, self._receiver
        high = Cat(self._left[:8], byte[: _LENGTH_BITS - 8])
        excess = byte[_LENGTH_BITS - 8 :].any()
        # The payload may end here: after the wanted count or a whole segment.
        whole = Signal()
        with m.Switch(self._field):
            with m.Case(self.WANT_LOW):
                m.d.sync += [receiver.want[:8].eq(byte), self.malformed.eq(0), self._field.eq(self.WANT_HIGH)]
            with m.Case(self.WANT_HIGH):
                m.d.comb += whole.eq(1)
                m.d.sync += [receiver.want[8:].eq(byte), self._field.eq(self.STREAM)]
                with m.If(excess):
                    m.d.sync += self.malformed.eq(1)
            with m.Case(self.STREAM):
                m.d.sync += [self._stream.eq(byte), self._field.eq(self.LENGTH_LOW)]
                with m.If(byte >= self._streams):
                    m.d.sync += self.malformed.eq(1)
            with m.Case(self.LENGTH_LOW):
                m.d.sync += [self._left.eq(byte), self._field.eq(self.LENGTH_HIGH)]
            with m.Case(self.LENGTH_HIGH):
                m.d.comb += whole.eq(high == 0)
                m.d.sync += [self._left.eq(high), self._field.eq(self.DATA)]
                with m.If(high == 0):
                    m.d.sync += self._field.eq(self.STREAM)
                with m.If(excess):
                    m.d.sync += self.malformed.eq(1)
            with m.Case(self.DATA):
                m.d.comb += whole.eq(self._left == 1)
                m.d.sync += self._left.eq(self._left - 1)
                with m.If(self._left == 1):
                    m.d.sync += self._field.eq(self.STREAM)
                for number in range(self._streams):
                    with m.If(self._is_data & (self._stream == number)):
                        m.d.comb += receiver.put[number].eq(1)
                        with m.If(receiver.full[number]):
                            m.d.sync += self.overrun.eq(1)
        with m.If(last & ~whole):
            m.d.sync += self.malformed.eq(1)
