"""What a unit must compute, by the golden model."""

import numpy as np

from ..sim.golden import epilogue_stages, gemm
from .stored import as_computed
from .terms import Terms

__all__ = ["reference"]


def reference(config, product, x, terms=None):
    """Every stage of a product's epilogue on a unit, with the parameters as the unit stores them.

    Parameters
    ----------
    config : EngineConfig
        Its bias storage and multiplier width decide what is stored.
    product : Gemm
    x : int array, shape (M, K)
    terms : Terms or None

    Returns
    -------
    Stages
        ``out`` is what comes out of the unit.
    """
    stored, terms = as_computed(config, product), terms or Terms()
    x = np.asarray(x, np.int64)
    acc = gemm(x, stored.w, acc_width=config.raw_width)
    if config.epilogue is None:
        return epilogue_stages(acc, raw=True)
    weights = np.asarray(stored.w, np.int64)
    optional = {
        "bias_row": terms.bias_row,
        "bias_tile": terms.bias_tile,
        "bias_relative": terms.bias_relative,
        "residual": terms.residual,
    }
    if stored.zw is not None:
        optional |= {"zw": stored.zw, "rowsum": x.sum(1)}
    if terms.zx is not None:
        zw = 0 if stored.zw is None else np.asarray(stored.zw, np.int64)
        optional |= {"zx": terms.zx, "colsum": (weights - zw).sum(0)}
    stages = epilogue_stages(
        acc,
        bias=stored.bias,
        bias_scalar=terms.bias_scalar,
        family=stored.family,
        multiplier=stored.multiplier,
        shift=stored.shift,
        scale=stored.scale,
        negative=stored.negative,
        zp_out=stored.zp_out,
        lo=stored.lo,
        hi=stored.hi,
        lut=stored.lut,
        raw=stored.raw,
        **{name: value for name, value in optional.items() if value is not None},
    )
    return stages
