"""What a unit must compute, by the golden model."""

import dataclasses

import numpy as np

from ..sim.golden import epilogue_stages, gemm
from .stored import as_computed
from .terms import Terms

__all__ = ["product_stages", "reference"]


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
    if config.epilogue is None:
        return epilogue_stages(gemm(np.asarray(x, np.int64), product.w, acc_width=config.raw_width), raw=True)
    stages = product_stages(as_computed(config, product), x, terms, acc_width=config.raw_width)
    if product.raw:
        element = config.element_type
        stages = dataclasses.replace(stages, out=np.clip(stages.out, element.min, element.max))
    return stages


def product_stages(product, x, terms=None, *, acc_width=32):
    """Every stage of a product's epilogue with the parameters as they are, whatever a unit would store.

    Parameters
    ----------
    product : Gemm
    x : int array, shape (M, K)
    terms : Terms or None
    acc_width : int
        Bits of the accumulators, which bound K.

    Returns
    -------
    Stages
    """
    terms = terms or Terms()
    x = np.asarray(x, np.int64)
    acc = gemm(x, product.w, acc_width=acc_width)
    weights = np.asarray(product.w, np.int64)
    optional = {
        "bias_row": terms.bias_row,
        "bias_tile": terms.bias_tile,
        "bias_relative": terms.bias_relative,
        "residual": terms.residual,
    }
    if product.zw is not None:
        optional |= {"zw": product.zw, "rowsum": x.sum(1)}
    if terms.zx is not None:
        zw = 0 if product.zw is None else np.asarray(product.zw, np.int64)
        optional |= {"zx": terms.zx, "colsum": (weights - zw).sum(0)}
    return epilogue_stages(
        acc,
        bias=product.bias,
        bias_scalar=terms.bias_scalar,
        family=product.family,
        multiplier=product.multiplier,
        shift=product.shift,
        scale=product.scale,
        negative=product.negative,
        zp_out=product.zp_out,
        lo=product.lo,
        hi=product.hi,
        lut=product.lut,
        raw=product.raw,
        **{name: value for name, value in optional.items() if value is not None},
    )
