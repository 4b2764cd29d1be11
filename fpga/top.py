"""The bitstream's top: a :class:`~plusb.fpga.core.BoardCore` on a board's clock and pins."""

from amaranth.hdl import Elaboratable, Module
from amaranth.lib import io

from .clocking import Clocking
from .core import BoardCore
from .uart import BaudRate

__all__ = ["BAUD", "BoardTop", "connect_pins"]

# Every USB adapter can, and so can a 12 MHz crystal.
BAUD = 1_000_000


def connect_pins(m, platform, board, *, rx, tx, heartbeat, error):
    """Wire a board's serial line and LEDs to the given signals, and tie what has to be tied.

    Parameters
    ----------
    rx, tx, heartbeat, error : Signal
        ``rx`` is driven, the others are read.
    """

    def drive(name, port, value):
        m.submodules[f"pin_{name}"] = buffer = io.Buffer("o", port)
        m.d.comb += buffer.o.eq(value)

    uart = platform.request("uart", dir="-")
    m.submodules.pin_rx = buffer = io.Buffer("i", uart.rx)
    m.d.comb += rx.eq(buffer.i)
    drive("tx", uart.tx, tx)
    requested = {}
    for role, led, value in (("heartbeat", board.heartbeat, heartbeat), ("error", board.error, error)):
        if led is None:
            continue
        name, number, *color = led
        if (name, number) not in requested:
            requested[name, number] = platform.request(name, number, dir="-")
        port = requested[name, number]
        drive(role, getattr(port, color[0]) if color else port, value)
    for name, value in board.ties.items():
        drive(name, platform.request(name, dir="-"), value)


class BoardTop(Elaboratable):
    """PLL, reset, pins and the core.

    Parameters
    ----------
    board : Board
    engine : wiring.Component
        See :class:`~plusb.fpga.core.BoardCore`.
    freq_mhz : float or None
        Clock of the engine; None for the board's usual one.
    baud : int
    options : dict
        For :class:`~plusb.fpga.core.BoardCore`.

    Raises
    ------
    ValueError
        If the PLL cannot make the clock, or the clock is too slow for the bit rate.
    """

    def __init__(self, board, engine, *, freq_mhz=None, baud=BAUD, **options):
        self._board = board
        self._clocking = Clocking(board, freq_mhz or board.freq_mhz)
        rate = BaudRate(self._clocking.crystal_hz, baud)
        self.core = BoardCore(engine, rate, engine_hz=self._clocking.engine_hz, target=board.target, **options)

    def elaborate(self, platform):
        m = Module()
        m.submodules.clocking = self._clocking
        m.submodules.core = core = self.core
        connect_pins(m, platform, self._board, rx=core.rx, tx=core.tx, heartbeat=core.heartbeat, error=core.error)
        return m
