"""A bitstream that checks itself: pseudo-random operands, a signature, and the verdict by LED and UART."""

import math

from amaranth.hdl import Array, Const, DomainRenamer, Elaboratable, Module, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..rtl.engine import Engine
from ..rtl.target import Target
from .clocking import Clocking
from .core import Targeted
from .stimulus import LEAP, TAPS, Stimulus, lane_seeds, next_signature
from .top import BAUD, connect_pins
from .uart import BaudRate, UartTransmitter

__all__ = ["SelfCheck", "SelfCheckCore", "SelfCheckTop"]

_MESSAGE = "plusb self-check {verdict} {signature}\r\n"
_VERDICTS = ("FAIL", "PASS")
# Clocks of the reset between two rounds, and of rest after it until the engine's answer counts.
_RESET_CLOCKS = 64
# Clocks of the engine after which a missing row is a failure.
_PATIENCE = 1 << 20


class SelfCheck(wiring.Component):
    """An engine that is fed from registers and read-only memories, once after each reset.

    Parameters
    ----------
    stimulus : Stimulus
    target : Target
    engine : wiring.Component or None
        Instead of the configuration's own, such as a faulty one.

    Members
    -------
    done, passed : ``Out(1)``
        All rows came, or none for too long; and their signature is the expected one.
    digest : ``Out(32)``
        The signature's low bits.
    """

    done: Out(1)
    passed: Out(1)
    digest: Out(32)

    def __init__(self, stimulus, target=Target.portable, engine=None):
        self._stimulus = stimulus
        self._engine = engine or Engine(stimulus.config)
        self._target = target
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        stimulus, engine = self._stimulus, self._engine
        m.submodules.engine = Targeted(engine, self._target)
        for name in ("a", "w"):
            self._random(m, name, getattr(engine, name))
        for name, words in stimulus.tables.items():
            self._table(m, name, getattr(engine, name), words)

        word = Signal(len(Value.cast(engine.out.payload)))
        signature = Signal(stimulus.signature_width, init=stimulus.START)
        left = Signal(range(stimulus.rows + 1), init=stimulus.rows)
        patience = Signal(range(_PATIENCE), init=_PATIENCE - 1)
        m.d.comb += [
            word.eq(engine.out.payload),
            engine.out.ready.eq(1),
            self.done.eq((left == 0) | (patience == 0)),
            self.digest.eq(signature),
        ]
        m.d.sync += self.passed.eq((left == 0) & (signature == stimulus.expected))
        with m.If(patience != 0):
            m.d.sync += patience.eq(patience - 1)
        with m.If(engine.out.valid):
            m.d.sync += signature.eq(next_signature(signature, word, len(signature)))
            with m.If(left != 0):
                m.d.sync += left.eq(left - 1)
        return m

    def _random(self, m, name, port):
        """A register for each element, that moves on by :data:`LEAP` steps of its polynomial with each word."""
        elements = port.payload
        for lane, seed in enumerate(lane_seeds(name, len(elements))):
            state = Signal(16, init=seed, name=f"random_{name}_{lane}")
            following = list(state)
            for _ in range(LEAP):
                low, rest = following[0], [*following[1:], Const(0, 1)]
                following = [bit ^ low if TAPS >> index & 1 else bit for index, bit in enumerate(rest)]
            with m.If(port.ready):
                m.d.sync += [state[index].eq(bit) for index, bit in enumerate(following)]
            m.d.comb += elements[lane].eq(state)
        m.d.comb += port.valid.eq(1)

    def _table(self, m, name, port, words):
        """Words of a read-only memory, one after the other, each once."""
        width = len(Value.cast(port.payload))
        memory = Memory(shape=width, depth=len(words), init=words)
        m.submodules[f"table_{name}"] = memory
        read = memory.read_port()
        index = Signal(range(len(words) + 1), name=f"index_{name}")
        fresh = Signal(name=f"fresh_{name}")
        m.d.comb += [
            read.addr.eq(index),
            Value.cast(port.payload).eq(read.data),
            port.valid.eq(fresh & (index != len(words))),
        ]
        m.d.sync += fresh.eq(1)
        with m.If(port.valid & port.ready):
            # The memory answers one clock after its address.
            m.d.sync += [index.eq(index + 1), fresh.eq(0)]


class SelfCheckCore(wiring.Component):
    """Checks again and again, and tells each time.

    Parameters
    ----------
    check : SelfCheck
        Its domain ``sync`` is our domain ``engine``.
    rate : BaudRate
        Clock and bit rate of the UART: domain ``sync``.
    pause : int
        Clocks between two rounds, 256 or more.

    Members
    -------
    tx : ``Out(1)``
        A line of text a round.
    heartbeat : ``Out(1)``
        The last round passed.
    error : ``Out(1)``
        A round failed since power-up.
    """

    rx: In(1, init=1)
    tx: Out(1, init=1)
    heartbeat: Out(1)
    error: Out(1)

    def __init__(self, check, rate, *, pause):
        self._check = check
        self._rate = rate
        self._pause = max(256, pause)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        check = self._check
        hold, held, done = Signal(init=1), Signal(init=1), Signal()
        m.submodules.hold = FFSynchronizer(hold, held, o_domain="engine", init=1)
        m.submodules.done = FFSynchronizer(check.done, done)
        m.submodules.check = ResetInserter({"engine": held})(DomainRenamer("engine")(check))
        m.submodules.uart = uart = UartTransmitter(self._rate)
        m.d.comb += self.tx.eq(uart.tx)

        wait = Signal(range(self._pause), init=_RESET_CLOCKS - 1)
        passed = Signal()
        signature = Signal(32)
        index = Signal(range(len(_MESSAGE) + 32))
        text = self._text(passed, signature)
        with m.FSM():
            with m.State("reset"):
                m.d.sync += [wait.eq(wait - 1), hold.eq(wait >= _RESET_CLOCKS // 2)]
                with m.If(wait == 0):
                    m.next = "run"
            with m.State("run"):
                with m.If(done):
                    # What was done stands still until the next reset; `passed` settled while `done` crossed.
                    m.d.sync += [passed.eq(check.passed), signature.eq(check.digest), index.eq(0)]
                    m.next = "judge"
            with m.State("judge"):
                m.d.sync += self.heartbeat.eq(passed)
                with m.If(~passed):
                    m.d.sync += self.error.eq(1)
                m.next = "tell"
            with m.State("tell"):
                m.d.comb += [uart.i.valid.eq(1), uart.i.payload.eq(text[index])]
                with m.If(uart.i.ready):
                    m.d.sync += index.eq(index + 1)
                    with m.If(index == len(text) - 1):
                        m.d.sync += wait.eq(self._pause - 1)
                        m.next = "rest"
            with m.State("rest"):
                m.d.sync += wait.eq(wait - 1)
                with m.If(wait == _RESET_CLOCKS):
                    m.d.sync += hold.eq(1)
                    m.next = "reset"
        return m

    @staticmethod
    def _text(passed, signature):
        """The message, character by character."""
        digits = Array(Const(ord(digit), 8) for digit in "0123456789abcdef")
        verdict = [Array(Const(ord(text[place]), 8) for text in _VERDICTS)[passed] for place in range(4)]
        parts = _MESSAGE.replace("{signature}", "{verdict}").split("{verdict}")
        before, between, after = (part.encode() for part in parts)
        number = [digits[signature.word_select(7 - place, 4)] for place in range(8)]
        return Array(
            [
                *(Const(code, 8) for code in before),
                *verdict,
                *(Const(code, 8) for code in between),
                *number,
                *(Const(code, 8) for code in after),
            ]
        )


class SelfCheckTop(Elaboratable):
    """The self-check on a board's clock and pins.

    Parameters
    ----------
    board : Board
    config : EngineConfig
    freq_mhz : float or None
        Clock of the engine; None for the board's usual one.
    baud : int
    """

    def __init__(self, board, config, *, freq_mhz=None, baud=BAUD):
        self._board = board
        self._clocking = Clocking(board, freq_mhz or board.freq_mhz)
        rate = BaudRate(self._clocking.crystal_hz, baud)
        pause = 1 << round(math.log2(self._clocking.crystal_hz / 4))
        self.core = SelfCheckCore(SelfCheck(Stimulus(config), board.target), rate, pause=pause)

    def elaborate(self, platform):
        m = Module()
        m.submodules.clocking = self._clocking
        m.submodules.core = core = self.core
        connect_pins(m, platform, self._board, rx=core.rx, tx=core.tx, heartbeat=core.heartbeat, error=core.error)
        return m
