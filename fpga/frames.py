"""Frames on the wire between host and board: the one definition both sides are built from.

A frame is ``SYNC kind seq length(2) check payload crc(4)``, least significant byte first. ``check`` is the low byte of
the CRC-32 of the four bytes before it, so that a wrong length is refused before it can swallow good frames; ``crc`` is
the CRC-32 (that of ``zlib``) of header and payload, without ``SYNC`` and ``check``.

The host is the master. It sends one request and waits for its response, which carries the request's kind and sequence
number; the board never speaks unasked except for a :data:`Kind.nak`, which says why a frame was not accepted. A
request that stays unanswered is sent again with the same number. The board executes a ``data`` request only if its
number follows the last one it executed, and answers the last one again if that arrives twice: nothing is lost, and
nothing is executed twice.

A ``data`` request is ``want(2)`` and then any number of segments ``stream(1) length(2) bytes``. Its response is
``status(2)``, one 16-bit count for each stream, and up to ``want`` bytes of the board's output. A count is how many
bytes have left that stream's buffer, modulo twice its depth: it tells the host how much room there is. Stream 0 comes
straight back and exists for the self-test; the others are those of the identification, in its order.
"""

import enum
import struct
import zlib
from dataclasses import dataclass, field

__all__ = [
    "LOOP",
    "MAX_PAYLOAD",
    "SYNC",
    "Decoder",
    "Frame",
    "Identity",
    "Kind",
    "Nak",
    "Status",
    "encode",
    "request",
]

SYNC = 0xA5
# Enough to hide a USB adapter's millisecond of latency at 3 Mbaud, short enough that a corrupted frame is cheap.
MAX_PAYLOAD = 2047
# Name of stream 0.
LOOP = "loop"

_HEADER = struct.Struct("<BBH")
_CRC = struct.Struct("<I")


class Kind(enum.IntEnum):
    """What a frame is; a response has the kind of its request."""

    # Ends whatever session there was: clears every buffer and resets the engine. Answered by the identification.
    hello = 0x01
    # Answered by the identification, changes nothing.
    identify = 0x02
    # Moves stream bytes both ways.
    data = 0x03
    # From the board only: one byte of :class:`Nak`.
    nak = 0x7F


class Nak(enum.IntEnum):
    """Why the board did not accept a frame."""

    # The frame was damaged (bad CRC) and is to be sent again.
    crc = 1
    # The frame stopped halfway and is to be sent again.
    timeout = 2
    # A stream's buffer had no room: the sender ignored the counts.
    overrun = 3
    # The request is intact but means nothing: unknown kind, bad stream number or segment length.
    malformed = 4
    # The number does not follow: another host said hello, or the board was reset.
    sequence = 5

    @property
    def is_transient(self):
        """Whether sending the same frame again can help."""
        return self in (Nak.crc, Nak.timeout)


class Status(enum.IntFlag):
    """Lower byte of the status: events since the last ``hello``, and whether more output waits.

    The upper byte counts damaged frames, up to 255.
    """

    overrun = 0x01
    crc = 0x02
    timeout = 0x04
    framing = 0x08
    more = 0x80


@dataclass(frozen=True)
class Frame:
    """A decoded frame."""

    kind: int
    seq: int
    payload: bytes


def encode(kind, seq, payload=b""):
    """Bytes of one frame. Raises ``ValueError`` if the payload is longer than :data:`MAX_PAYLOAD`."""
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"payload must be at most {MAX_PAYLOAD} bytes, not {len(payload)}")
    header = _HEADER.pack(kind, seq & 0xFF, len(payload))
    check = zlib.crc32(header)
    return bytes([SYNC]) + header + bytes([check & 0xFF]) + payload + _CRC.pack(zlib.crc32(payload, check))


def request(want, segments=()):
    """Payload of a ``data`` request for up to ``want`` bytes, from ``(stream number, bytes)`` pairs."""
    parts = [struct.pack("<H", want)]
    for stream, data in segments:
        parts += (struct.pack("<BH", stream, len(data)), data)
    return b"".join(parts)


@dataclass
class Decoder:
    """Finds frames in a byte stream that may hold anything else too.

    A damaged frame costs only its ``SYNC`` byte: the search goes on with the byte after it, so that a good frame which
    a false start ran into is still found.

    Attributes
    ----------
    errors : int
        Frames with a good header whose CRC was wrong.
    skipped : int
        Bytes that belonged to no frame.
    """

    errors: int = 0
    skipped: int = 0
    _buffer: bytearray = field(default_factory=bytearray, repr=False)

    def feed(self, data):
        """Add ``data``; returns the list of frames that are complete now."""
        self._buffer += data
        frames = []
        while (step := self._step(frames)) > 0:
            del self._buffer[:step]
        return frames

    def reset(self):
        """Forget a frame begun."""
        self._buffer.clear()

    def _step(self, frames):
        """Bytes to drop from the buffer's front, 0 to wait for more."""
        buffer = self._buffer
        start = buffer.find(SYNC)
        if start:
            dropped = len(buffer) if start < 0 else start
            self.skipped += dropped
            return dropped
        if len(buffer) < 6:
            return 0
        header = bytes(buffer[1:5])
        kind, seq, length = _HEADER.unpack(header)
        check = zlib.crc32(header)
        if check & 0xFF != buffer[5] or length > MAX_PAYLOAD:
            self.skipped += 1
            return 1
        end = 6 + length
        if len(buffer) < end + 4:
            return 0
        payload = bytes(buffer[6:end])
        if zlib.crc32(payload, check) != _CRC.unpack_from(buffer, end)[0]:
            self.errors += 1
            self.skipped += 1
            return 1
        frames.append(Frame(kind, seq, payload))
        return end + 4


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What a board says about itself.

    Parameters
    ----------
    version : tuple of int
        Major, minor and patch level of the plusb that built the bitstream.
    config_hash : bytes
        First 8 bytes of the engine configuration's hash.
    clock_hz : int
        Clock of the engine.
    depth : int
        Bytes each stream's buffer holds; a power of two.
    inputs : dict of str to int
        Bits of a word of each stream into the engine. A word travels as whole bytes, least significant first.
    output : int
        Bits of a word of the stream out of it.
    """

    version: tuple
    config_hash: bytes
    clock_hz: int
    depth: int
    inputs: dict
    output: int

    MAGIC = b"plusb\x01"
    _FIXED = struct.Struct("<6s3B8sIHHB")
    _INPUT = struct.Struct("<HB")

    @property
    def streams(self):
        """Names of the streams into the board, by number."""
        return (LOOP, *self.inputs)

    def pack(self):
        """Payload of the identification."""
        parts = [
            self._FIXED.pack(
                self.MAGIC, *self.version, self.config_hash, self.clock_hz, self.depth, self.output, len(self.inputs)
            )
        ]
        for name, width in self.inputs.items():
            parts += (self._INPUT.pack(width, len(name)), name.encode("ascii"))
        return b"".join(parts)

    @classmethod
    def unpack(cls, payload):
        """The identity in ``payload``. Raises ``ValueError`` if it is none, or one of another protocol version."""
        foreign = ValueError(f"not the identification of a plusb board: {payload[:16].hex(' ')}")
        if len(payload) < cls._FIXED.size or not payload.startswith(cls.MAGIC):
            raise foreign
        _, *version, config_hash, clock_hz, depth, output, count = cls._FIXED.unpack_from(payload)
        inputs, at = {}, cls._FIXED.size
        for _ in range(count):
            if len(payload) < at + cls._INPUT.size:
                raise foreign
            width, length = cls._INPUT.unpack_from(payload, at)
            at += cls._INPUT.size + length
            inputs[payload[at - length : at].decode("ascii", "replace")] = width
        if at != len(payload):
            raise foreign
        return cls(
            version=tuple(version),
            config_hash=config_hash,
            clock_hz=clock_hz,
            depth=depth,
            inputs=inputs,
            output=output,
        )
