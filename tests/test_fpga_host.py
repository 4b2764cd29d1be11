"""Host against virtual board: real pyserial, a pseudo-terminal, and the Verilated hardware."""

import os
import random
import threading
import tty
from contextlib import contextmanager

import pytest
from plusb.fpga.emulate import Noise, emulate
from plusb.fpga.frames import LOOP, Decoder, Identity, Kind, Nak, encode
from plusb.fpga.host import Board, BoardError

from .fpga_bench import StandIn, pad

HASH = b"\x01\x23\x45\x67\x89\xab\xcd\xef"
OPTIONS = {"config_hash": HASH, "engine_hz": 24e6}


def work(n, seed):
    rng = random.Random(seed)
    a = [rng.randrange(1 << 20) for _ in range(n)]
    w = [rng.randrange(1 << 24) for _ in range(n)]
    writes = {"a": pad(a, 3), "w": pad(w, 3), "cmd": pad([seed | n << 12], 3), "param": pad([1234], 3)}
    return writes, pad(StandIn.compute(seed, 1234, a, w), 3)


@pytest.mark.slow
def test_sessions():
    with emulate(StandIn(), **OPTIONS) as board:
        # Long enough for a loaded machine: an answer that is merely late would count as a retry.
        with Board(board.port, config_hash=HASH, timeout=30) as host:
            assert host.identity.clock_hz == 24_000_000
            assert host.identity.inputs == {"cmd": 21, "param": 17, "a": 20, "w": 24}
            assert host.identify() == host.identity
            host.self_test(3000)
            # More output than the board holds, read only afterwards; operands before their command.
            writes, expected = work(500, 9)
            for name in ("cmd", "param"):
                host.write(name, writes[name])
            threads = {name: writes[name] for name in ("a", "w")}
            assert host.transfer(threads, 100) == expected[:100]
            assert host.read(len(expected) - 100) == expected[100:]
            assert host.counters.retries == 0
        with Board(board.port, timeout=0.5) as host:
            with pytest.raises(
                BoardError,
                match=r"^the engine stands still for 0.5 s with \d+ bytes of w and 9 of 9 "
                r"bytes of output to go$",
            ):
                host.transfer({"w": bytes(1500)}, 9)
            # A second program takes over in the middle; the first one is told.
            with Board(board.port, timeout=0.5) as other:
                other.self_test(64)
                with pytest.raises(BoardError, match=r"^the session ended: the board was reset, or another"):
                    host.write("a", b"123")
        # Killed in the middle of a frame.
        port = os.open(board.port, os.O_RDWR | os.O_NOCTTY)
        os.write(port, encode(Kind.data, 1, bytes(900))[:500])
        os.close(port)
        with Board(board.port, timeout=0.5) as host:
            writes, expected = work(40, 3)
            assert host.transfer(writes, len(expected)) == expected
            board.press_reset()
            with pytest.raises(BoardError, match=r"^the session ended"):
                host.transfer({LOOP: b"x" * 5000}, 5000)
            host.reset()
            assert host.transfer(writes, len(expected)) == expected
        with pytest.raises(
            BoardError,
            match=r"^the board on /dev/pts/\d+ holds configuration 0123456789abcdef, not 000"
            r"0000000000000: build and load the bitstream of this configuration$",
        ):
            Board(board.port, config_hash=bytes(8))


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [
        Noise(flip=0.002),
        Noise(drop=0.002),
        Noise(garbage=0.002),
        Noise(flip=0.0007, drop=0.0007, garbage=0.0007, seed=2),
    ],
    ids=["flip", "drop", "garbage", "all"],
)
def test_noise_costs_time_only(noise):
    with emulate(StandIn(), noise=noise, **OPTIONS) as board, Board(board.port, timeout=0.3) as host:
        for seed in range(6):
            writes, expected = work(150, seed)
            assert host.transfer(writes, len(expected)) == expected
        assert host.counters.retries > 0
        assert host.read(0) == b""
        # Nothing was executed twice: nothing is left over.
        with pytest.raises(BoardError, match="of 1 bytes of output to go"):
            host.read(1)


@contextmanager
def scripted(answer):
    """A terminal behind which ``answer(frame)`` gives the bytes to send back."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)

    def serve():
        decoder = Decoder()
        try:
            while data := os.read(ours, 4096):
                for frame in decoder.feed(data):
                    os.write(ours, answer(frame))
        except OSError:
            pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield os.ttyname(theirs)
    finally:
        os.close(theirs)
        thread.join()
        os.close(ours)


IDENTITY = Identity(version=(0, 1, 0), config_hash=HASH, clock_hz=1, depth=64, inputs={"a": 8}, output=8)


def identify_or(other):
    def answer(frame):
        return other(frame) if frame.kind == Kind.data else encode(frame.kind, frame.seq, IDENTITY.pack())

    return answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda frame: b"",
            (
                "no plusb board answers on PORT at 115200 baud: "
                "check the port, the bit rate, and that the bitstream is loaded"
            ),
        ),
        (
            lambda frame: encode(frame.kind, frame.seq, b"hello world"),
            "not the identification of a plusb board: 68 65 6c 6c 6f 20 77 6f 72 6c 64",
        ),
        (identify_or(lambda frame: b""), "gave up after 2 retries: no answer"),
        (
            identify_or(lambda frame: encode(frame.kind, frame.seq, b"0123")[:-1] + b"x"),
            "gave up after 2 retries: the board's response arrived damaged (bad CRC)",
        ),
        (
            identify_or(lambda frame: encode(Kind.nak, frame.seq, bytes([Nak.crc]))),
            "gave up after 2 retries: the board received damaged frames (bad CRC)",
        ),
        (
            identify_or(lambda frame: encode(Kind.nak, frame.seq, bytes([Nak.timeout]))),
            "gave up after 2 retries: frames broke off on their way",
        ),
        (
            identify_or(lambda frame: encode(Kind.nak, frame.seq, bytes([Nak.overrun]))),
            "the board ran out of buffer space",
        ),
        (
            identify_or(lambda frame: encode(Kind.nak, frame.seq, bytes([Nak.malformed]))),
            "the board does not understand the request: it speaks another version of the protocol",
        ),
        (
            identify_or(lambda frame: encode(Kind.nak, frame.seq, bytes([Nak.sequence]))),
            "the session ended: the board was reset, or another program took it over",
        ),
    ],
)
def test_errors(answer, message):
    with scripted(answer) as port, pytest.raises(BoardError) as error:
        with Board(port, 115_200, timeout=0.05, retries=2) as host:
            host.write("a", b"x")
    assert str(error.value) == message.replace("PORT", port)


def test_no_such_port():
    with pytest.raises(BoardError, match=r"^cannot open /dev/nowhere: No such file or directory; serial ports found: "):
        Board("/dev/nowhere")


def test_wrong_use():
    with pytest.raises(ValueError, match=r"^frame must be in 64..2047, not 9$"):
        Board("/dev/nowhere", frame=9)
    with scripted(identify_or(lambda frame: b"")) as port, Board(port) as host:
        with pytest.raises(ValueError, match=r"^stream must be one of loop, a, not 'b'$"):
            host.write("b", b"x")
