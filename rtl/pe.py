"""The processing element: one multiply-accumulate of an output-stationary array."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .accumulate import MaskedAdder
from .multiplier import Multiplier

__all__ = ["MAC_TAG", "ProcessingElement"]

#: Control that travels with the operands, :data:`Multiplier.LATENCY` cycles behind them: the slot holds a product
#: (``valid``), it starts a sum (``first``), it ends one (``last``). The last two are never set without ``valid``.
MAC_TAG = data.StructLayout({"valid": 1, "first": 1, "last": 1})


class ProcessingElement(wiring.Component):
    """Multiplies, accumulates and passes its operands on.

    The accumulator is cut in two halves, the upper of which works one cycle behind the lower: half the carry chain, at
    the price of a carry and a sign bit. On ``last`` the finished sum stands for one cycle (``low`` first, ``high`` a
    cycle later) and the next sum may start in that very cycle.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    a, w : In, the operands from the left and from above
    a_out, w_out : Out, the operands one cycle later
    tag, tag_out : ``In(MAC_TAG)``, ``Out(MAC_TAG)``, the latter one cycle later
    low, high : Out, halves of the accumulator; final while ``tag_out.last`` is set, ``high`` one cycle after it

    Latency
    -------
    ``Multiplier.LATENCY + 1`` cycles from the last operands to ``low``, one more to ``high``. One product a cycle.
    """

    def __init__(self, config):
        activation, weight = config.activation_type, config.weight_type
        self._acc_width = config.acc_range.signed_width
        self.low_width = -(-self._acc_width // 2)
        super().__init__(
            {
                "a": In(Shape(activation.width, activation.signed)),
                "w": In(Shape(weight.width, weight.signed)),
                "a_out": Out(Shape(activation.width, activation.signed)),
                "w_out": Out(Shape(weight.width, weight.signed)),
                "tag": In(MAC_TAG),
                "tag_out": Out(MAC_TAG),
                "low": Out(self.low_width),
                "high": Out(self._acc_width - self.low_width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        a_out = Signal.like(self.a, reset_less=True)
        w_out = Signal.like(self.w, reset_less=True)
        tag_out = Signal(MAC_TAG)
        m.d.sync += [a_out.eq(self.a), w_out.eq(self.w), tag_out.eq(self.tag)]
        m.d.comb += [self.a_out.eq(a_out), self.w_out.eq(w_out), self.tag_out.eq(tag_out)]

        # An unsigned operand gains a sign bit, so that one signed multiplier serves every pair of types.
        def signed_width(port):
            return port.shape().width + (not port.shape().signed)

        m.submodules.multiplier = multiplier = Multiplier(signed_width(self.a), signed_width(self.w))
        m.d.comb += [multiplier.a.eq(self.a), multiplier.b.eq(self.w)]
        product = Signal(signed(self._acc_width))
        m.d.comb += product.eq(multiplier.p)

        low = Signal(self.low_width, reset_less=True)
        carry = Signal(reset_less=True)
        m.submodules.low_adder = low_adder = MaskedAdder(len(low), carry_in=False)
        m.d.comb += [
            low_adder.a.eq(low),
            low_adder.b.eq(product[: self.low_width]),
            low_adder.keep.eq(~self.tag.first),
        ]
        m.d.sync += carry.eq(low_adder.o[-1])
        with m.If(self.tag.valid):
            m.d.sync += low.eq(low_adder.o)

        high = Signal(self._acc_width - self.low_width, reset_less=True)
        addend = Signal.like(high, reset_less=True)
        m.submodules.high_adder = high_adder = MaskedAdder(len(high), carry_out=False)
        m.d.sync += addend.eq(product[self.low_width :])
        m.d.comb += [
            high_adder.a.eq(high),
            high_adder.b.eq(addend),
            high_adder.keep.eq(~tag_out.first),
            high_adder.carry.eq(carry),
        ]
        with m.If(tag_out.valid):
            m.d.sync += high.eq(high_adder.o)
        m.d.comb += [self.low.eq(low), self.high.eq(high)]
        return m
