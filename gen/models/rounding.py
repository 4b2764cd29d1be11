"""Which rounding family a runtime uses for a layer, with the scale of every output channel."""

import numpy as np

from ...rtl.numeric import Family
from ...sim.golden.scales import RUNTIMES, runtime_scale
from .errors import ModelError

__all__ = ["rounding"]

_IDENTITY = {"multiplier": 1 << 30, "shift": 1}
"""Exactly ``v``: ``v * 2**30`` shifted right by 30."""


def rounding(spec, runtime):
    """The arguments ``family`` and ``multiplier`` with ``shift``, or ``scale``, of a layer's `Gemm`.

    LiteRT without delegates has no optimized grouped CONV_2D and falls back to its reference kernel, hence to that
    rounding (measured: 29,952 outputs, 0 mismatches; 77 with the other family).

    Parameters
    ----------
    spec : LayerSpec
    runtime : str

    Returns
    -------
    dict
        The arrays have one element an output channel.
    """
    outputs = spec.w.shape[0]
    if spec.raw:
        return {"family": Family.half_up} | {k: np.full(outputs, v, np.int64) for k, v in _IDENTITY.items()}
    op = spec.op if runtime != "ort" else "QLinearConv"
    if op not in RUNTIMES[runtime]:
        raise ModelError(f"{runtime} does not execute this operator", operator=spec.name)
    if runtime == "litert" and op == "CONV_2D" and spec.groups > 1:
        runtime = "litert-ref"
    try:
        parameters = runtime_scale(runtime, op, spec.s_in, spec.s_w, spec.s_out).parameters
    except ValueError as error:
        raise ModelError(f"its scales cannot be used: {error}", operator=spec.name) from error
    return {k: np.broadcast_to(v, (outputs,)) if isinstance(v, np.ndarray) else v for k, v in parameters.items()}
