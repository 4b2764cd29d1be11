"""The epilogue lane: accumulators in, finished elements out, one a cycle."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .delay import delay
from .fields import layout, width
from .formats import bias_fields, lut_fields, scale_fields
from .numeric import Family
from .parameters import ParameterStore, write_signature
from .requantize import Requantizer
from .tags import element_tag, modes
from .terms import TermSum

__all__ = ["EpilogueLane"]


class EpilogueLane(wiring.Component):
    """``lut(clamp(requantize(acc + terms) + zp))`` for the columns of one lane.

    Nothing wraps: each width is that of the exact range of the value, and saturation happens once, before the zero
    point, at a bound that the zero point cannot bring back into range. Records and modes are not carried through the
    pipeline with every element; each stage keeps its own and changes it when a tile's first element arrives, taking
    modes from the same stage of the lane before it.

    Parameters
    ----------
    config : EngineConfig
    number : int
        Which lane it is, from 0.
    acc_range : Interval
        Of the accumulators.

    Members
    -------
    acc, tag : In, an accumulator and its ``element_tag``
    row, row_sum, aux_bias, aux_residual, table_write, table_write_en : In, as in ``TermSum``, as far as built
    bias_write, scale_write : In, from the loaders, as far as built
    lut_write, lut_write_en : In, a write into the activation table, where it is built
    term_mode, round_mode, output_mode : In, the modes of the tile whose first element is at the stage that reads them
    term_mode_out, round_mode_out, output_mode_out : Out, the modes this lane uses, for the next lane
    o, saturated : Out, the element and whether the clamp changed it, :attr:`latency` cycles later

    Latency
    -------
    :attr:`latency` cycles, one element a cycle. A mode is taken :attr:`mode_stages` cycles after a tag with ``start``;
    the last readers of bias and scale records swap :attr:`release_stages` cycles after it.
    """

    #: Cycles from the output mode in use to the clamped element.
    MODE_AGE = 4

    def __init__(self, config, number, acc_range):
        self._config = config
        self._first = number * config.group
        epilogue, output = config.epilogue, config.output_type
        self._terms = TermSum(config, acc_range)
        self._requantizer = Requantizer(config, len(self._terms.v))
        requantizer, start = self._requantizer, self._terms.latency
        self._multiplier_stage = start + requantizer.multiplier_stage - 1
        self._shift_stage = start + requantizer.shift_stage - 1
        self.mode_stages = {
            "term_mode": 0,
            "round_mode": start + requantizer.family_stage - 1,
            "output_mode": start + requantizer.latency - 1,
        }
        self.release_stages = {"bias": 0, "scale": self._shift_stage}
        self._lut_latency = 1 if epilogue.lut_banks else 0
        self.latency = start + requantizer.latency + self.MODE_AGE + self._lut_latency
        members = {name: member for name, member in self._terms.signature.members.items() if name in _PASSED_ON}
        members |= {
            "tag": In(element_tag(config)),
            "scale_write": In(write_signature(width(scale_fields(config)), config.cols)),
            "o": Out(Shape(config.element_type.width, config.element_type.signed)),
            "saturated": Out(1),
        }
        if epilogue.uses_bias_stream:
            members["bias_write"] = In(write_signature(width(bias_fields(config)), config.cols))
        for name, shape in modes(config).items():
            members[name] = In(shape)
            members[f"{name}_out"] = Out(shape)
        if epilogue.lut_banks:
            members |= {"lut_write": In(layout(lut_fields(config))), "lut_write_en": In(1)}
        self._output = Shape(output.width, output.signed)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        terms, requantizer, epilogue = self._terms, self._requantizer, self._config.epilogue
        m.submodules.terms, m.submodules.requantizer = terms, requantizer
        used = {name: self._mode(m, name, self.mode_stages[name]) for name in modes(self._config)}
        m.d.comb += [getattr(terms, name).eq(getattr(self, name)) for name in _PASSED_ON if hasattr(terms, name)]
        m.d.comb += terms.use.eq(self.tag.use)
        if "term_mode" in used:
            m.d.comb += terms.mode.eq(used["term_mode"])
        if epilogue.uses_bias_stream:
            record = self._record(m, "bias", bias_fields(self._config), "bias_write", 0)
            m.d.comb += terms.record.eq(record)

        v = terms.v
        scale = scale_fields(self._config)
        early = self._record(m, "multiplier", scale, "scale_write", self._multiplier_stage)
        late = self._record(m, "shift", scale, "scale_write", self._shift_stage)
        multiplier, shift = early.multiplier, late.shift
        if epilogue.negative_scale:
            sign = delay(m, v[-1], requantizer.multiplier_stage, "sign")
            multiplier = Mux(sign, early.negative_multiplier, multiplier)
            sign = delay(m, sign, requantizer.shift_stage - requantizer.multiplier_stage, "sign_late")
            shift = Mux(sign, late.negative_shift, shift)
        m.d.comb += [
            requantizer.v.eq(v),
            requantizer.multiplier.eq(multiplier),
            requantizer.t.eq(shift),
            requantizer.family.eq(used["round_mode"].family),
        ]
        if Family.float32 in epilogue.families:
            m.d.comb += requantizer.float32.eq(delay(m, self.tag.float32, terms.latency, "float32"))
        self._finish(m, used["output_mode"], v)
        return m

    def _mode(self, m, name, stage):
        """The tile's mode at a stage, from the cycle after its first element was ``stage`` cycles on its way."""
        mode = Signal.like(getattr(self, name), name=f"{name}_used")
        with m.If(delay(m, self.tag.start, stage, f"{name}_start", reset_less=False)):
            m.d.sync += mode.eq(getattr(self, name))
        m.d.comb += getattr(self, f"{name}_out").eq(mode)
        return mode

    def _record(self, m, name, fields, write, stage):
        """The record of the element that is ``stage`` cycles on its way, in the next cycle."""
        swap = self.tag.swap_bias if write == "bias_write" else self.tag.swap_scale
        store = ParameterStore(width(fields), self._config.cols, self._first, self._config.group)
        m.submodules[f"{name}_store"] = store
        m.d.comb += [
            store.swap.eq(delay(m, swap, stage, f"{name}_swap", reset_less=False)),
            store.index.eq(delay(m, self.tag.index, stage, f"{name}_index")),
        ]
        wiring.connect(m, wiring.flipped(getattr(self, write)), store.write)
        return data.View(layout(fields), store.o)

    def _finish(self, m, mode, v):
        """Zero point, clamp and table; or the sum itself."""
        epilogue = self._config.epilogue
        q = self._requantizer.q
        y = Signal.like(q + mode.zp, reset_less=True)
        m.d.sync += y.eq(q + mode.zp)
        low, high = delay(m, mode.lo, 1, "lo"), delay(m, mode.hi, 1, "hi")
        below, above = Signal(reset_less=True), Signal(reset_less=True)
        # The sign of a difference ends a carry chain; a comparison would have to leave it.
        m.d.sync += [below.eq((y - low)[-1]), above.eq((high - y)[-1])]
        far_below = delay(m, self._requantizer.below, 2, "far_below")
        far_above = delay(m, self._requantizer.above, 2, "far_above")
        use_low, use_high = Signal(reset_less=True), Signal(reset_less=True)
        m.d.sync += [use_low.eq(far_below | (below & ~far_above)), use_high.eq(far_above | (above & ~far_below))]
        low, high, y = delay(m, low, 2, "lo_late"), delay(m, high, 2, "hi_late"), delay(m, y, 2, "y_late")
        clamped = Signal(self._output, reset_less=True)
        saturated = Signal(reset_less=True)
        m.d.sync += [clamped.eq(Mux(use_low, low, Mux(use_high, high, y))), saturated.eq(use_low | use_high)]
        element = clamped
        if epilogue.lut_banks:
            element = self._look_up(m, mode, clamped)
            saturated = delay(m, saturated, 1, "saturated")
        if epilogue.raw:
            raw_range = self._terms.range
            int32 = Signal(signed(32), name="raw", reset_less=True)
            top, bottom = (1 << 31) - 1, -1 << 31
            if raw_range.signed_width > 32:
                m.d.sync += int32.eq(Mux(v < bottom, bottom, Mux(v > top, top, v)))
            else:
                m.d.sync += int32.eq(v)
            wait = self._requantizer.latency + self.MODE_AGE + self._lut_latency
            raw = delay(m, mode.raw, self.MODE_AGE + self._lut_latency, "is_raw")
            element = Mux(raw, delay(m, int32, wait - 1, "raw"), element)
            saturated = saturated & ~raw
        m.d.comb += [self.o.eq(element), self.saturated.eq(saturated)]

    def _look_up(self, m, mode, clamped):
        """The entry for an element, one cycle later."""
        epilogue = self._config.epilogue
        size = 1 << len(clamped)
        m.submodules.lut = memory = Memory(shape=self._output, depth=epilogue.lut_banks * size, init=[])
        write, read = memory.write_port(), memory.read_port()
        bank = delay(m, mode.lut_bank, self.MODE_AGE, "lut_bank")
        used = delay(m, mode.use_lut, self.MODE_AGE + 1, "use_lut")
        m.d.comb += [
            write.addr.eq(Cat(self.lut_write.address, self.lut_write.bank)),
            write.data.eq(self.lut_write.value),
            write.en.eq(self.lut_write_en),
            read.addr.eq(Cat(clamped, bank)),
            read.en.eq(1),
        ]
        return Mux(used, read.data, delay(m, clamped, 1, "unlooked"))


#: Ports that the lane passes on to its ``TermSum``.
_PASSED_ON = ("acc", "row", "row_sum", "aux_bias", "aux_residual", "table_write", "table_write_en")
