"""A model layer by layer on the unit (or the golden model), each compared with its runtime's tensor, as one report."""

from dataclasses import dataclass, field, replace

import numpy as np

from ..cost import Size, cycles
from ..models import run_layer
from ..reference import reference
from .common import CommandError

__all__ = ["LayerTotal", "ModelReport", "layer_sizes", "pick_layers", "report_json", "run_model"]


@dataclass(kw_only=True)
class LayerTotal:
    """One layer's figures, of all inputs together; sizes are those of one.

    Parameters
    ----------
    layer : GemmLayer
    ideal_cycles : int
        Cycles in which the array could do the multiplications of one input at best.
    predicted_cycles, cycles_epilogue_off : int
        By the cost model: with the epilogue, and for a unit without one.
    cycles : int or None
        Simulated; None on a board, and where the golden model took the unit's place.
    outputs, mismatches : int
        Compared with the runtime, and different.
    golden_mismatches : int
        Outputs of the hardware that differ from the golden model of the unit; counted where any is a mismatch.
    macs, seconds : int, float
    """

    layer: object
    ideal_cycles: int
    predicted_cycles: int = 0
    cycles_epilogue_off: int = 0
    cycles: int | None = None
    outputs: int = 0
    mismatches: int = 0
    golden_mismatches: int = 0
    macs: int = 0
    seconds: float = 0.0

    @property
    def utilization(self):
        """Share of the array's multiply-accumulates that were of use; by the prediction where nothing was simulated."""
        return self.ideal_cycles / (self.predicted_cycles if self.cycles is None else self.cycles)

    def as_json(self):
        """The figures as plain values."""
        layer = self.layer
        gemm = layer.groups[0].gemm
        return {
            "name": layer.name,
            "op": layer.op,
            "m": layer.m,
            "k": gemm.k,
            "n": gemm.n,
            "products": len(layer.groups),
            "macs": self.macs,
            "cycles": self.cycles,
            "predicted_cycles": self.predicted_cycles,
            "ideal_cycles": self.ideal_cycles,
            "utilization": self.utilization,
            "outputs": self.outputs,
            "mismatches": self.mismatches,
            "seconds": round(self.seconds, 6),
        }


@dataclass(kw_only=True)
class ModelReport:
    """What the run of a model showed.

    Parameters
    ----------
    config : str
        Name of the unit's configuration.
    inputs : int
        Inferences.
    layers : list of LayerTotal
    answers_differ : int or None
        Inferences whose answer, from the layers' outputs on, differs from the untouched model's in its runtime; None
        where only some layers ran.
    notes : list of str
        What a reader should know.
    """

    config: str
    inputs: int
    layers: list
    answers_differ: int | None = None
    notes: list = field(default_factory=list)

    def total(self, name):
        """Sum of one of the layers' figures; None where a layer has none."""
        values = [getattr(layer, name) for layer in self.layers]
        return None if None in values else sum(values)

    @property
    def passed(self):
        """Whether everything that was compared is equal."""
        return not self.total("mismatches") and not self.answers_differ

    @property
    def cycles_per_second(self):
        """Simulated cycles in a second of wall time; None without a simulation."""
        return None if self.total("cycles") is None else self.total("cycles") / self.total("seconds")


def layer_sizes(layer):
    """Sizes of a layer's products, for the cost model."""
    return [Size(layer.m, group.gemm.k, group.gemm.n) for group in layer.groups]


def pick_layers(layers, text):
    """The layers that ``--layers`` names: names, numbers of operators, and ranges ``n..m`` of these, between commas.

    Raises
    ------
    CommandError
        If there is no such layer.
    """
    if text is None:
        return list(layers)
    known = [layer.spec.index for layer in layers]
    wanted = set()
    for part in (part.strip() for part in text.split(",")):
        first, dots, last = part.partition("..")
        ends = (first, last) if dots else (part, part)
        if all(end.isdecimal() for end in ends):
            found = {index for index in known if int(ends[0]) <= index <= int(ends[1])}
        else:
            found = {layer.spec.index for layer in layers if layer.name == part}
        if not found:
            names = ", ".join(layer.name for layer in layers)
            raise CommandError(f"argument --layers: must name layers of {names}, not {part!r}")
        wanted |= found
    return [layer for layer in layers if layer.spec.index in wanted]


def run_model(name, config, session, inputs, *, unit=None, layers=None, progress=None):
    """Run layers of a model on each input, every layer on the tensor that the runtime has there.

    A layer that errs is so found by itself, and does not blame those behind it. Where all layers ran, the host runs the
    other operators on what the hardware made, up to the model's answer.

    Parameters
    ----------
    name : str
        Of the unit's configuration, for the report.
    config : EngineConfig
    session : Session
        With the groupings of the unit.
    inputs : list of list of array
    unit : ModelUnit or None
        None takes the golden model of the unit.
    layers : list of GemmLayer or None
        Those to run; all if left out.
    progress : callable or None
        Called now and then with a layer's name and the share of the whole work that is done, 0 to 1.

    Returns
    -------
    ModelReport
    """
    layers = list(session.layers) if layers is None else layers
    pes = config.rows * config.cols
    raw = config.replace(epilogue=None)
    cost = {layer.name: (cycles(config, layer_sizes(layer)), cycles(raw, layer_sizes(layer))) for layer in layers}
    totals = {layer.name: LayerTotal(layer=layer, ideal_cycles=0) for layer in layers}
    work = sum(predicted for predicted, _ in cost.values()) * len(inputs)
    complete = len(layers) == len(session.layers)
    report = ModelReport(config=name, inputs=len(inputs), layers=list(totals.values()))
    done = differ = 0
    for arrays in inputs:
        values, made = session.trace(arrays), {}
        for layer in layers:
            total, (predicted, off) = totals[layer.name], cost[layer.name]

            def show(share, name=layer.name, done=done, predicted=predicted):
                if progress is not None:
                    progress(name, (done + share * predicted) / work)

            show(0)
            bound, x, want = session.bound(layer, values), values[layer.input], values[layer.output]
            if unit is None:
                y = _golden(config, bound, x)
            else:
                result = unit.run(bound, x, progress=show)
                y = result.y
                if result.cycles is not None:
                    total.cycles = (total.cycles or 0) + result.cycles
                total.seconds += result.seconds
            wrong = int(np.count_nonzero(y != want))
            if wrong and unit is not None:
                total.golden_mismatches += int(np.count_nonzero(y != _golden(config, bound, x)))
            total.mismatches += wrong
            total.outputs += y.size
            total.macs += layer.macs
            total.ideal_cycles += -(-layer.macs // pes)
            total.predicted_cycles += predicted
            total.cycles_epilogue_off += off
            made[layer.name] = y
            done += predicted
        if complete:
            differ += not _same_answer(session, arrays, made)
    report.answers_differ = differ if complete else None
    report.notes += _notes(report.layers, golden=unit is None)
    return report


def _golden(config, layer, x):
    """The layer by the golden model of the unit, with the parameters as it stores them."""
    raw = layer.spec.raw
    return run_layer(layer, x, lambda matrix, gemm: reference(config, replace(gemm, raw=raw), matrix).out)


def _same_answer(session, arrays, made):
    pairs = zip(session.finish(arrays, made), session.answer(arrays), strict=True)
    return all(np.array_equal(got, want, equal_nan=got.dtype.kind == "f") for got, want in pairs)


def _notes(totals, *, golden):
    for total in totals:
        if total.cycles not in (None, total.predicted_cycles):
            yield f"{total.layer.name}: the unit took {total.cycles:,} cycles and not the predicted ones"
        if not total.mismatches:
            continue
        if total.layer.spec.float_in_runtime:
            yield f"{total.layer.name}: the runtime computes this layer in float32, and near-ties may differ"
        if not golden:
            yield f"{total.layer.name}: {total.golden_mismatches:,} outputs differ from the golden model of the unit"


def report_json(report):
    """The report as plain values for a script."""
    rate = report.cycles_per_second
    return {
        "config": report.config,
        "inputs": report.inputs,
        "accuracy": None,
        "layers": [layer.as_json() for layer in report.layers],
        "outputs": report.total("outputs"),
        "mismatches": report.total("mismatches"),
        "answers_differ": report.answers_differ,
        "cycles": report.total("cycles"),
        "predicted_cycles": report.total("predicted_cycles"),
        "cycles_epilogue_off": report.total("cycles_epilogue_off"),
        "seconds": round(report.total("seconds"), 6),
        "cycles_per_second": None if rate is None else round(rate),
        "notes": report.notes,
    }
