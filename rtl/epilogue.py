"""The row of epilogue lanes: the array's last row, from accumulators to assembled rows."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .admission import row_terms
from .delay import delay
from .fields import layout, width
from .formats import aux_layout, bias_fields, lut_fields, row_fields, row_layout, scale_fields, table_fields
from .lane import EpilogueLane
from .mode_queue import ModeQueue
from .parameters import ParameterLoader
from .raw_lane import RawLane
from .row_feed import RowFeed
from .table_guard import TableGuard
from .tags import element_tag, modes

__all__ = ["EpilogueRow", "side_streams"]


def side_streams(config, *, engine=True):
    """Payload shapes of the streams that an epilogue takes beside the accumulators, by name."""
    epilogue = config.epilogue
    if epilogue is None:
        return {}
    streams = {}
    if epilogue.uses_bias_stream:
        streams["bias"] = unsigned(width(bias_fields(config)))
    streams["scale"] = unsigned(width(scale_fields(config)))
    if row_fields(config, engine=engine):
        streams["row"] = layout(row_fields(config, engine=engine))
    if epilogue.uses_aux_stream:
        streams["aux"] = aux_layout(config)
    if "relative" in epilogue.bias:
        streams["table"] = layout(table_fields(config))
    if epilogue.lut_banks:
        streams["lut"] = layout(lut_fields(config))
    return streams


class EpilogueRow(wiring.Component):
    """L lanes, their parameter loaders and mode queues, and the deskew of their results.

    Parameters
    ----------
    config : EngineConfig
    acc_range : Interval
        Of the accumulators.
    skew : int
        Cycles by which each lane lags behind the lane before it: G behind an array, 0 if all see a row at once.
    lead : int
        Cycles from a ``push`` to the tag of its tile at the first lane, while rows keep coming; it sizes queues.
    period : int
        Fewest cycles between the pushes of two tiles; it sizes queues.
    engine : bool
        Whether row sums come from an array (``row_sum``) or with the row stream.

    Members
    -------
    acc : In, one accumulator a lane
    tag : ``In(element_tag(config))``, of the first lane's accumulator
    row_sum : In, of the first lane's row; where there are weight zero points and an array
    bias, scale, row, aux, table, lut : In, the streams of :func:`side_streams`
    bias_available, scale_available : ``Out(1)``; bias_claim, scale_claim : ``In(1)``
    table_ready, lut_ready : Out; table_claim, table_free, lut_claim, lut_free : In; a bit for each bank
    row_count, aux_count : Out, rows of these streams that no tile has claimed; row_claim, aux_claim : In, rows claimed
    push : ``In(1)``, the modes of a tile are given, once a tile and in order
    term_mode, round_mode, output_mode : In, with ``push``
    row_out, row_valid : Out, an assembled row; it must be taken
    saturated : Out, of each element of the row whether the clamp changed it

    Latency
    -------
    :attr:`latency` cycles from the first element of a row, at the first lane, to the row. One row each G cycles.
    """

    def __init__(self, config, acc_range, *, skew, lead, period, engine=True):
        self._config, self._skew, self._engine = config, skew, engine
        if config.epilogue is None:
            self._lanes = [RawLane(config, acc_range) for _ in range(config.lanes)]
        else:
            self._lanes = [EpilogueLane(config, number, acc_range) for number in range(config.lanes)]
        #: Cycles from the tag at the first lane to the same row's tag at the last.
        self._spread = skew * (config.lanes - 1)
        self.latency = self._lanes[0].latency + config.group - 1 + self._spread
        self._queue_depth = (lead + self._lanes[0].latency) // period + 3
        # Rows on their way at full speed, so that waiting for them costs no cycle.
        self.feed_depth = 1 << (config.rows * (2 + (lead + self._spread) // period) - 1).bit_length()
        self._streams = side_streams(config, engine=engine)
        members = {
            "acc": In(data.ArrayLayout(signed(acc_range.signed_width), config.lanes)),
            "tag": In(element_tag(config)),
            "push": In(1),
            "row_out": Out(row_layout(config)),
            "row_valid": Out(1),
            "saturated": Out(config.cols),
        }
        members |= {name: In(shape) for name, shape in modes(config).items()}
        members |= {name: In(stream.Signature(shape)) for name, shape in self._streams.items()}
        self._guards = self._table_guards()
        for name, guard in self._guards.items():
            members[f"{name}_ready"] = Out(guard.ready.shape())
            members |= {f"{name}_{part}": In(guard.claim.shape()) for part in ("claim", "free")}
        for name in ("bias", "scale"):
            if name in self._streams:
                members |= {f"{name}_available": Out(1), f"{name}_claim": In(1)}
        for name in ("row", "aux"):
            if name in self._streams:
                members[f"{name}_count"] = Out(range(self.feed_depth + 1))
                members[f"{name}_claim"] = In(range(config.rows + 1))
        if engine and config.epilogue is not None and config.epilogue.weight_zero_point:
            members["row_sum"] = In(signed(config.row_sum_range.signed_width))
        super().__init__(members)

    def _table_guards(self):
        config, guards = self._config, {}
        if "table" in self._streams:
            depth = config.epilogue.relative_depth
            guards["table"] = TableGuard(table_fields(config), banks=1, depth=depth, tiles=2 * self._queue_depth)
        if "lut" in self._streams:
            banks, depth = config.epilogue.lut_banks, 1 << config.output_type.width
            guards["lut"] = TableGuard(lut_fields(config), banks=banks, depth=depth, tiles=2 * self._queue_depth)
        return guards

    def elaborate(self, platform):
        m = Module()
        tags = self._connect_lanes(m)
        for name in modes(self._config):
            self._connect_modes(m, name)
        for name in ("bias", "scale"):
            if name in self._streams:
                self._connect_loader(m, name)
        if "row" in self._streams or hasattr(self, "row_sum"):
            self._connect_rows(m, tags)
        if "aux" in self._streams:
            self._connect_aux(m, tags)
        self._assemble(m)
        return m

    def _connect_lanes(self, m):
        tags = [self.tag]
        for number, lane in enumerate(self._lanes):
            m.submodules[f"lane_{number}"] = lane
            if number:
                tags.append(delay(m, tags[-1], self._skew, f"tag_{number}", reset_less=False))
            m.d.comb += [lane.acc.eq(self.acc[number]), lane.tag.eq(tags[number])]
        return tags

    def _connect_modes(self, m, name):
        """A queue before the first lane; behind it each lane takes the mode of the lane before it."""
        source = getattr(self, name)
        m.submodules[f"{name}_queue"] = queue = ModeQueue(source.shape(), self._queue_depth)
        start = delay(m, self.tag.start, self._lanes[0].mode_stages[name], f"{name}_start", reset_less=False)
        m.d.comb += [queue.i.eq(source), queue.push.eq(self.push), queue.take.eq(start)]
        for number, lane in enumerate(self._lanes):
            before = self._lanes[number - 1] if number and self._skew else None
            m.d.comb += getattr(lane, name).eq(queue.o if before is None else getattr(before, f"{name}_out"))

    def _connect_loader(self, m, name):
        port = getattr(self, name)
        m.submodules[f"{name}_loader"] = loader = ParameterLoader(len(port.payload), self._config.cols)
        wiring.connect(m, wiring.flipped(port), loader.i)
        swap = self.tag.swap_bias if name == "bias" else self.tag.swap_scale
        release = delay(m, swap, self._lanes[0].release_stages[name], f"{name}_release", reset_less=False)
        m.d.comb += [
            getattr(self, f"{name}_available").eq(loader.available),
            loader.claim.eq(getattr(self, f"{name}_claim")),
            loader.release.eq(release),
        ]
        for lane in self._lanes:
            write = getattr(lane, f"{name}_write")
            m.d.comb += [getattr(write, part).eq(getattr(loader.write, part)) for part in write.signature.members]

    def _connect_table(self, m, name, release):
        """Writes into a table that every lane has a copy of."""
        port = getattr(self, name)
        m.submodules[f"{name}_guard"] = guard = self._guards[name]
        wiring.connect(m, wiring.flipped(port), guard.i)
        m.d.comb += [
            getattr(self, f"{name}_ready").eq(guard.ready),
            guard.claim.eq(getattr(self, f"{name}_claim")),
            guard.free.eq(getattr(self, f"{name}_free")),
            guard.release.eq(release),
        ]
        for lane in self._lanes:
            write = getattr(lane, f"{name}_write")
            m.d.comb += [write[part].eq(guard.word[part]) for part in write.shape().members]
            m.d.comb += getattr(lane, f"{name}_write_en").eq(guard.valid)

    def _takes(self, tag, *terms):
        """Whether an element is its row's last and the row has words for one of the terms."""
        used = Cat(tag.use[term] for term in terms if term in tag.use.shape().members).any()
        return tag.valid & used & (tag.index == self._config.group - 1)

    def _connect_rows(self, m, tags):
        """What belongs to a row goes from lane to lane with it."""
        info, row_sum = None, self.row_sum if hasattr(self, "row_sum") else None
        if "row" in self._streams:
            m.submodules.row_feed = feed = RowFeed(self.row.payload.shape(), self.feed_depth, self._config.rows)
            wiring.connect(m, wiring.flipped(self.row), feed.i)
            terms = row_terms(self._config, "row", engine=self._engine)
            m.d.comb += [
                self.row_count.eq(feed.count),
                feed.claim.eq(self.row_claim),
                feed.take.eq(self._takes(tags[0], *terms)),
            ]
            info = feed.o
            if not self._engine and self._config.epilogue.weight_zero_point:
                row_sum = info.row_sum
        for number, lane in enumerate(self._lanes):
            if number and info is not None:
                info = delay(m, info, self._skew, f"row_{number}")
            if number and row_sum is not None:
                row_sum = delay(m, row_sum, self._skew, f"row_sum_{number}")
            if hasattr(lane, "row"):
                m.d.comb += [lane.row[name].eq(info[name]) for name in lane.row.shape().members]
            if row_sum is not None:
                m.d.comb += lane.row_sum.eq(row_sum)

    def _connect_aux(self, m, tags):
        """Each lane has a feed of its own, so that a row's elements need no skew."""
        group = self._config.group
        ready = []
        for number, lane in enumerate(self._lanes):
            words = self.aux.payload.shape().members.items()
            slices = {name: data.ArrayLayout(elements.elem_shape, group) for name, elements in words}
            feed = RowFeed(data.StructLayout(slices), self.feed_depth, self._config.rows)
            m.submodules[f"aux_feed_{number}"] = feed
            ready.append(feed.i.ready)
            m.d.comb += [
                feed.i.valid.eq(self.aux.valid & self.aux.ready),
                feed.claim.eq(self.aux_claim),
                feed.take.eq(self._takes(tags[number], *row_terms(self._config, "aux", engine=self._engine))),
            ]
            if number == 0:
                m.d.comb += self.aux_count.eq(feed.count)
            for name in slices:
                for index in range(group):
                    m.d.comb += feed.i.payload[name][index].eq(self.aux.payload[name][number * group + index])
                m.d.comb += getattr(lane, f"aux_{name}").eq(feed.o[name][tags[number].index])
        # The last lane takes a row last, so that its feed is the fullest.
        m.d.comb += self.aux.ready.eq(ready[-1])

    def _assemble(self, m):
        """Delays each column's element until the row's last one is there."""
        config, last = self._config, self._lanes[-1]
        element = Shape.cast(config.element_type.width)
        for number, lane in enumerate(self._lanes):
            value = Cat(lane.o, lane.saturated)
            value = delay(m, value, self._skew * (config.lanes - 1 - number), f"deskew_{number}")
            for index in reversed(range(config.group)):
                column = number * config.group + index
                m.d.comb += [
                    self.row_out.data[column].eq(value[: element.width]),
                    self.saturated[column].eq(value[-1]),
                ]
                if index:
                    value = delay(m, value, 1, f"deskew_{number}_{index}")
        # The row is complete with its last element; told before the delay, so that a register writes the output buffer.
        complete = self.tag.valid & (self.tag.index == config.group - 1)
        wait = last.latency + self._spread
        row_valid = delay(m, complete, wait, "row_valid", reset_less=False)
        end = delay(m, self.tag, wait, "end", reset_less=False)
        age = last.latency - last.mode_stages["output_mode"] - 1
        mode = delay(m, last.output_mode_out, age, "output_mode_end")
        m.d.comb += [
            self.row_valid.eq(row_valid),
            self.row_out.last.eq(end.last),
            self.row_out.keep.eq(Cat(mode.cols >= column for column in range(config.cols))),
        ]
        through = self.row_valid & end.last
        if "table" in self._guards:
            self._connect_table(m, "table", through & end.use.relative)
        if "lut" in self._guards:
            bank = Const(1) << mode.lut_bank
            self._connect_table(m, "lut", Mux(through & mode.use_lut, bank, 0))
