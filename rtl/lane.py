"""Epilogue lanes: accumulators in, finished elements out, one a cycle."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .adder import PipelinedAdder
from .delay import delay
from .drain import element_tag
from .fields import layout, width
from .formats import bias_fields, container_width, scale_fields
from .interval import Interval
from .parameters import ParameterStore, write_signature
from .rounding_shift import RoundingShift
from .wide_multiplier import WideMultiplier

__all__ = ["EpilogueLane", "RawLane", "output_mode", "round_mode"]


def round_mode(config):
    """What a tile says about rounding: which of the built families."""
    return data.StructLayout({"family": range(max(len(config.epilogue.families), 2))})


def output_mode(config):
    """What a tile says about its output: zero point and clamp bounds, where there is an epilogue, and its columns."""
    cols = {"cols": range(max(config.cols, 2))}
    if config.epilogue is None:
        return data.StructLayout(cols)
    element = Shape(config.output_type.width, config.output_type.signed)
    return data.StructLayout({"zp": element, "lo": element, "hi": element} | cols)


class EpilogueLane(wiring.Component):
    """``clamp(requantize(acc + bias) + zp)`` for the columns of one lane.

    Nothing wraps: each width is that of the exact range of the value, and saturation happens once, before the zero
    point, at a bound that the zero point cannot bring back into range. Records and modes are not carried through the
    pipeline with every element; each stage keeps its own and changes it when a tile's first element arrives, taking
    modes from the same stage of the lane before it.

    Parameters
    ----------
    config : EngineConfig
    number : int
        Which lane it is, from 0.

    Members
    -------
    acc, tag : In, an accumulator and its ``element_tag``
    bias_write, scale_write : In, from the loaders
    round_mode, output_mode : In, the modes of the tile whose first element is at the stage that reads them
    round_mode_out, output_mode_out : Out, the modes this lane uses, for the next lane
    o : Out, the element, :attr:`latency` cycles later

    Latency
    -------
    :attr:`latency` cycles, one element a cycle. ``round_mode`` is taken :attr:`round_stage` cycles and ``output_mode``
    :attr:`output_stage` cycles after a tag with ``start``; the last readers of bias and scale records swap
    :attr:`bias_stage` and :attr:`scale_stage` cycles after it.
    """

    #: Cycles for which an element is in the stages that read the output mode.
    MODE_AGE = 3

    def __init__(self, config, number):
        self._config = config
        self._first = number * config.group
        epilogue, output = config.epilogue, config.output_type
        acc_range = config.acc_range
        sum_width = (acc_range + Interval.signed(epilogue.BIAS_WIDTH)).signed_width
        self._adder = PipelinedAdder(acc_range.signed_width, epilogue.BIAS_WIDTH, sum_width)
        self._multiplier = WideMultiplier(sum_width, epilogue.MULTIPLIER_WIDTH)
        self._shift = RoundingShift(sum_width + epilogue.MULTIPLIER_WIDTH, output.width, epilogue.families)
        self._sum_stage = 1 + self._adder.latency
        self._product_stage = self._sum_stage + self._multiplier.latency
        self.bias_stage = 0
        self.scale_stage = self._product_stage - 1
        self.round_stage = self._product_stage + RoundingShift.FAMILY_STAGE - 1
        self.output_stage = self._product_stage + RoundingShift.LATENCY - 1
        self.latency = self.output_stage + 1 + self.MODE_AGE
        super().__init__(
            {
                "acc": In(signed(acc_range.signed_width)),
                "tag": In(element_tag(config)),
                "bias_write": In(write_signature(width(bias_fields(epilogue)), config.cols)),
                "scale_write": In(write_signature(width(scale_fields(epilogue)), config.cols)),
                "round_mode": In(round_mode(config)),
                "round_mode_out": Out(round_mode(config)),
                "output_mode": In(output_mode(config)),
                "output_mode_out": Out(output_mode(config)),
                "o": Out(Shape(container_width(output), output.signed)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.adder, m.submodules.multiplier, m.submodules.shift = self._adder, self._multiplier, self._shift
        start = [self.tag.start]
        for stage in range(1, self.output_stage + 1):
            start.append(delay(m, start[-1], 1, f"start_{stage}", reset_less=False))

        def store(name, fields, write, swap, stage):
            """The record of the element that reaches ``stage`` in the next cycle."""
            store = ParameterStore(width(fields), config.cols, self._first, config.group)
            m.submodules[name] = store
            m.d.comb += [
                store.swap.eq(delay(m, swap, stage, f"{name}_swap", reset_less=False)),
                store.index.eq(delay(m, self.tag.index, stage, f"{name}_index")),
            ]
            wiring.connect(m, wiring.flipped(write), store.write)
            return data.View(layout(fields), store.o)

        bias = store("bias", bias_fields(config.epilogue), self.bias_write, self.tag.swap_bias, self.bias_stage)
        m.d.comb += [self._adder.a.eq(delay(m, self.acc, 1, "acc")), self._adder.b.eq(bias.bias)]
        scale = scale_fields(config.epilogue)
        early = store("multiplier_store", scale, self.scale_write, self.tag.swap_scale, self._sum_stage - 1)
        m.d.comb += [self._multiplier.v.eq(self._adder.o), self._multiplier.m.eq(early.multiplier)]
        late = store("shift_store", scale, self.scale_write, self.tag.swap_scale, self.scale_stage)
        m.d.comb += [self._shift.p.eq(self._multiplier.p), self._shift.t.eq(late.shift)]

        rounding = Signal(round_mode(config))
        with m.If(start[self.round_stage]):
            m.d.sync += rounding.eq(self.round_mode)
        m.d.comb += [self._shift.family.eq(rounding.family), self.round_mode_out.eq(rounding)]

        output = Signal(output_mode(config))
        with m.If(start[self.output_stage]):
            m.d.sync += output.eq(self.output_mode)
        m.d.comb += self.output_mode_out.eq(output)
        shifted = Signal.like(self._shift.q + output.zp, reset_less=True)
        low, high = delay(m, output.lo, 1, "lo"), delay(m, output.hi, 1, "hi")
        below, above = Signal(reset_less=True), Signal(reset_less=True)
        clamped = Signal.like(self.o, reset_less=True)
        m.d.sync += [
            shifted.eq(self._shift.q + output.zp),
            below.eq(shifted < low),
            above.eq(shifted > high),
            clamped.eq(
                Mux(below, delay(m, low, 1, "lo2"), Mux(above, delay(m, high, 1, "hi2"), delay(m, shifted, 1, "y")))
            ),
        ]
        m.d.comb += self.o.eq(clamped)
        return m


class RawLane(wiring.Component):
    """Stands in for a lane where no epilogue is built: the accumulator itself, sign extended.

    Parameters, members and latency are those of :class:`EpilogueLane` as far as they apply.
    """

    MODE_AGE = EpilogueLane.MODE_AGE
    output_stage = 0
    latency = output_stage + 1 + MODE_AGE

    def __init__(self, config):
        self._config = config
        acc = signed(config.acc_range.signed_width)
        super().__init__(
            {
                "acc": In(acc),
                "tag": In(element_tag(config)),
                "output_mode": In(output_mode(config)),
                "output_mode_out": Out(output_mode(config)),
                "o": Out(signed(config.RAW_WIDTH)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        output = Signal(output_mode(self._config))
        with m.If(self.tag.start):
            m.d.sync += output.eq(self.output_mode)
        m.d.comb += [self.output_mode_out.eq(output), self.o.eq(delay(m, self.acc, self.latency, "acc"))]
        return m
