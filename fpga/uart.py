"""A small UART: 8 data bits, no parity, one stop bit, at any rate the clock can sample."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["BAUD_MAX", "BAUD_MIN", "BaudRate", "UartReceiver", "UartTransmitter"]

# Below, a frame takes seconds; above, no USB adapter on these boards follows.
BAUD_MIN, BAUD_MAX = 9600, 3_000_000
# At the tenth bit, the sample must still be within half a bit of the middle: one clock is lost to the input's
# synchronizer, one more unless the divider is exact, and the two ends' rates may differ by 2% (adapters: 0.5%).
MISMATCH = 0.02
# Share of the two ends' tolerance that the divider's rounding may take.
ERROR_MAX = 0.001


@dataclass(frozen=True)
class BaudRate:
    """A bit rate made from a clock by a phase accumulator.

    Parameters
    ----------
    clock_hz : int
        Frequency of the clock domain.
    baud : int
        Bits a second.

    Attributes
    ----------
    width, step : int
        The accumulator's bits, and what it adds each clock; it overflows once a bit.

    Raises
    ------
    ValueError
        If the rate is out of range, or the clock is too slow to sample it.
    """

    clock_hz: int
    baud: int

    def __post_init__(self):
        if not BAUD_MIN <= self.baud <= BAUD_MAX:
            raise ValueError(f"baud must be in {BAUD_MIN}..{BAUD_MAX}, not {self.baud!r}")
        if self.clock_hz < self._clocks_needed(is_exact=self.actual == self.baud) * self.baud:
            bound = int(self.clock_hz / self._clocks_needed(is_exact=False))
            raise ValueError(
                f"baud must be at most {bound}, or a quarter of the clock, at a clock of {self.clock_hz / 1e6:g} MHz, "
                f"not {self.baud!r}: with fewer clocks a bit the receiver misses its middle"
            )

    @staticmethod
    def _clocks_needed(is_exact):
        return (1 if is_exact else 2) / (0.5 - 9.5 * MISMATCH)

    @property
    def width(self):
        """Bits of the accumulator: the fewest that keep the rate within 0.1%."""
        exact = self.baud / self.clock_hz
        return next(n for n in range(2, 32) if abs(round(exact * 2**n) / 2**n / exact - 1) <= ERROR_MAX)

    @property
    def step(self):
        """Added to the accumulator each clock."""
        return round(self.baud / self.clock_hz * 2**self.width)

    @property
    def actual(self):
        """The rate that results, in bits a second."""
        return self.step / 2**self.width * self.clock_hz


class UartTransmitter(wiring.Component):
    """Sends bytes.

    Parameters
    ----------
    rate : BaudRate

    Members
    -------
    i : ``In(stream.Signature(8))``
        Ready between two bytes.
    tx : ``Out(1)``
        The line, high at rest.
    """

    i: In(stream.Signature(8))
    tx: Out(1, init=1)

    def __init__(self, rate):
        self._rate = rate
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        phase = Signal(self._rate.width)
        tick = Signal()
        bits = Signal(9)  # data and stop bit; the start bit is on the line already
        left = Signal(range(11))

        m.d.comb += self.i.ready.eq(left == 0)
        with m.If(left == 0):
            m.d.sync += [phase.eq(0), tick.eq(0)]
            with m.If(self.i.valid):
                m.d.sync += [bits.eq(Cat(self.i.payload, 1)), left.eq(10), self.tx.eq(0)]
        with m.Else():
            m.d.sync += Cat(phase, tick).eq(phase + self._rate.step)
            with m.If(tick):
                m.d.sync += [Cat(self.tx, bits).eq(Cat(bits, 1)), left.eq(left - 1)]
        return m


class UartReceiver(wiring.Component):
    """Receives bytes.

    Parameters
    ----------
    rate : BaudRate

    Members
    -------
    rx : ``In(1)``
        The line; need not be synchronous.
    o : ``Out(stream.Signature(8, always_ready=True))``
        Each byte for one clock.
    framing : ``Out(1)``
        High for one clock instead of ``o.valid`` if the stop bit was missing: noise, another rate or a break.
    """

    rx: In(1, init=1)
    o: Out(stream.Signature(8, always_ready=True))
    framing: Out(1)

    def __init__(self, rate):
        self._rate = rate
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        line = Signal(init=1)
        m.submodules.cdc = FFSynchronizer(self.rx, line, init=1)
        phase = Signal(self._rate.width)
        tick = Signal()
        bits = Signal(8)
        left = Signal(range(11))
        resting = Signal()

        m.d.comb += self.o.payload.eq(bits)
        m.d.sync += [self.o.valid.eq(0), self.framing.eq(0), resting.eq(line)]
        with m.If(left == 0):
            # Half a bit ahead, so that every overflow falls in the middle of a bit.
            m.d.sync += [phase.eq(1 << (self._rate.width - 1)), tick.eq(0)]
            # An edge, not a level: after a break the line must have been high.
            with m.If(resting & ~line):
                m.d.sync += left.eq(10)
        with m.Else():
            m.d.sync += Cat(phase, tick).eq(phase + self._rate.step)
            with m.If(tick):
                m.d.sync += left.eq(left - 1)
                with m.If(left == 1):
                    m.d.sync += [self.o.valid.eq(line), self.framing.eq(~line)]
                with m.Else():
                    m.d.sync += bits.eq(Cat(bits[1:], line))
                with m.If((left == 10) & line):
                    m.d.sync += left.eq(0)  # a spike, no start bit
        return m
