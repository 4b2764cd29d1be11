"""The self-checking bitstream: its verdict in simulation, right and wrong."""

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator
from plusb.fpga.selfcheck import SelfCheck, SelfCheckCore
from plusb.fpga.stimulus import Stimulus, next_signature
from plusb.fpga.uart import BaudRate
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.engine import Engine
from plusb.rtl.presets import PRESETS

MIXED = EngineConfig(
    rows=2,
    cols=3,
    lanes=3,
    activation="uint8",
    weight="int4",
    max_k=64,
    epilogue=EpilogueConfig(output="uint8", families=("ruy", "half_even"), multiplier_width=20),
)
RATE = BaudRate(4_000_000, 1_000_000)


class Faulty(wiring.Component):
    """An engine in which one bit of one column is wrong now and then."""

    def __init__(self, config):
        self.config = config
        self._engine = Engine(config)
        super().__init__(self._engine.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.engine = engine = self._engine
        for name in self.signature.members:
            if name != "out":
                wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(engine, name))
        m.d.comb += [
            self.out.valid.eq(engine.out.valid),
            engine.out.ready.eq(self.out.ready),
            self.out.payload.eq(engine.out.payload.as_value() ^ (engine.out.payload.data.as_value()[:3] == 5)),
        ]
        return m


def lines(check, count):
    """What the UART says in ``count`` rounds, and the LEDs at the end."""
    core = SelfCheckCore(check, RATE, pause=300)
    text, leds = [], []

    async def testbench(ctx):
        while text.count("\n") < count:
            await ctx.tick().until(core.tx == 0)
            await ctx.tick()
            code = 0
            for bit in range(8):
                await ctx.tick().repeat(4)
                code |= ctx.get(core.tx) << bit
            await ctx.tick().repeat(4)
            assert ctx.get(core.tx) == 1
            text.append(chr(code))
        leds.extend((ctx.get(core.heartbeat), ctx.get(core.error)))

    sim = Simulator(core)
    sim.add_clock(1 / RATE.clock_hz)
    sim.add_clock(0.7 / RATE.clock_hz, domain="engine")
    sim.add_testbench(testbench)
    sim.run()
    return "".join(text), leds


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(PRESETS["up5k"], marks=pytest.mark.slow),
        pytest.param(MIXED, marks=pytest.mark.slow),
        pytest.param(
            EngineConfig(rows=2, cols=2, epilogue=EpilogueConfig(bias=("channel", "row"), families=("half_up",))),
            marks=pytest.mark.slow,
        ),
        EngineConfig(rows=2, cols=1, max_k=16, epilogue=None),
    ],
    ids=["up5k", "mixed", "row", "raw"],
)
def test_pass(config):
    stimulus = Stimulus(config)
    text, leds = lines(SelfCheck(stimulus), 2)
    assert text == f"plusb self-check PASS {stimulus.expected & 0xFFFFFFFF:08x}\r\n" * 2
    assert leds == [1, 0]


@pytest.mark.slow
def test_fault():
    config = PRESETS["up5k"]
    text, leds = lines(SelfCheck(Stimulus(config), engine=Faulty(config)), 1)
    assert text.startswith("plusb self-check FAIL ")
    assert leds == [0, 1]


def test_signature_tells_words_and_their_order():
    seen = set()
    for words in ([0, 0], [1, 0], [0, 1], [5, 9], [9, 5], [1 << 20, 0], [0, 1 << 20]):
        signature = 1
        for word in words:
            signature = next_signature(signature, word, 32)
        seen.add(signature)
    assert len(seen) == 7


def test_floating_point_is_refused():
    config = EngineConfig(rows=2, cols=2, epilogue=EpilogueConfig(families=("float32",)))
    with pytest.raises(ValueError, match=r"^a self-check cannot use the rounding family float32$"):
        Stimulus(config)
