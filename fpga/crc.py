"""CRC-32, one bit a clock: a UART byte takes so long that the parallel form would only cost area."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SerialCrc"]

_POLYNOMIAL = 0xEDB88320


class SerialCrc(wiring.Component):
    """The CRC-32 of ``zlib``.

    Members
    -------
    clear : ``In(1)``
        Start over.
    data : ``In(8)``
        A byte to take in while ``put`` is high; refused while ``busy``.
    busy : ``Out(1)``
        The last byte is still on its way in.
    value : ``Out(32)``
        The CRC of all bytes since ``clear``; meaningless while ``busy``.

    Latency
    -------
    9 clocks from ``put`` to ``value``.
    """

    clear: In(1)
    data: In(8)
    put: In(1)
    busy: Out(1)
    value: Out(32)

    def elaborate(self, platform):
        m = Module()
        state = Signal(32, init=0xFFFFFFFF)
        bits = Signal(8)
        left = Signal(range(9))
        m.d.comb += [self.busy.eq(left != 0), self.value.eq(~state)]
        with m.If(left != 0):
            feedback = Mux(state[0] ^ bits[0], Const(_POLYNOMIAL, 32), Const(0, 32))
            m.d.sync += [state.eq((state >> 1) ^ feedback), bits.eq(bits >> 1), left.eq(left - 1)]
        with m.Elif(self.put):
            m.d.sync += [bits.eq(self.data), left.eq(8)]
        with m.If(self.clear):
            m.d.sync += [state.eq(state.init), left.eq(0)]
        return m
