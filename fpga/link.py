"""Requests and responses over a serial port: every request is answered exactly once, or there is an error."""

import os
import random
import time
from dataclasses import dataclass

from .frames import MAX_PAYLOAD, Decoder, Kind, Nak, encode

__all__ = ["SHORTEST", "BoardError", "Counters", "Link"]

# A frame's header and CRC.
_OVERHEAD = 10
# A payload this short is mostly overhead.
SHORTEST = 64
# Until the line has shown to be good.
_FIRST = 256


class BoardError(Exception):
    """The board cannot be used as asked; the message is one line."""


@dataclass
class Counters:
    """What went over the line.

    Attributes
    ----------
    frames : int
        Requests, without repetitions.
    retries : int
        Requests sent again.
    refused : int
        Damaged or broken frames the board told of.
    damaged : int
        Responses that arrived damaged.
    silent : int
        Requests that nothing came back for.
    """

    frames: int = 0
    retries: int = 0
    refused: int = 0
    damaged: int = 0
    silent: int = 0


class Link:
    """The host's end of the protocol.

    Parameters
    ----------
    port, baud, timeout, retries, frame
        See :class:`~plusb.fpga.host.Board`.

    Attributes
    ----------
    size : int
        Payload that suits the line now: shorter after each damaged frame, longer after each good one.
    counters : Counters

    Raises
    ------
    BoardError
        If there is no such port.
    """

    def __init__(self, port, baud, *, timeout, retries, frame):
        if not SHORTEST <= frame <= MAX_PAYLOAD:
            raise ValueError(f"frame must be in {SHORTEST}..{MAX_PAYLOAD}, not {frame!r}")
        self._port = _open(port, baud)
        self._timeout = timeout
        self._retries = retries
        self._frame = frame
        self._decoder = Decoder()
        self._seq = random.randrange(256)
        self.size = min(frame, _FIRST)
        self.counters = Counters()

    def __str__(self):
        return f"{self._port.port} at {self._port.baudrate} baud"

    def close(self):
        """Give the port back."""
        self._port.close()

    def flush(self):
        """Forget whatever came in."""
        self._port.reset_input_buffer()
        self._decoder.reset()

    def exchange(self, kind, payload=b""):
        """Send a request until its response comes.

        Returns
        -------
        bytes
            The response's payload.

        Raises
        ------
        TimeoutError
            If all retries failed; says why the last one did.
        BoardError
            If the board refuses the request, or the port is gone.
        """
        self._seq = (self._seq + 1) % 256
        frame = encode(kind, self._seq, payload)
        self.counters.frames += 1
        reason = "nothing came back"
        for attempt in range(self._retries + 1):
            self.counters.retries += attempt > 0
            self._write(frame)
            # Both ways at the line's rate, and a margin for the operating system.
            patience = 10 * (len(frame) + MAX_PAYLOAD + _OVERHEAD) / self._port.baudrate + self._timeout / 4
            answer, reason = self._await(kind, patience)
            if answer is None:
                self.size = max(SHORTEST, self.size // 2)
            else:
                self.size = min(self._frame, self.size + self.size // 8)
                return answer
        raise TimeoutError(f"gave up after {self._retries} retries: {reason}")

    def _await(self, kind, patience):
        """The payload of the response to the last request, or None and the reason for sending it again."""
        deadline = time.monotonic() + patience
        damaged = self._decoder.errors
        while time.monotonic() < deadline:
            for frame in self._decoder.feed(self._read()):
                if frame.kind == kind and frame.seq == self._seq:
                    return frame.payload, ""
                if frame.kind == Kind.nak and len(frame.payload) == 1:
                    if (reason := self._refusal(kind, frame)) is not None:
                        return None, reason
            if self._decoder.errors > damaged:
                self.counters.damaged += 1
                return None, "the board's response arrived damaged (bad CRC)"
        self.counters.silent += 1
        self._decoder.reset()
        return None, "no answer"

    def _refusal(self, kind, frame):
        """Why the board wants the request again; None if this refusal does not concern it."""
        try:
            nak = Nak(frame.payload[0])
        except ValueError:
            return None
        if nak.is_transient:
            self.counters.refused += 1
            return "the board received damaged frames (bad CRC)" if nak is Nak.crc else "frames broke off on their way"
        if kind is not Kind.data or frame.seq != self._seq:
            return None  # the echo of an earlier session
        raise BoardError(
            {
                Nak.sequence: "the session ended: the board was reset, or another program took it over",
                Nak.overrun: "the board ran out of buffer space",
                Nak.malformed: "the board does not understand the request: it speaks another version of the protocol",
            }[nak]
        )

    def _write(self, data):
        try:
            self._port.write(data)
        except OSError as error:
            raise BoardError(f"the board is gone: {error}") from None

    def _read(self):
        try:
            return self._port.read(max(1, self._port.in_waiting))
        except OSError as error:
            raise BoardError(f"the board is gone: {error}") from None


def _open(port, baud):
    """The serial port, read in short waits."""
    try:
        import serial
        from serial.tools import list_ports
    except ModuleNotFoundError:
        raise BoardError("pyserial is missing: pip install 'plusb[fpga]'") from None
    try:
        opened = serial.Serial(port, baud, timeout=0.02, write_timeout=5)
    except (serial.SerialException, ValueError) as error:
        found = ", ".join(sorted(entry.device for entry in list_ports.comports())) or "none"
        raise BoardError(f"cannot open {port}: {_cause(error)}; serial ports found: {found}") from None
    if hasattr(opened, "set_low_latency_mode"):
        try:
            # USB adapters collect bytes for 16 ms by default.
            opened.set_low_latency_mode(True)
        except (OSError, ValueError):
            pass
    return opened


def _cause(error):
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else str(error)
