# amaranth: UnusedElaboratable=no
"""UART, CRC, byte ring and clock crossing on their own."""

import random
import zlib
from collections import deque

import pytest
from amaranth.hdl import DomainRenamer, Module
from amaranth.sim import Simulator
from plusb.fpga.crc import SerialCrc
from plusb.fpga.crossing import Crossing
from plusb.fpga.receiver import FrameReceiver
from plusb.fpga.responder import Responder
from plusb.fpga.ring import Ring
from plusb.fpga.uart import BaudRate, UartReceiver, UartTransmitter


@pytest.mark.parametrize(
    ("clock_hz", "baud"),
    [
        (12_000_000, 115_200),
        (12_000_000, 1_000_000),
        (12_000_000, 3_000_000),
        (25_000_000, 3_000_000),
        (27_000_000, 921_600),
        (48_000_000, 3_000_000),
        (100_000_000, 115_200),
    ],
)
def test_rates(clock_hz, baud):
    rate = BaudRate(clock_hz, baud)
    assert abs(rate.actual / baud - 1) <= 0.001
    assert rate.step < 2**rate.width


@pytest.mark.parametrize(
    ("clock_hz", "baud", "message"),
    [
        (
            12_000_000,
            2_000_001,
            "baud must be at most 1859999, or a quarter of the clock, at a clock of 12 MHz, not 2000001",
        ),
        (12_000_000, 300, "baud must be in 9600..3000000, not 300"),
        (100_000_000, 4_000_000, "baud must be in 9600..3000000, not 4000000"),
    ],
)
def test_rate_errors(clock_hz, baud, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        BaudRate(clock_hz, baud)
    assert str(error.value).partition(":")[0] == message


@pytest.mark.parametrize(
    ("clock_hz", "baud", "skew"),
    [
        (4_000_000, 1_000_000, 1.0),
        (4_000_000, 1_000_000, 0.985),
        (4_000_000, 1_000_000, 1.015),
        (7_000_000, 1_000_000, 0.985),
        (7_000_000, 1_000_000, 1.015),
        (13_370_000, 1_000_000, 1.0),
    ],
)
def test_transmitter_to_receiver(clock_hz, baud, skew):
    """Both ends, each with its own clock, the receiver's wrong by ``skew``."""
    rate = BaudRate(clock_hz, baud)
    tx, rx = UartTransmitter(rate), UartReceiver(rate)
    data = bytes([0, 255, 0x55, 0xAA, 0x80, 1, *random.Random(1).randbytes(40)])
    got = []

    async def send(ctx):
        for byte in data:
            ctx.set(tx.i.payload, byte)
            ctx.set(tx.i.valid, 1)
            await ctx.tick().until(tx.i.ready)
        ctx.set(tx.i.valid, 0)

    async def receive(ctx):
        while len(got) < len(data):
            _, _, valid, byte, framing = await ctx.tick("other").sample(rx.o.valid, rx.o.payload, rx.framing)
            assert not framing
            if valid:
                got.append(byte)

    top = Module()
    top.submodules.tx = tx
    top.submodules.rx = DomainRenamer("other")(rx)
    top.d.comb += rx.rx.eq(tx.tx)
    sim = Simulator(top)
    sim.add_clock(1 / clock_hz)
    sim.add_clock(1 / clock_hz / skew, domain="other", phase=0.3 / clock_hz)
    sim.add_testbench(send)
    sim.add_testbench(receive)
    sim.run()
    assert bytes(got) == data


def test_receiver_on_break_and_spike():
    rx = UartReceiver(BaudRate(8_000_000, 1_000_000))

    async def body(ctx):
        events = []

        async def drive(level, clocks):
            ctx.set(rx.rx, level)
            for _ in range(clocks):
                _, _, valid, framing = await ctx.tick().sample(rx.o.valid, rx.framing)
                events.extend(["byte"] * valid + ["framing"] * framing)

        await drive(1, 20)
        await drive(0, 2)  # shorter than half a bit
        await drive(1, 100)
        assert events == []
        await drive(0, 400)  # a break is one error, however long
        await drive(1, 100)
        assert events == ["framing"]

    sim = Simulator(rx)
    sim.add_clock(1e-6)
    sim.add_testbench(body)
    sim.run()


def test_crc_is_that_of_zlib():
    crc = SerialCrc()

    async def body(ctx):
        for data in (b"", b"123456789", bytes(7), b"\xff" * 5):
            ctx.set(crc.clear, 1)
            await ctx.tick()
            ctx.set(crc.clear, 0)
            for byte in data:
                ctx.set(crc.data, byte)
                ctx.set(crc.put, 1)
                await ctx.tick()
                ctx.set(crc.put, 0)
                assert ctx.get(crc.busy)
                await ctx.tick().repeat(8)
                assert not ctx.get(crc.busy)
            assert ctx.get(crc.value) == zlib.crc32(data)

    sim = Simulator(crc)
    sim.add_clock(1e-6)
    sim.add_testbench(body)
    sim.run()


class RingModel:
    """The same promises in Python."""

    def __init__(self, depth):
        self.depth, self.kept, self.written, self.read = depth, deque(), [], 0

    @property
    def fill(self):
        return len(self.kept) + len(self.written)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("droppable", "repeatable"), [(True, False), (False, True), (True, True), (False, False)])
def test_ring_against_a_model(seed, droppable, repeatable):
    rng = random.Random(seed)
    ring = Ring(8, droppable=droppable, repeatable=repeatable)
    model = RingModel(8)
    lost = []

    async def body(ctx):
        value = 0
        for _ in range(1500):
            put, take = rng.random() < 0.6, rng.random() < 0.5
            action = rng.choice(("keep", "drop", "release", "rewind", None, None, None, None))
            put &= action not in ("keep", "drop")  # a byte written meanwhile is in neither
            ctx.set(ring.i.valid, put)
            ctx.set(ring.i.payload, value)
            ctx.set(ring.o.ready, take and action != "rewind")
            for name in ("keep", "drop", "release", "rewind"):
                ctx.set(getattr(ring, name), name == action)
            _, _, ready, valid, got, level, taken = await ctx.tick().sample(
                ring.i.ready, ring.o.valid, ring.o.payload, ring.level, ring.taken
            )
            if ready:
                assert model.fill < 8 + (not repeatable)  # the byte on the output needs no space
            if repeatable:
                assert level == len(model.kept)
                assert taken == len(lost) % 16
            if put and ready:
                (model.written if droppable else model.kept).append(value)
                value = (value + 1) % 256
            if valid and take and action != "rewind":
                assert got == model.kept[model.read]
                model.read += 1
            if action == "keep":
                model.kept.extend(model.written)
                model.written.clear()
            elif action == "drop" and droppable:
                model.written.clear()
            elif action == "rewind" and repeatable:
                model.read = 0
            if not repeatable or action == "release":
                lost.extend(model.kept.popleft() for _ in range(model.read))
                model.read = 0

    sim = Simulator(ring)
    sim.add_clock(1e-6)
    sim.add_testbench(body)
    sim.run()
    assert len(lost) > 100


@pytest.mark.parametrize("ratio", [0.23, 1.0, 1.37, 6.1])
def test_crossing(ratio):
    crossing = Crossing(9, i_domain="sync", o_domain="engine")
    rng = random.Random(5)
    words = [rng.randrange(512) for _ in range(60)]
    got = []

    async def send(ctx):
        for word in words:
            await ctx.tick().repeat(1 + rng.randrange(5))
            ctx.set(crossing.i.payload, word)
            ctx.set(crossing.i.valid, 1)
            await ctx.tick().until(crossing.i.ready)
            ctx.set(crossing.i.valid, 0)
            ctx.set(crossing.i.payload, 0)

    async def receive(ctx):
        while len(got) < len(words):
            ctx.set(crossing.o.ready, rng.random() < 0.4)
            _, _, valid, ready, word = await ctx.tick("engine").sample(
                crossing.o.valid, crossing.o.ready, crossing.o.payload
            )
            if valid and ready:
                got.append(word)

    sim = Simulator(crossing)
    sim.add_clock(1e-6)
    sim.add_clock(1e-6 / ratio, domain="engine", phase=0.4e-6)
    sim.add_testbench(send)
    sim.add_testbench(receive)
    sim.run()
    assert got == words


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda: Ring(48), r"depth must be a power of two in 4..32768, not 48"),
        (lambda: FrameReceiver(3, 5), r"timeout must be at least 16 clocks, the distance of two bytes, not 5"),
        (lambda: Responder(b"id", 3, 2048), r"depth must be at most 1024, so that one response holds it all, not 2048"),
    ],
)
def test_errors(create, message):
    with pytest.raises(ValueError, match=message):
        create()
