"""The comparison: every operator of every installed runtime on random models, with golden model and hardware."""

from dataclasses import dataclass

import numpy as np

from ...gen.exactness import obstacle, runtime_family
from ...gen.models import Grouping, choose_grouping, open_model, run_layer
from ..golden import RUNTIMES, requantize_float64, runtime_scale
from .hardware import on_unit
from .operators import STYLES, draw_operator
from .rows import Row
from .runtimes import missing_packages

__all__ = ["survey"]

#: Weights of ONNX Runtime's operators stay this small: on machines without VNNI its kernels add pairs of products in 16
#: bits, saturating (its issue 16105), which is no arithmetic to be conformed to.
_ONNX_MOST = 64
#: Chances, of 256, of a gap in the traffic of every second model on the hardware.
_GAPS = {"idle": 40, "stall": 60}


@dataclass(frozen=True)
class _Outcome:
    """One model's outputs: by the runtime, the golden model and the hardware (None where it was not asked)."""

    runtime: np.ndarray
    golden: np.ndarray
    hardware: np.ndarray | None
    undecided: np.ndarray


def survey(config, unit=None, *, runtimes=None, outputs=100_000, rtl_outputs=5_000, seed=1, progress=None):
    """Compare runtimes with the golden model and with a simulated unit.

    Parameters
    ----------
    config : EngineConfig
        What the hardware is built for; the golden model knows everything.
    unit : BurstUnit or None
        The simulated unit; ``None`` leaves the hardware out.
    runtimes : sequence of str or None
        Those of :data:`plusb.sim.golden.RUNTIMES` to ask; all if left out. One that is not installed gives no rows.
    outputs, rtl_outputs : int
        Least number of outputs of every operator to compare with the golden model, and of those with the hardware.
    seed : int
    progress : callable or None
        Called with a text and the share of the work that is done.

    Yields
    ------
    Row
        Two for each operator: ``golden`` and ``rtl``.
    """
    jobs = [
        (runtime, op) for runtime in runtimes or RUNTIMES if not missing_packages(runtime) for op in RUNTIMES[runtime]
    ]
    for index, (runtime, op) in enumerate(jobs):
        if progress is not None:
            progress(f"{runtime} {op}", index / len(jobs))
        rng = np.random.default_rng([seed, *f"{runtime} {op}".encode()])
        yield from _survey_operator(config, unit, runtime, op, outputs, rtl_outputs, rng)


def _survey_operator(config, unit, runtime, op, outputs, rtl_outputs, rng):
    family = runtime_family(runtime, op)
    golden, rtl = (
        Row(runtime=runtime, op=op, family=str(family), where=where, variants={}) for where in ("golden", "rtl")
    )
    rtl.note = "no hardware was asked for" if unit is None else obstacle(config, family)
    variants = [
        (channel, bias) for bias in ((False,) if op == "QLinearMatMul" else (False, True)) for channel in (False, True)
    ]
    count = 0
    while golden.outputs < outputs or (not rtl.note and rtl.outputs < rtl_outputs):
        per_channel, with_bias = variants[count % len(variants)]
        style = STYLES[count % len(STYLES)]  # 2 or 4 variants and 3 styles meet in every combination
        operator = draw_operator(
            rng,
            op,
            style,
            per_channel=per_channel,
            with_bias=with_bias,
            max_k=config.max_k,
            most=_ONNX_MOST if runtime == "ort" else 127,
            unsigned=runtime == "ort" and bool(rng.integers(2)),
        )
        compute = None
        if not rtl.note and rtl.outputs < rtl_outputs:
            compute = on_unit(config, unit, **(_GAPS if count % 2 else {}))
        variant = f"per {'channel' if per_channel else 'tensor'}, {'with' if with_bias else 'without'} bias"
        outcome = _run(config, runtime, operator, compute)
        for row, got in ((golden, outcome.golden), (rtl, outcome.hardware)):
            if got is not None:
                _count(row, got, outcome, variant, operator.near_ties)
        count += 1
    yield golden
    yield rtl


def _count(row, got, outcome, variant, near_ties):
    # Where a 31-bit multiplier decides nothing, the golden model says what the hardware has to answer.
    wanted = np.where(outcome.undecided, outcome.golden, outcome.runtime)
    row.outputs += got.size
    row.mismatches += int(np.count_nonzero(got != wanted))
    row.undecided += int(np.count_nonzero(outcome.undecided))
    row.near_ties += near_ties
    row.variants[variant] = row.variants.get(variant, 0) + got.size


def _run(config, runtime, operator, compute):
    """One model's :class:`_Outcome`."""
    if runtime == "ort":
        from .onnx_model import onnx_model

        model, x = onnx_model(operator), operator.x if operator.is_matrix else np.moveaxis(operator.x, 3, 1)
    else:
        from .lite_model import lite_model

        model, x = lite_model(operator), operator.x
    session = open_model(model, runtime, lambda spec: _grouping(config, spec))
    (layer,) = session.layers
    values = session.trace([x])
    answer, golden = values[layer.output], run_layer(layer, values[layer.input])
    undecided = np.zeros(golden.shape, bool)
    if (runtime, operator.op) == ("litert-ref", "FULLY_CONNECTED"):
        exact, beyond = _float64(operator)
        undecided = beyond & (exact != golden) & (answer == exact)
    hardware = None if compute is None else run_layer(layer, values[layer.input], compute)
    return _Outcome(answer, golden, hardware, undecided)


def _float64(operator):
    """What LiteRT's reference FULLY_CONNECTED computes, and where no multiplier of 31 bits can follow it.

    That is where a tie lies between the sum times the real scale and the sum times the scale's 31 bits.
    """
    scale = runtime_scale("litert-ref", "FULLY_CONNECTED", operator.s_in, operator.s_w, operator.s_out)
    v, real = operator.sums, scale.real
    kept = np.ldexp(scale.multiplier.astype(np.float64), scale.shift - 31)
    product = v * real
    distance = np.abs(product - np.floor(product) - 0.5)
    # The product itself is rounded to 53 bits.
    beyond = (kept != real) & (distance <= np.abs(v) * np.abs(kept - real) + np.abs(product) * 2.0**-52)
    return np.clip(requantize_float64(v, real) + operator.zy, -128, 127), beyond


def _grouping(config, spec):
    """How a depthwise convolution fills the unit, as long as its dot products do not grow beyond the unit's."""
    chosen = choose_grouping(spec, config.rows, config.cols)
    reach = [size + edge - 1 for size, edge in zip(spec.w.shape[1:3], chosen.block, strict=True)]
    return chosen if reach[0] * reach[1] * chosen.merge * spec.w.shape[3] <= config.max_k else Grouping()
