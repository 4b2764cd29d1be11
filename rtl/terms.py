"""The sum of terms: everything that is added to an accumulator before it is requantized."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .adder import PipelinedAdder
from .delay import delay
from .fields import layout
from .formats import bias_fields, row_fields, table_fields
from .interval import Interval
from .multiplier import Multiplier
from .tags import modes, use_layout

__all__ = ["TermSum"]


class TermSum(wiring.Component):
    """``acc`` plus every built term that the tile uses; the widths grow with the exact range of the sum.

    Parameters
    ----------
    config : EngineConfig
    acc_range : Interval
        Of the accumulator.

    Members
    -------
    acc, use : In, the accumulator and which terms its tile uses
    row, row_sum, aux_bias, aux_residual : In, what belongs to its row and element, as far as built; with ``acc``
    record, mode : In, the column's record and the tile's ``term_mode``, as far as built; one cycle after ``acc``
    table_write : In, ``{address, value}`` and ``table_write_en``; only with the ``relative`` form
    v : ``Out(signed(range.signed_width))``, :attr:`latency` cycles after ``acc``

    Latency
    -------
    :attr:`latency` cycles, one element a cycle.
    """

    def __init__(self, config, acc_range):
        self._config = config
        epilogue = config.epilogue
        stored = Interval.signed(epilogue.bias_width)
        product = 1 + Multiplier.LATENCY
        #: Name, range and the cycle (after ``acc``) in which each term is there.
        self._terms = []
        if "channel" in epilogue.bias:
            self._terms.append(("channel", epilogue.channel_range, 2 if epilogue.bias_shift_width else 1))
        if "scalar" in epilogue.bias:
            self._terms.append(("scalar", stored, 1))
        for form, cycle in (("row", 1), ("tile", 1), ("relative", 3)):
            if form in epilogue.bias:
                self._terms.append((form, stored, cycle))
        if epilogue.weight_zero_point:
            term = -(config.row_sum_range * Interval.of(config.weight_type))
            self._terms.append(("weight_zero_point", term, product))
        if epilogue.row_zero_point:
            term = -(Interval.of(config.activation_type) * config.column_sum_range)
            self._terms.append(("row_zero_point", term, product))
        if epilogue.residual:
            output = Interval.of(config.output_type)
            term = (output + -output) * Interval.signed(epilogue.RESIDUAL_MULTIPLIER_WIDTH)
            self._terms.append(("residual", term, product + 1))

        self.range, self.latency = acc_range, 1
        self._adders = []
        for _, term, cycle in self._terms:
            total = (self.range + term) | self.range
            adder = PipelinedAdder(self.range.signed_width, term.signed_width, total.signed_width)
            self._adders.append(adder)
            self.latency = max(self.latency, cycle) + adder.latency
            self.range = total

        members = {
            "acc": In(signed(acc_range.signed_width)),
            "use": In(use_layout(config)),
            "v": Out(signed(self.range.signed_width)),
        }
        if epilogue.uses_bias_stream:
            members["record"] = In(layout(bias_fields(config)))
        if "term_mode" in modes(config):
            members["mode"] = In(modes(config)["term_mode"])
        if epilogue.uses_row_stream:
            members["row"] = In(layout(row_fields(config)))
        if epilogue.weight_zero_point:
            members["row_sum"] = In(signed(config.row_sum_range.signed_width))
        if "tile" in epilogue.bias:
            members["aux_bias"] = In(signed(epilogue.bias_width))
        if epilogue.residual:
            members["aux_residual"] = In(Shape(config.output_type.width, config.output_type.signed))
        if "relative" in epilogue.bias:
            members["table_write"] = In(layout(table_fields(config)))
            members["table_write_en"] = In(1)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        total, age = delay(m, self.acc, 1, "acc"), 1
        for (name, term, cycle), adder in zip(self._terms, self._adders, strict=True):
            value = Signal(signed(term.signed_width), name=name)
            m.d.comb += value.eq(getattr(self, f"_{name}")(m))
            start = max(age, cycle)
            m.submodules[f"add_{name}"] = adder
            m.d.comb += [
                adder.a.eq(delay(m, total, start - age, f"{name}_total")),
                adder.b.eq(delay(m, value, start - cycle, f"{name}_late")),
            ]
            if name != "scalar":  # its absence is 0
                m.d.comb += adder.keep.eq(delay(m, self.use[name], start, f"use_{name}"))
            total, age = adder.o, start + adder.latency
        m.d.comb += self.v.eq(total)
        return m

    def _channel(self, m):
        epilogue = self._config.epilogue
        if not epilogue.bias_shift_width:
            return self.record.bias
        amount = self.record.bias_shift if epilogue.bias_storage == "chshift" else self.mode.bias_shift
        # A number in the record or command beyond the widest shift would leave 32 bits: it counts as the widest.
        widest = 32 - epilogue.bias_width
        amount = Mux(amount > widest, widest, amount)
        shifted = Signal(signed(epilogue.channel_range.signed_width), name="shifted_bias", reset_less=True)
        m.d.sync += shifted.eq(self.record.bias << amount)
        return shifted

    def _scalar(self, m):
        return self.mode.scalar

    def _row(self, m):
        return delay(m, self.row.bias, 1, "row_bias")

    def _tile(self, m):
        return delay(m, self.aux_bias, 1, "tile_bias")

    def _relative(self, m):
        depth = self._config.epilogue.relative_depth
        m.submodules.table = memory = Memory(shape=signed(self._config.epilogue.bias_width), depth=depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        address = Signal(range(depth), name="table_address", reset_less=True)
        m.d.sync += address.eq(delay(m, self.row.relative, 1, "relative_row") - self.record.relative)
        m.d.comb += [
            write.addr.eq(self.table_write.address),
            write.data.eq(self.table_write.value),
            write.en.eq(self.table_write_en),
            read.addr.eq(address),
            read.en.eq(1),
        ]
        return read.data

    def _product(self, m, name, a, b):
        """``a * b`` of two signed or unsigned values, ``Multiplier.LATENCY`` cycles later."""
        widths = [len(value) + (not value.shape().signed) for value in (a, b)]
        m.submodules[name] = unit = Multiplier(*widths)
        m.d.comb += [unit.a.eq(a), unit.b.eq(b)]
        return unit.p

    def _weight_zero_point(self, m):
        row_sum = delay(m, self.row_sum, 1, "row_sum")
        return self._product(m, "weight_zero_point", row_sum, -self.record.zw)

    def _row_zero_point(self, m):
        zx = delay(m, self.row.zx, 1, "row_zx")
        return self._product(m, "row_zero_point", self.record.colsum, -zx)

    def _residual(self, m):
        difference = Signal.like(self.aux_residual - self.mode.residual_zp, name="residual_difference", reset_less=True)
        m.d.sync += difference.eq(delay(m, self.aux_residual, 1, "residual") - self.mode.residual_zp)
        multiplier = delay(m, self.mode.residual_multiplier, 1, "residual_multiplier")
        return self._product(m, "residual", difference, multiplier)
