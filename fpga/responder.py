"""The board's voice: sends one response for each request."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .crc import SerialCrc
from .frames import MAX_PAYLOAD, SYNC, Kind

__all__ = ["DEPTH_MAX", "Responder"]

_LENGTH_BITS = MAX_PAYLOAD.bit_length()
# All of a full output buffer fits one response.
DEPTH_MAX = 1024


class Responder(wiring.Component):
    """Sends identifications, refusals and data.

    Parameters
    ----------
    identity : bytes
        Payload of an identification.
    streams : int
        Number of streams into the board.
    depth : int
        Capacity of the output buffer, at most :data:`DEPTH_MAX`.

    Members
    -------
    start : ``In(1)``
        Send the response described by the following; ignored while ``busy``.
    kind, seq, nak : ``In(8)``
        As in the frame.
    fresh : ``In(1)``
        The bytes of the last ``data`` response arrived; otherwise that response is made again.
    want : ``In(11)``
        Upper bound of the bytes to send.
    status : ``In(16)``
        First two bytes of a ``data`` response.
    taken : ``In(16)`` for each stream
        The counts that follow it.
    level : ``In(range(depth + 1))``
        Bytes in the output buffer.
    i : ``In(stream.Signature(8))``
        The output buffer's bytes.
    release, rewind : ``Out(1)``
        To the output buffer: what was read arrived; is to be read again.
    o : ``Out(stream.Signature(8))``
        Bytes to the UART.
    busy : ``Out(1)``
        A response is being sent.
    """

    def __init__(self, identity, streams, depth):
        if depth > DEPTH_MAX:
            raise ValueError(f"depth must be at most {DEPTH_MAX}, so that one response holds it all, not {depth!r}")
        self._identity = identity
        # Status and counts precede the data of a response.
        self._prefix = 2 + 2 * streams
        super().__init__(
            {
                "start": In(1),
                "kind": In(8),
                "seq": In(8),
                "nak": In(8),
                "fresh": In(1),
                "want": In(_LENGTH_BITS),
                "status": In(16),
                "taken": In(16).array(streams),
                "level": In(range(depth + 1)),
                "i": In(stream.Signature(8)),
                "release": Out(1),
                "rewind": Out(1),
                "o": Out(stream.Signature(8)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.checksum = checksum = SerialCrc()
        m.submodules.identity = memory = Memory(
            shape=8, depth=len(self._identity), init=list(self._identity), attrs={"rom_style": "block"}
        )
        identity = memory.read_port()

        kind, seq, nak = Signal(8), Signal(8), Signal(8)
        fresh = Signal()
        count = Signal(_LENGTH_BITS)  # output bytes in the last data response, for when it is made again
        length = Signal(_LENGTH_BITS)
        index = Signal(range(max(self._prefix, len(self._identity), 6)))
        high = Signal(8)  # of the count whose low byte was sent, so that both belong together
        byte = Signal(8)
        sent = Signal()
        settled = Signal()  # the identification's memory answers one clock after its address
        is_data = kind == Kind.data

        m.d.comb += [
            self.o.payload.eq(byte),
            sent.eq(self.o.valid & self.o.ready),
            checksum.data.eq(byte),
            identity.addr.eq(index),
        ]
        m.d.sync += settled.eq(~sent)

        def go(state):
            m.d.sync += index.eq(0)
            m.next = state

        with m.FSM() as fsm:
            m.d.comb += self.busy.eq(~fsm.ongoing("rest"))
            with m.State("rest"):
                m.d.comb += checksum.clear.eq(1)
                with m.If(self.start):
                    m.d.sync += [kind.eq(self.kind), seq.eq(self.seq), nak.eq(self.nak), fresh.eq(self.fresh)]
                    with m.If(self.kind == Kind.data):
                        m.d.comb += [self.release.eq(self.fresh), self.rewind.eq(~self.fresh)]
                    m.next = "measure"
            with m.State("measure"):
                # The released bytes left the level at the last edge.
                with m.If(fresh):
                    m.d.sync += count.eq(Mux(self.level < self.want, self.level, self.want))
                m.next = "size"
            with m.State("size"):
                with m.If(is_data):
                    m.d.sync += length.eq(count + self._prefix)
                with m.Else():
                    m.d.sync += length.eq(Mux(kind == Kind.nak, 1, len(self._identity)))
                go("header")
            with m.State("header"):
                m.d.comb += self.o.valid.eq(~checksum.busy)
                with m.Switch(index):
                    for value, field in enumerate((SYNC, kind, seq, length[:8], length[8:])):
                        with m.Case(value):
                            m.d.comb += byte.eq(field)
                    with m.Default():
                        m.d.comb += byte.eq(checksum.value[:8])
                with m.If(sent):
                    m.d.comb += checksum.put.eq((index != 0) & (index != 5))
                    m.d.sync += index.eq(index + 1)
                    with m.If(index == 5):
                        go("prefix")
            with m.State("prefix"):
                m.d.comb += [self.o.valid.eq(settled & ~checksum.busy), checksum.put.eq(sent), byte.eq(identity.data)]
                with m.If(kind == Kind.nak):
                    m.d.comb += byte.eq(nak)
                with m.Elif(is_data):
                    self._counts(m, index, byte, high, sent)
                with m.If(sent):
                    m.d.sync += [index.eq(index + 1), length.eq(length - 1)]
                    with m.If(length == 1):
                        go("crc")
                    with m.Elif(is_data & (index == self._prefix - 1)):
                        go("data")
            with m.State("data"):
                m.d.comb += [
                    self.o.valid.eq(self.i.valid & ~checksum.busy),
                    byte.eq(self.i.payload),
                    self.i.ready.eq(sent),
                    checksum.put.eq(sent),
                ]
                with m.If(sent):
                    m.d.sync += length.eq(length - 1)
                    with m.If(length == 1):
                        go("crc")
            with m.State("crc"):
                m.d.comb += [self.o.valid.eq(~checksum.busy), byte.eq(checksum.value.word_select(index[:2], 8))]
                with m.If(sent):
                    m.d.sync += index.eq(index + 1)
                    with m.If(index == 3):
                        m.next = "rest"
        return m

    def _counts(self, m, index, byte, high, sent):
        """Status and counts, low byte first; both bytes of one are of the same moment."""
        with m.If(index[0]):
            m.d.comb += byte.eq(high)
        with m.Else():
            with m.Switch(index[1:]):
                for number, field in enumerate((self.status, *self.taken)):
                    with m.Case(number):
                        m.d.comb += byte.eq(field[:8])
                        with m.If(sent):
                            m.d.sync += high.eq(field[8:])
