"""Which runtimes a unit is bit-exact with."""

import numpy as np

from ..rtl.numeric import Family
from ..sim.golden import RUNTIMES, runtime_scale

__all__ = ["exact_runtimes", "obstacle", "runtime_family"]


def runtime_family(runtime, op):
    """Rounding family of a runtime's operator."""
    one = np.float32(1)
    return runtime_scale(runtime, op, one, one, one).family


def obstacle(config, family):
    """Why a unit cannot be exact with runtimes of a rounding family on int8 models; empty where it can.

    Parameters
    ----------
    config : EngineConfig
    family : Family

    Returns
    -------
    str
    """
    epilogue = config.epilogue
    if epilogue is None:
        return "no epilogue is built"
    needed = 24 if family is Family.float32 else 31
    for wrong, why in (
        (family not in epilogue.families, f"the family {family} is not built"),
        (epilogue.multiplier_width < needed, f"the multiplier has {epilogue.multiplier_width} bits, not {needed}"),
        (config.activation not in ("int8", "uint8"), f"activations are {config.activation}"),
        (config.weight != "int8", f"weights are {config.weight}"),
        (epilogue.output not in ("int8", "uint8"), f"outputs are {epilogue.output}"),
        ("channel" not in epilogue.bias, "no channel bias is built"),
        (epilogue.bias_width < 32, f"biases have {epilogue.bias_width} bits, not 32"),
    ):
        if wrong:
            return why
    return ""


def exact_runtimes(config):
    """The operators whose results for int8 models a unit reproduces bit for bit.

    ``plusb conform`` measures it. The one exception known: LiteRT's reference FULLY_CONNECTED multiplies in float64,
    and differs from every 31-bit multiplier on about 1 of 10,000 adversarial near-ties (none of 1.2 million outputs of
    real models).

    Returns
    -------
    list of dict
        With the keys ``runtime``, ``op`` and ``family``.
    """
    return [
        {"runtime": runtime, "op": op, "family": str(runtime_family(runtime, op))}
        for runtime, ops in RUNTIMES.items()
        for op in ops
        if not obstacle(config, runtime_family(runtime, op))
    ]
