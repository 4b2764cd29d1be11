"""The frame codec and the identification, in plain Python."""

import random
import zlib

import pytest
from plusb.fpga.frames import MAX_PAYLOAD, SYNC, Decoder, Frame, Identity, Kind, Nak, encode, request

IDENTITY = Identity(
    version=(1, 2, 3),
    config_hash=b"12345678",
    clock_hz=24_000_000,
    depth=512,
    inputs={"cmd": 170, "param": 123, "a": 32, "w": 32},
    output=33,
)


def test_layout():
    frame = encode(Kind.data, 0x1FE, b"xyz")
    assert frame[:5] == bytes([SYNC, 3, 0xFE, 3, 0])
    assert frame[5] == zlib.crc32(frame[1:5]) & 0xFF
    assert frame[6:9] == b"xyz"
    assert int.from_bytes(frame[9:], "little") == zlib.crc32(frame[1:5] + b"xyz")
    assert request(513, [(2, b"ab"), (3, b"")]) == b"\x01\x02\x02\x02\x00ab\x03\x00\x00"


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_frames_are_found_among_garbage(step):
    rng = random.Random(step)
    sent, line = [], bytearray()
    for seq in range(60):
        payload = rng.randbytes(rng.choice((0, 1, 30, 200)))
        sent.append(Frame(Kind.data, seq, payload))
        line += rng.randbytes(rng.randrange(20)).replace(bytes([SYNC]), b"") + encode(Kind.data, seq, payload)
    decoder, got = Decoder(), []
    for at in range(0, len(line), step):
        got += decoder.feed(line[at : at + step])
    assert got == sent
    assert decoder.errors == 0


def test_a_damaged_frame_costs_no_other():
    frames = [encode(Kind.data, seq, bytes([SYNC] * 9)) for seq in range(3)]
    for position in range(len(frames[1])):
        decoder = Decoder()
        damaged = bytearray(frames[1])
        damaged[position] ^= 1
        got = decoder.feed(frames[0] + damaged + frames[2] + bytes(3000))
        assert [frame.seq for frame in got] == [0, 2], position


def test_a_lost_byte_costs_one_frame():
    frames = [encode(Kind.data, seq, b"some payload") for seq in range(3)]
    for position in range(len(frames[1])):
        decoder = Decoder()
        got = decoder.feed(frames[0] + frames[1][:position] + frames[1][position + 1 :] + frames[2])
        assert [frame.seq for frame in got] == [0, 2], position


def test_a_header_that_claims_too_much_is_no_header():
    decoder = Decoder()
    header = bytes([3, 0]) + (MAX_PAYLOAD + 1).to_bytes(2, "little")
    line = bytes([SYNC]) + header + bytes([zlib.crc32(header) & 0xFF])
    assert decoder.feed(line + encode(Kind.data, 5)) == [Frame(Kind.data, 5, b"")]
    assert decoder.skipped == 6


def test_payload_limit():
    with pytest.raises(ValueError, match=r"^payload must be at most 2047 bytes, not 2048$"):
        encode(Kind.data, 0, bytes(MAX_PAYLOAD + 1))


def test_identity_round_trip():
    assert Identity.unpack(IDENTITY.pack()) == IDENTITY
    assert IDENTITY.streams == ("loop", "cmd", "param", "a", "w")


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"nonsense",
        IDENTITY.pack()[:-1],
        IDENTITY.pack()[:-4],
        IDENTITY.pack() + b"x",
        b"plusb\x02" + IDENTITY.pack()[6:],
    ],
)
def test_foreign_identity(payload):
    with pytest.raises(ValueError, match=r"^not the identification of a plusb board: "):
        Identity.unpack(payload)


def test_which_refusals_pass():
    assert [nak for nak in Nak if nak.is_transient] == [Nak.crc, Nak.timeout]
