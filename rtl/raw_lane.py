"""What stands in for an epilogue lane where no epilogue is built."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .delay import delay
from .tags import element_tag, modes

__all__ = ["RawLane"]


class RawLane(wiring.Component):
    """Hands out the accumulator itself, sign extended.

    Members and latency are those of :class:`~plusb.rtl.lane.EpilogueLane` as far as they apply.

    Parameters
    ----------
    config : EngineConfig
    acc_range : Interval
        Of the accumulators.
    """

    MODE_AGE = 4
    latency = 1 + MODE_AGE

    def __init__(self, config, acc_range):
        self.mode_stages = {"output_mode": 0}
        super().__init__(
            {
                "acc": In(signed(acc_range.signed_width)),
                "tag": In(element_tag(config)),
                "output_mode": In(modes(config)["output_mode"]),
                "output_mode_out": Out(modes(config)["output_mode"]),
                "o": Out(signed(config.element_type.width)),
                "saturated": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        mode = Signal.like(self.output_mode, name="output_mode_used")
        with m.If(self.tag.start):
            m.d.sync += mode.eq(self.output_mode)
        m.d.comb += [self.output_mode_out.eq(mode), self.o.eq(delay(m, self.acc, self.latency, "acc"))]
        return m
