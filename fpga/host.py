"""The host's side of the serial line: a board as streams that lose and repeat nothing."""

import random
import struct
import time

import numpy as np

from ..gen.gemm import Gemm
from ..gen.lower import lower
from ..rtl.numeric import Family
from .frames import LOOP, Identity, Kind, Status, request
from .link import BoardError, Link
from .words import bytes_of

__all__ = ["Board", "BoardError"]

# What a segment takes beside its bytes, and all segments together.
_SEGMENT, _WANT = 3, 2


class Board:
    """A board on a serial port; a context manager.

    Parameters
    ----------
    port : str
        Such as ``/dev/ttyUSB1`` or ``COM4``.
    baud : int
        As the bitstream was built for.
    config : EngineConfig or None
        The configuration the board must have; needed for :meth:`run` and :meth:`gemm`.
    config_hash : bytes or None
        Instead of ``config``: only its hash.
    timeout : float
        Seconds without an answer, or without progress, after which to retry, or to give up.
    retries : int
        How often a frame is sent again before giving up.
    frame : int
        Longest payload of a frame. On a bad line frames become shorter by themselves.

    Attributes
    ----------
    identity : Identity
    counters : Counters
    status : Status
        Events the board reported since the session began.

    Raises
    ------
    BoardError
        If there is no such port, no board answers, or it has another configuration.
    """

    def __init__(self, port, baud=1_000_000, *, config=None, config_hash=None, timeout=1.0, retries=20, frame=1024):
        self._link = Link(port, baud, timeout=timeout, retries=retries, frame=frame)
        self._timeout = timeout
        self._config = config
        if config is not None:
            config_hash = bytes.fromhex(config.config_hash)
        self._sent, self._taken = [], []  # by number of the stream
        self._received = bytearray()
        self.counters = self._link.counters
        self.status = Status(0)
        try:
            self.reset()
            if config_hash is not None and self.identity.config_hash != config_hash:
                raise BoardError(
                    f"the board on {port} holds configuration {self.identity.config_hash.hex()}, "
                    f"not {config_hash.hex()}: build and load the bitstream of this configuration"
                )
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        """Give the port back."""
        self._link.close()

    def reset(self):
        """Begin a new session: the engine and all buffers start over."""
        self._link.flush()
        self._received.clear()
        self.status = Status(0)
        try:
            self.identity = self._identity(self._link.exchange(Kind.hello))
        except TimeoutError:
            raise BoardError(
                f"no plusb board answers on {self._link}: check the port, the bit rate, and that the "
                "bitstream is loaded"
            ) from None
        self._sent = [0] * len(self.identity.streams)
        self._taken = [0] * len(self.identity.streams)

    def identify(self):
        """Ask the board anew who it is."""
        try:
            return self._identity(self._link.exchange(Kind.identify))
        except TimeoutError as error:
            raise BoardError(str(error)) from None

    def write(self, stream, data):
        """Send ``data`` into the stream called ``stream``; returns when the board has it all.

        Output that arrives meanwhile is kept for :meth:`read`, so that the engine never stands still because of us.
        """
        self.transfer({stream: data})

    def read(self, count):
        """The next ``count`` bytes of output; waits for them."""
        return self.transfer({}, count)

    def run(self, gemm, x, terms=None, *, progress=None):
        """Compute ``gemm`` of ``x`` on the board.

        Parameters
        ----------
        gemm : Gemm
        x : int array, shape (M, K)
        terms : Terms or None
        progress : callable or None
            Called now and then with the share of the output that has arrived, 0 to 1.

        Returns
        -------
        int64 array, shape (M, N)

        Raises
        ------
        ValueError
            If the board's configuration cannot compute it; see :func:`plusb.gen.lower.lower`.
        BoardError
            If the board cannot be reached any more, or stands still.
        """
        if self._config is None:
            raise ValueError("config must be given to the board for it to run a product, not None")
        program = lower(self._config, gemm, x, terms)
        return program.collect(self.run_program(program, progress=progress))

    def run_program(self, program, *, progress=None):
        """Run a program on the board.

        Parameters
        ----------
        program : Program or ProgramSequence
            Of the board's configuration.
        progress : callable or None
            As for :meth:`run`.

        Returns
        -------
        uint8 array, shape (rows, bytes)
            For the program to collect.

        Raises
        ------
        ValueError
            If the program is of another configuration than the board's.
        BoardError
            As :meth:`run` does.
        """
        config = program.config
        if bytes.fromhex(config.config_hash) != self.identity.config_hash:
            raise ValueError(f"program must be of the board's configuration, not of {config.config_hash!r}")
        size = bytes_of(self.identity.output)
        data = self.transfer(
            {name: words.tobytes() for name, words in program.streams.items()}, program.rows * size, progress=progress
        )
        rows = np.frombuffer(data, np.uint8).reshape(program.rows, size)
        # Keep and last, which a row ends with, are known from the sizes.
        return rows[:, : -(-config.cols * config.element_type.width // 8)]

    def gemm(self, x, w, bias=None, *, multiplier=None, shift=None, family=Family.gemmlowp, **options):
        """``clamp(requantize(x @ w + bias) + zp_out)`` on the board.

        Parameters
        ----------
        x : int array, shape (M, K)
        w : int array, shape (K, N)
        bias : int array, shape (N,), or None
            Effective bias, the activation zero point folded in; None for zeros.
        multiplier, shift : int arrays, shape (N,), or ints
            Q0.31 multiplier and TFLite shift.
        family : Family
        options : dict
            Further fields of :class:`~plusb.gen.gemm.Gemm`, such as ``zp_out``, ``lo`` and ``hi``.

        Returns
        -------
        int64 array, shape (M, N)
        """
        w = np.asarray(w)
        if w.ndim != 2:
            raise ValueError(f"w must be of shape (K, N), not {w.shape!r}")
        columns = {"bias": 0 if bias is None else bias, "multiplier": multiplier, "shift": shift}
        whole = {
            name: None if value is None else np.broadcast_to(np.asarray(value, np.int64), w.shape[1])
            for name, value in columns.items()
        }
        return self.run(Gemm(name="gemm", op="gemm", w=w, family=Family(family), **whole, **options), x)

    def transfer(self, writes, count=0, *, progress=None):
        """Send into several streams at once, each as far as the board has room, and read ``count`` bytes of output.

        Parameters
        ----------
        writes : dict of str to bytes
            By name of the stream, as the identification has it.
        count : int
        progress : callable or None
            Called now and then with the share of the output that has arrived, 0 to 1.

        Returns
        -------
        bytes

        Raises
        ------
        BoardError
            If nothing moved for the board's timeout; says how far it came.
        """
        streams = self.identity.streams
        for name in writes:
            if name not in streams:
                raise ValueError(f"stream must be one of {', '.join(streams)}, not {name!r}")
        rest = {streams.index(name): memoryview(bytes(data)) for name, data in writes.items()}
        moved = time.monotonic()
        while any(rest.values()) or len(self._received) < count:
            segments = self._segments(rest)
            got = len(self._received)
            taken = self._taken
            self._data(segments)
            if segments or len(self._received) > got or self._taken != taken:
                moved = time.monotonic()
                if progress is not None:
                    progress(min(1, len(self._received) / max(1, count)))
            elif time.monotonic() - moved > self._timeout:
                left = [f"{len(data)} bytes of {streams[number]}" for number, data in rest.items() if data]
                if len(self._received) < count:
                    left.append(f"{count - len(self._received)} of {count} bytes of output")
                raise BoardError(f"the engine stands still for {self._timeout:g} s with {' and '.join(left)} to go")
        result = bytes(self._received[:count])
        del self._received[:count]
        return result

    def self_test(self, size=4096, seed=0):
        """Send random bytes through the board's buffers and back, and ask twice who it is.

        Raises ``BoardError`` if anything differs; ends in a new session.
        """
        self.reset()
        data = random.Random(seed).randbytes(size)
        back = self.transfer({LOOP: data}, size)
        if back != data:
            wrong = sum(a != b for a, b in zip(back, data, strict=True))
            raise BoardError(f"self-test failed: {wrong} of {size} bytes came back changed")
        if self.identify() != self.identity:
            raise BoardError("self-test failed: the board gave two different identifications")
        self.reset()

    @staticmethod
    def _identity(payload):
        try:
            return Identity.unpack(payload)
        except ValueError as error:
            raise BoardError(str(error)) from None

    def _segments(self, rest):
        """As much of what is left as the board has room for and a frame takes; removes it from ``rest``."""
        segments = []
        space = self._link.size - _WANT
        depth = self.identity.depth
        # The emptiest buffer first, so that no stream starves another that the engine waits for.
        used = {number: (self._sent[number] - self._taken[number]) % (2 * depth) for number in rest}
        for number in sorted(rest, key=used.get):
            size = min(len(rest[number]), depth - used[number], space - _SEGMENT)
            if size > 0:
                segments.append((number, rest[number][:size]))
                rest[number] = rest[number][size:]
                space -= size + _SEGMENT
        return segments

    def _data(self, segments):
        """One ``data`` exchange; asks for as much output as there may be."""
        prefix = struct.Struct(f"<H{len(self._sent)}H")
        want = min(self._link.size - prefix.size, self.identity.depth)
        try:
            payload = self._link.exchange(Kind.data, request(want, segments))
        except TimeoutError as error:
            raise BoardError(str(error)) from None
        status, *self._taken = prefix.unpack_from(payload)
        for number, data in segments:
            self._sent[number] += len(data)
        self.status |= Status(status & 0xFF) & ~Status.more
        self._received += payload[prefix.size :]
