"""Stand-ins and helpers shared by the tests of the board top."""

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from plusb.fpga.frames import Decoder, Kind, encode

__all__ = ["CommandLayout", "StandIn", "Wire", "pad"]

CommandLayout = data.StructLayout({"seed": unsigned(12), "count": unsigned(9)})


class StandIn(wiring.Component):
    """Like an engine: one ``cmd`` word, then for each of ``count`` pairs from ``a`` and ``w`` one row out.

    A row is ``a + w + seed`` in 20 bits, plus the ``param`` word of the command. Widths are no multiples of 8.
    """

    cmd: In(stream.Signature(CommandLayout))
    param: In(stream.Signature(17))
    a: In(stream.Signature(20))
    w: In(stream.Signature(24))
    out: Out(stream.Signature(20))

    def elaborate(self, platform):
        m = Module()
        left = Signal(9)
        seed = Signal(12)
        extra = Signal(17)
        with m.If(left == 0):
            ready = self.cmd.valid & self.param.valid & ~self.out.valid
            m.d.comb += [self.cmd.ready.eq(ready), self.param.ready.eq(ready)]
            with m.If(ready):
                m.d.sync += Cat(left, seed, extra).eq(
                    Cat(self.cmd.payload.count, self.cmd.payload.seed, self.param.payload)
                )
        with m.If(self.out.ready):
            m.d.sync += self.out.valid.eq(0)
        with m.If((left != 0) & self.a.valid & self.w.valid & (~self.out.valid | self.out.ready)):
            m.d.comb += [self.a.ready.eq(1), self.w.ready.eq(1)]
            m.d.sync += [
                left.eq(left - 1),
                self.out.valid.eq(1),
                self.out.payload.eq(self.a.payload + self.w.payload + seed + extra),
            ]
        return m

    @staticmethod
    def compute(seed, extra, a, w):
        """Rows the hardware gives."""
        return [(x + y + seed + extra) & 0xFFFFF for x, y in zip(a, w, strict=True)]


def pad(words, size):
    """Words as bytes on the wire."""
    return b"".join(word.to_bytes(size, "little") for word in words)


class Wire:
    """The far end of a simulated serial line.

    Parameters
    ----------
    core : component with ``rx`` and ``tx``
    bit : int
        Clocks a bit.
    """

    def __init__(self, core, bit):
        self._core = core
        self._bit = bit
        self.frames = []
        self.decoder = Decoder()

    async def send(self, ctx, data):
        """Put ``data`` on the line, bit by bit."""
        for byte in data:
            for level in (0, *(byte >> i & 1 for i in range(8)), 1):
                ctx.set(self._core.rx, level)
                await ctx.tick().repeat(self._bit)

    async def listen(self, ctx):
        """Background process that collects frames."""
        # Plain ticks only: an interrupted until() or repeat() warns when the simulation ends.
        pause, byte, bit = 1, 0, -1
        while True:
            for _ in range(pause):
                await ctx.tick()
            level = ctx.get(self._core.tx)
            if bit < 0:
                if not level:
                    pause, byte, bit = self._bit + self._bit // 2, 0, 0
            elif bit < 8:
                pause, byte, bit = self._bit, byte | level << bit, bit + 1
            else:
                assert level, "no stop bit"
                pause, bit = 1, -1
                self.frames += self.decoder.feed(bytes([byte]))

    async def request(self, ctx, kind, seq, payload=b"", patience=60_000):
        """Send one frame and wait for whatever comes back; None after ``patience`` clocks."""
        await self.send(ctx, encode(kind, seq, payload))
        return await self.wait(ctx, patience)

    async def wait(self, ctx, patience=60_000):
        """The next frame; None after ``patience`` clocks."""
        for _ in range(patience // 16):
            if self.frames:
                return self.frames.pop(0)
            await ctx.tick().repeat(16)
        return None

    async def hello(self, ctx, seq=0):
        """Begin a session."""
        frame = await self.request(ctx, Kind.hello, seq)
        assert frame is not None
        assert (frame.kind, frame.seq) == (Kind.hello, seq)
        return frame
