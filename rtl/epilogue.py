"""The row of epilogue lanes: the array's last row, from accumulators to assembled rows."""

from amaranth import *
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from .delay import delay
from .drain import element_tag
from .fields import width
from .formats import bias_fields, row_layout, scale_fields
from .lane import EpilogueLane, RawLane, output_mode, round_mode
from .parameters import ParameterLoader

__all__ = ["EpilogueRow"]


class EpilogueRow(wiring.Component):
    """L lanes, their parameter loaders and mode queues, and the deskew of their results.

    Parameters
    ----------
    config : EngineConfig
    skew : int
        Cycles by which each lane lags behind the lane before it: G behind an array, 0 if all see a row at once.
    lead : int
        Most cycles from a ``push`` to the tag of its tile at the first lane; it sizes the mode queues.

    Members
    -------
    acc : In, one accumulator a lane
    tag : ``In(element_tag(config))``, of the first lane's accumulator
    bias, scale : ``In(stream.Signature(...))``, records of C columns; only with an epilogue
    bias_available, scale_available : ``Out(1)``; bias_claim, scale_claim : ``In(1)``; only with an epilogue
    push : ``In(1)``, the modes of a tile are given, once a tile and in order
    round_mode, output_mode : In, with ``push``; the first only with an epilogue
    row, row_valid : Out, an assembled row; it must be taken

    Latency
    -------
    :attr:`latency` cycles from the first element of a row, at the first lane, to the row. One row each G cycles.
    """

    def __init__(self, config, *, skew, lead):
        self._config, self._skew = config, skew
        if config.epilogue is None:
            self._lanes = [RawLane(config) for _ in range(config.lanes)]
        else:
            self._lanes = [EpilogueLane(config, number) for number in range(config.lanes)]
        self.latency = self._lanes[0].latency + config.group - 1 + skew * (config.lanes - 1)
        self._queue_depth = (lead + self._lanes[0].latency) // config.tile_period + 2
        members = {
            "acc": In(data.ArrayLayout(signed(config.acc_range.signed_width), config.lanes)),
            "tag": In(element_tag(config)),
            "push": In(1),
            "output_mode": In(output_mode(config)),
            "row": Out(row_layout(config)),
            "row_valid": Out(1),
        }
        if config.epilogue is not None:
            members["round_mode"] = In(round_mode(config))
            for name, fields in (("bias", bias_fields(config.epilogue)), ("scale", scale_fields(config.epilogue))):
                members[name] = In(stream.Signature(width(fields)))
                members[f"{name}_available"] = Out(1)
                members[f"{name}_claim"] = In(1)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        config = self._config
        tag = self.tag
        for number, lane in enumerate(self._lanes):
            m.submodules[f"lane_{number}"] = lane
            m.d.comb += [lane.acc.eq(self.acc[number]), lane.tag.eq(tag)]
            tag = delay(m, tag, self._skew, f"tag_{number}", reset_less=False)
        self._connect_modes(m, "output_mode", "output_stage")
        if config.epilogue is not None:
            self._connect_modes(m, "round_mode", "round_stage")
            self._connect_loader(m, "bias", self._lanes[0].bias_stage)
            self._connect_loader(m, "scale", self._lanes[0].scale_stage)
        self._assemble(m)
        return m

    def _connect_modes(self, m, mode, stage):
        """A queue before the first lane; behind it each lane takes the mode of the lane before it."""
        first = self._lanes[0]
        source = getattr(self, mode)
        m.submodules[f"{mode}_queue"] = queue = fifo.SyncFIFO(width=len(source.as_value()), depth=self._queue_depth)
        m.d.comb += [queue.w_data.eq(source), queue.w_en.eq(self.push)]
        m.d.comb += queue.r_en.eq(
            delay(m, self.tag.start, getattr(first, stage), f"{mode}_start", reset_less=False)
        )
        for number, lane in enumerate(self._lanes):
            before = self._lanes[number - 1] if number and self._skew else None
            value = queue.r_data if before is None else getattr(before, f"{mode}_out")
            m.d.comb += getattr(lane, mode).eq(value)

    def _connect_loader(self, m, name, stage):
        port = getattr(self, name)
        m.submodules[f"{name}_loader"] = loader = ParameterLoader(len(port.payload), self._config.cols)
        wiring.connect(m, wiring.flipped(port), loader.i)
        release = delay(m, getattr(self.tag, f"swap_{name}"), stage, f"{name}_release", reset_less=False)
        m.d.comb += [
            getattr(self, f"{name}_available").eq(loader.available),
            loader.claim.eq(getattr(self, f"{name}_claim")),
            loader.release.eq(release),
        ]
        for lane in self._lanes:
            write = getattr(lane, f"{name}_write")
            m.d.comb += [getattr(write, part).eq(getattr(loader.write, part)) for part in write.signature.members]

    def _assemble(self, m):
        """Delays each column's element until the row's last one is there."""
        config, last = self._config, self._lanes[-1]
        for number, lane in enumerate(self._lanes):
            value = lane.o
            wait = self._skew * (config.lanes - 1 - number)
            value = delay(m, value, wait, f"deskew_{number}")
            for index in reversed(range(config.group)):
                column = number * config.group + index
                m.d.comb += self.row.data[column].eq(value)
                if index:
                    value = delay(m, value, 1, f"deskew_{number}_{index}")
        end = Signal.like(self.tag)
        wait = last.latency + self._skew * (config.lanes - 1)
        m.d.comb += end.eq(delay(m, self.tag, wait, "end", reset_less=False))
        cols = delay(m, last.output_mode_out.cols, last.MODE_AGE, "cols")
        m.d.comb += [
            self.row_valid.eq(end.valid & (end.index == config.group - 1)),
            self.row.last.eq(end.last),
            self.row.keep.eq(Cat(cols >= column for column in range(config.cols))),
        ]
