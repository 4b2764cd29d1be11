"""Layers on a simulated unit, whatever of int8 and uint8 it was built for."""

import dataclasses

import numpy as np

from ...gen.lower import lower

__all__ = ["on_unit"]


def on_unit(config, unit, *, idle=0, stall=0):
    """A function ``compute(x, gemm)`` that runs a product of int8 operands on a unit.

    A unit of unsigned activations is given ``x + 128``, and a bias that takes the difference back; one of unsigned
    outputs has its zero point and clamp bounds moved by as much.

    Parameters
    ----------
    config : EngineConfig
    unit : BurstUnit
    idle, stall : int
        Gaps in the traffic, as :meth:`BurstUnit.run` takes them.
    """
    up_in = 0 if config.activation_type.signed else 128
    up_out = 0 if config.output_type.signed else 128

    def compute(x, gemm):
        w = np.asarray(gemm.w, np.int64)
        gemm = dataclasses.replace(
            gemm,
            bias=np.asarray(gemm.bias, np.int64) - up_in * w.sum(0),
            zp_out=gemm.zp_out + up_out,
            lo=gemm.lo + up_out,
            hi=gemm.hi + up_out,
        )
        program = lower(config, gemm, np.asarray(x, np.int64) + up_in)
        return program.collect(unit.run(program, idle=idle, stall=stall).data) - up_out

    return compute
