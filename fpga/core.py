"""Everything on a board but its pins and its clock: UART, frames, buffers and the engine between them."""

import math

from amaranth.hdl import Cat, DomainRenamer, Elaboratable, Fragment, Module, Mux, ResetInserter, Shape, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ..gen.version import __version__
from ..rtl.target import Target
from .crossing import Crossing
from .frames import LOOP, Identity, Status
from .receiver import FrameReceiver
from .responder import DEPTH_MAX, Responder
from .ring import Ring
from .uart import UartReceiver, UartTransmitter
from .words import BytesToWords, WordsToBytes

__all__ = ["BoardCore", "Targeted"]

# Length of a session's reset: long enough for an engine clock of an eighth of ours, shorter than a byte.
_RENEW_CLOCKS = 32
# Half a period of the heartbeat, roughly.
_BEAT_SECONDS = 0.5


def _width(port):
    return Shape.cast(port.payload.shape()).width


class Targeted(Elaboratable):
    """A component whose arithmetic is mapped to a target, whatever platform the rest is built for."""

    def __init__(self, inner, target):
        self._inner = inner
        self._target = target

    def elaborate(self, platform):
        return Fragment.get(self._inner, self._target)


class BoardCore(wiring.Component):
    """An engine behind a UART.

    Parameters
    ----------
    engine : wiring.Component
        Anything with streams in, and one stream called ``out`` out. Its domain ``sync`` is our domain ``engine``, which
        every new session resets.
    rate : BaudRate
        Clock and bit rate of the UART: domain ``sync``, which everything but the engine is in, so that the engine may
        be faster than block memories and a byte-wide protocol allow.
    engine_hz : float or None
        Clock of domain ``engine``, at least an eighth of the UART's; None for the same.
    config_hash : bytes
        8 bytes by which the host recognizes the engine's configuration.
    depth : int
        Bytes of buffer each stream gets; a power of two up to 1024.
    silence : float
        Seconds without a byte after which a frame begun is given up.
    target : Target
        Device whose arithmetic blocks the engine instantiates.

    Members
    -------
    rx, tx : ``In(1)``, ``Out(1)``
        The serial line.
    heartbeat : ``Out(1)``
        Toggles about every half second.
    error : ``Out(1)``
        Something went wrong on the line since the session's start; the host knows from the status.
    """

    rx: In(1, init=1)
    tx: Out(1, init=1)
    heartbeat: Out(1)
    error: Out(1)

    def __init__(
        self, engine, rate, *, engine_hz=None, config_hash=bytes(8), depth=512, silence=0.02, target=Target.portable
    ):
        if not isinstance(config_hash, bytes) or len(config_hash) != 8:
            raise ValueError(f"config_hash must be 8 bytes, not {config_hash!r}")
        if not 16 <= depth <= DEPTH_MAX or depth & (depth - 1):
            raise ValueError(f"depth must be a power of two in 16..{DEPTH_MAX}, not {depth!r}")
        engine_hz = engine_hz or rate.clock_hz
        if engine_hz < rate.clock_hz / 8:
            raise ValueError(
                f"engine_hz must be at least an eighth of the UART's {rate.clock_hz / 1e6:g} MHz, "
                f"so that it sees a new session's reset, not {engine_hz!r}"
            )
        self._engine = engine
        self._target = target
        self._rate = rate
        self._depth = depth
        self._timeout = max(16, round(silence * rate.clock_hz))
        flows = {name: member.flow for name, member in engine.signature.members.items()}
        if flows.pop("out", None) is not Out or any(flow is not In for flow in flows.values()):
            raise TypeError(f"engine must have streams in and one stream out, called 'out', not {engine.signature!r}")
        self._inputs = {name: getattr(engine, name) for name in flows}
        self._out = engine.out
        self.identity = Identity(
            version=tuple(int(part) for part in __version__.split(".")[:3]),
            config_hash=config_hash,
            clock_hz=round(engine_hz),
            depth=depth,
            inputs={name: _width(port) for name, port in self._inputs.items()},
            output=_width(engine.out),
        )
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        streams = self.identity.streams
        m.submodules.uart_rx = uart_rx = UartReceiver(self._rate)
        m.submodules.uart_tx = uart_tx = UartTransmitter(self._rate)
        m.submodules.receiver = receiver = FrameReceiver(len(streams), self._timeout)
        m.submodules.responder = responder = Responder(self.identity.pack(), len(streams), self._depth)
        wiring.connect(m, uart_rx.o, receiver.i)
        wiring.connect(m, responder.o, uart_tx.i)
        m.d.comb += [
            uart_rx.rx.eq(self.rx),
            self.tx.eq(uart_tx.tx),
            receiver.busy.eq(responder.busy),
            responder.start.eq(receiver.respond),
            *(getattr(responder, name).eq(getattr(receiver, name)) for name in ("kind", "seq", "nak", "fresh", "want")),
        ]

        # A new session finds everything behind the framing as after power-up.
        renewing = Signal(range(_RENEW_CLOCKS + 1), init=_RENEW_CLOCKS)
        here, there = Signal(init=1), Signal(init=1)
        m.d.sync += here.eq(renewing != 0)
        m.submodules.renew = FFSynchronizer(here, there, o_domain="engine", init=1)
        with m.If(receiver.hello):
            m.d.sync += renewing.eq(_RENEW_CLOCKS)
        with m.Elif(renewing != 0):
            m.d.sync += renewing.eq(renewing - 1)
        renew = ResetInserter({"sync": here, "engine": there})

        m.submodules.engine = renew(DomainRenamer("engine")(Targeted(self._engine, self._target)))
        inputs = {}
        for number, name in enumerate(streams):
            inputs[name] = ring = Ring(self._depth, droppable=True)
            m.submodules[f"ring_{name}"] = renew(ring)
            m.d.comb += [
                ring.i.payload.eq(receiver.data),
                ring.i.valid.eq(receiver.put[number]),
                receiver.full[number].eq(~ring.i.ready),
                ring.keep.eq(receiver.keep),
                ring.drop.eq(receiver.drop),
                responder.taken[number].eq(ring.taken),
            ]
            if name != LOOP:
                port = self._inputs[name]
                words = BytesToWords(port.payload.shape())
                crossing = Crossing(port.payload.shape(), i_domain="sync", o_domain="engine")
                m.submodules[f"words_{name}"] = renew(words)
                m.submodules[f"crossing_{name}"] = renew(crossing)
                wiring.connect(m, ring.o, words.i)
                wiring.connect(m, words.o, crossing.i)
                wiring.connect(m, crossing.o, port)

        port = self._out
        output = Ring(self._depth, repeatable=True)
        words = WordsToBytes(port.payload.shape())
        crossing = Crossing(port.payload.shape(), i_domain="engine", o_domain="sync")
        m.submodules.ring_out = renew(output)
        m.submodules.words_out = renew(words)
        m.submodules.crossing_out = renew(crossing)
        wiring.connect(m, port, crossing.i)
        wiring.connect(m, crossing.o, words.i)
        wiring.connect(m, output.o, responder.i)
        loop = inputs[LOOP].o
        m.d.comb += [
            output.release.eq(responder.release),
            output.rewind.eq(responder.rewind),
            responder.level.eq(output.level),
            output.i.valid.eq(words.o.valid | loop.valid),
            output.i.payload.eq(Mux(words.o.valid, words.o.payload, loop.payload)),
            words.o.ready.eq(output.i.ready),
            loop.ready.eq(output.i.ready & ~words.o.valid),
        ]

        m.d.comb += responder.status.eq(self._status(m, uart_rx, receiver, output))
        self._heartbeat(m)
        return m

    def _status(self, m, uart_rx, receiver, output):
        """First two bytes of a ``data`` response, and the error LED."""
        flags = Signal(8)
        damaged = Signal(8)
        events = {
            Status.overrun: receiver.overrun,
            Status.crc: receiver.crc,
            Status.timeout: receiver.timeout,
            Status.framing: uart_rx.framing,
        }
        for flag, event in events.items():
            with m.If(event):
                m.d.sync += flags[flag.value.bit_length() - 1].eq(1)
        with m.If((receiver.crc | receiver.timeout) & (damaged != 0xFF)):
            m.d.sync += damaged.eq(damaged + 1)
        with m.If(receiver.hello):
            m.d.sync += [flags.eq(0), damaged.eq(0)]
        m.d.comb += self.error.eq(flags.any())
        more = Status.more.value.bit_length() - 1
        return Cat(flags[:more], output.level != 0, damaged)

    def _heartbeat(self, m):
        # A power of two of clocks needs no comparator.
        beat = Signal(round(math.log2(_BEAT_SECONDS * self._rate.clock_hz)) + 1)
        m.d.sync += beat.eq(beat + 1)
        m.d.comb += self.heartbeat.eq(beat[-1])
