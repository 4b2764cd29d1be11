# amaranth: UnusedElaboratable=no
"""The board top against a stand-in engine, on a simulated serial line."""

import random
import struct

import pytest
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator
from plusb.fpga.core import BoardCore
from plusb.fpga.frames import Identity, Kind, Nak, Status, encode, request
from plusb.fpga.uart import BaudRate

from .fpga_bench import StandIn, Wire, pad

BIT = 4
STREAMS = ("loop", "cmd", "param", "a", "w")
LOOP, A = STREAMS.index("loop"), STREAMS.index("a")
RATE = BaudRate(4_000_000, 1_000_000)
ENGINE_HZ = 5_300_000
HASH = bytes(range(8))


class NoEngine(wiring.Component):
    a: In(8)


def simulate(body, **options):
    core = BoardCore(StandIn(), RATE, config_hash=HASH, engine_hz=ENGINE_HZ, silence=0.0002, **options)
    wire = Wire(core, BIT)

    async def testbench(ctx):
        await ctx.tick().repeat(80)
        await body(ctx, core, wire)

    sim = Simulator(core)
    sim.add_clock(1 / RATE.clock_hz)
    sim.add_clock(1 / ENGINE_HZ, domain="engine")
    sim.add_testbench(testbench)
    sim.add_testbench(wire.listen, background=True)
    sim.run()


def parse(frame):
    assert frame is not None
    assert frame.kind == Kind.data, frame
    fields = struct.unpack_from(f"<H{len(STREAMS)}H", frame.payload)
    return Status(fields[0] & 0xFF), dict(zip(STREAMS, fields[1:], strict=True)), frame.payload[12:]


def work(n, seed=5, extra=70_000):
    rng = random.Random(n)
    a = [rng.randrange(1 << 20) for _ in range(n)]
    w = [rng.randrange(1 << 24) for _ in range(n)]
    words = {"cmd": [seed | n << 12], "param": [extra], "a": a, "w": w}
    segments = [(STREAMS.index(name), pad(data, 3)) for name, data in words.items()]
    return segments, pad(StandIn.compute(seed, extra, a, w), 3)


def test_identification():
    async def body(ctx, core, wire):
        frame = await wire.hello(ctx, 7)
        identity = Identity.unpack(frame.payload)
        assert identity == core.identity
        assert identity.config_hash == HASH
        assert identity.inputs == {"cmd": 21, "param": 17, "a": 20, "w": 24}
        assert (identity.output, identity.depth, identity.clock_hz) == (20, 512, ENGINE_HZ)
        frame = await wire.request(ctx, Kind.identify, 99)
        assert (frame.kind, frame.seq) == (Kind.identify, 99)
        assert Identity.unpack(frame.payload) == identity

    simulate(body)


def test_work_in_one_frame_and_repeats():
    segments, expected = work(9)

    async def body(ctx, core, wire):
        await wire.hello(ctx, 0)
        status, _, got = parse(await wire.request(ctx, Kind.data, 1, request(0, segments)))
        assert got == b""
        # Twice the same number: executed once.
        status, taken, got = parse(await wire.request(ctx, Kind.data, 1, request(0, segments)))
        assert taken == {"cmd": 3, "param": 3, "a": 27, "w": 27, "loop": 0}
        assert status == Status.more
        _, _, first = parse(await wire.request(ctx, Kind.data, 2, request(10)))
        assert first == expected[:10]
        # The response was lost: made again, as often as asked.
        for _ in range(3):
            _, _, again = parse(await wire.request(ctx, Kind.data, 2, request(10)))
            assert again == first
        status, _, rest = parse(await wire.request(ctx, Kind.data, 3, request(500)))
        assert first + rest == expected
        _, _, none = parse(await wire.request(ctx, Kind.data, 4, request(500)))
        assert none == b""
        assert ctx.get(core.error) == 0

    simulate(body)


def test_loop_stream():
    async def body(ctx, core, wire):
        await wire.hello(ctx)
        text = bytes(range(0, 250, 3))
        parse(await wire.request(ctx, Kind.data, 1, request(0, [(LOOP, text[:40]), (LOOP, text[40:])])))
        _, taken, got = parse(await wire.request(ctx, Kind.data, 2, request(500)))
        assert got == text
        assert taken["loop"] == len(text)

    simulate(body)


def test_data_needs_a_session_and_the_next_number():
    async def body(ctx, core, wire):
        frame = await wire.request(ctx, Kind.data, 1, request(0))
        assert (frame.kind, frame.seq, frame.payload) == (Kind.nak, 1, bytes([Nak.sequence]))
        await wire.hello(ctx, 255)
        frame = await wire.request(ctx, Kind.data, 1, request(0))
        assert frame.payload == bytes([Nak.sequence])
        parse(await wire.request(ctx, Kind.data, 0, request(0)))

    simulate(body)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (0x55, b""),
        (Kind.data, b""),
        (Kind.data, b"\0"),
        (Kind.data, b"\0\0\0"),
        (Kind.data, b"\0\0\0\x01"),
        (Kind.data, b"\0\0\0\x02\0x"),
        (Kind.data, b"\0\0\x05\x01\0x"),
        (Kind.data, b"\0\0\0\x01\xf0x"),
        (Kind.data, b"\0\xf0"),
    ],
)
def test_malformed_requests_are_refused(kind, payload):
    async def body(ctx, core, wire):
        await wire.hello(ctx, 0)
        frame = await wire.request(ctx, kind, 1, payload)
        assert (frame.kind, frame.payload) == (Kind.nak, bytes([Nak.malformed]))
        # Nothing of it counted, and the number is still free.
        parse(await wire.request(ctx, Kind.data, 1, request(0, [(LOOP, b"ok")])))
        _, _, got = parse(await wire.request(ctx, Kind.data, 2, request(9)))
        assert got == b"ok"

    simulate(body)


def test_empty_segments_are_allowed():
    async def body(ctx, core, wire):
        await wire.hello(ctx, 0)
        parse(await wire.request(ctx, Kind.data, 1, request(0, [(LOOP, b""), (A, b""), (LOOP, b"x")])))
        _, _, got = parse(await wire.request(ctx, Kind.data, 2, request(9)))
        assert got == b"x"

    simulate(body)


def test_overrun_is_refused_whole():
    async def body(ctx, core, wire):
        await wire.hello(ctx, 0)
        # The stand-in takes no operands before its command: a word and a byte leave the buffer.
        frame = await wire.request(ctx, Kind.data, 1, request(0, [(LOOP, b"ab"), (A, bytes(40))]))
        assert frame.payload == bytes([Nak.overrun])
        assert ctx.get(core.error) == 1
        status, taken, got = parse(await wire.request(ctx, Kind.data, 1, request(99, [(A, bytes(32))])))
        assert status == Status.overrun
        assert got == b""
        _, taken, _ = parse(await wire.request(ctx, Kind.data, 2, request(0)))
        assert taken["a"] in (3, 4)  # a word, and the byte that waits outside the buffer

    simulate(body, depth=32)


@pytest.mark.slow
def test_damaged_frames():
    frame = encode(Kind.data, 1, request(0, [(LOOP, b"hello")]))

    async def body(ctx, core, wire):
        await wire.hello(ctx, 0)
        for position in (6, 8, 9, 11, 15, 16, 19):
            await wire.send(ctx, frame[:position] + bytes([frame[position] ^ 0x10]) + frame[position + 1 :])
            nak = await wire.wait(ctx)
            assert (nak.kind, nak.payload) == (Kind.nak, bytes([Nak.crc]))
        for position in range(1, 6):  # in the header: nobody knows whose it was
            await wire.send(ctx, frame[:position] + bytes([frame[position] ^ 0x10]) + frame[position + 1 :])
            assert await wire.wait(ctx, 2000) is None
        for position in (7, 10, 13, 17, 19):  # a dropped byte: the frame stops short
            await wire.send(ctx, frame[:position] + frame[position + 1 :])
            nak = await wire.wait(ctx)
            assert nak.payload == bytes([Nak.timeout])
        await wire.send(ctx, frame)
        status, _, _ = parse(await wire.wait(ctx))
        assert status & ~Status.more == Status.crc | Status.timeout
        _, _, got = parse(await wire.request(ctx, Kind.data, 2, request(99)))
        assert got == b"hello"

    simulate(body)


def test_garbage_and_host_restart_in_mid_frame():
    segments, expected = work(4)

    async def body(ctx, core, wire):
        rng = random.Random(3)
        await wire.send(ctx, bytes(rng.randrange(256) for _ in range(200)) + bytes([0xA5]) * 9)
        await ctx.tick().repeat(2000)
        wire.frames.clear()
        await wire.hello(ctx, 3)
        parse(await wire.request(ctx, Kind.data, 4, request(0, segments)))
        # The host dies in the middle of a frame; the next one knows nothing.
        await wire.send(ctx, encode(Kind.data, 5, request(0, [(A, bytes(100))]))[:50])
        await wire.send(ctx, encode(Kind.hello, 200))
        answer = await wire.wait(ctx)
        assert answer.payload == bytes([Nak.timeout])
        await wire.hello(ctx, 200)
        # Output of the old session is gone, and the engine starts over.
        parse(await wire.request(ctx, Kind.data, 201, request(99, segments)))
        _, _, got = parse(await wire.request(ctx, Kind.data, 202, request(99)))
        assert got == expected

    simulate(body)


def test_request_during_a_response_is_dropped_and_reported():
    async def body(ctx, core, wire):
        await wire.hello(ctx, 0)
        await wire.send(ctx, encode(Kind.identify, 1) + encode(Kind.identify, 2))
        frame = await wire.wait(ctx)
        assert frame.seq == 1
        assert await wire.wait(ctx, 6000) is None
        status, _, _ = parse(await wire.request(ctx, Kind.data, 1, request(0)))
        assert status == Status.overrun

    simulate(body)


@pytest.mark.slow
def test_output_waits_for_a_slow_host():
    segments, expected = work(30)

    async def body(ctx, core, wire):
        await wire.hello(ctx, 0)
        sent = {number: 0 for number, _ in segments}
        counts = {name: 0 for name in STREAMS}
        got, seq = b"", 0
        for _ in range(60):
            room = {n: 64 - (sent[n] - counts[STREAMS[n]]) % 128 for n, _ in segments}
            pieces = [(n, data[sent[n] : sent[n] + room[n]]) for n, data in segments]
            seq += 1
            _, counts, data = parse(await wire.request(ctx, Kind.data, seq, request(11, pieces)))
            for n, piece in pieces:
                sent[n] += len(piece)
            got += data
            await ctx.tick().repeat(100)
            if len(got) == len(expected):
                break
        assert got == expected
        assert ctx.get(core.error) == 0

    simulate(body, depth=64)


@pytest.mark.slow
def test_heartbeat():
    core = BoardCore(StandIn(), BaudRate(38_400, 9600))

    async def testbench(ctx):
        await ctx.tick().until(core.heartbeat)
        await ctx.tick().repeat(16_384)  # the power of two nearest to half a second
        assert ctx.get(core.heartbeat) == 0

    sim = Simulator(core)
    sim.add_clock(1 / 38_400)
    sim.add_clock(1 / 38_400, domain="engine")
    sim.add_testbench(testbench)
    sim.run()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 2048}, r"depth must be a power of two in 16\.\.1024, not 2048"),
        ({"depth": 48}, r"depth must be a power of two in 16\.\.1024, not 48"),
        ({"engine_hz": 400_000}, r"engine_hz must be at least an eighth of the UART's 4 MHz, .*, not 400000"),
        ({"config_hash": b"x"}, r"config_hash must be 8 bytes, not b'x'"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        BoardCore(None, RATE, **options)


def test_engine_without_output():
    with pytest.raises(TypeError, match=r"^engine must have streams in and one stream out, called 'out', not "):
        BoardCore(NoEngine(), RATE)
