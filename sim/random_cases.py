"""Random configurations and products: the cross of all features of the epilogue, sampled."""

from dataclasses import dataclass

import numpy as np

from ..gen.gemm import Gemm
from ..gen.terms import Terms
from ..rtl.config import EngineConfig, EpilogueConfig
from ..rtl.numeric import Family
from .random_values import near_powers, random_bias, random_operands, random_scale

__all__ = ["Product", "random_config", "random_product"]

_FORMS = ("scalar", "channel", "row", "tile", "relative")


@dataclass(frozen=True)
class Product:
    """A matrix product and all that goes into it.

    Parameters
    ----------
    x : int64 array, shape (M, K)
    gemm : Gemm
    terms : Terms
    """

    x: np.ndarray
    gemm: Gemm
    terms: Terms

    @property
    def row_sums(self):
        """Sums of the activation rows, which an epilogue without an array is given."""
        return self.x.sum(1)


def random_config(rng):
    """Any configuration of a small unit: every feature on or off, every type, width and set of families.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    EngineConfig
    """

    def chosen(*options):
        return options[rng.integers(len(options))]

    def sometimes(chance=0.4):
        return bool(rng.random() < chance)

    output = chosen("int8", "int8", "uint8", "int4", "int16")
    families = tuple(Family)
    families = tuple(families[i] for i in rng.permutation(len(families))[: rng.integers(1, len(families) + 1)])
    multiplier_width = chosen(31, 31, 30, 24, 16, 15, 8)
    if Family.float32 in families:
        multiplier_width = max(multiplier_width, 24)
    bias = tuple(form for form in _FORMS if sometimes(0.5))
    bias_width = chosen(8, 16, 24, 32, 32, 40)
    is_narrow = "channel" in bias and bias_width < 32
    cols = int(rng.integers(1, 7))
    return EngineConfig(
        rows=int(rng.integers(1, 5)),
        cols=cols,
        lanes=chosen(*(lanes for lanes in range(1, cols + 1) if cols % lanes == 0)),
        activation=chosen("int8", "int8", "uint8", "int4", *(["int16"] if output == "int16" else [])),
        weight=chosen("int8", "int4", "uint8"),
        max_k=chosen(64, 300),
        epilogue=EpilogueConfig(
            families=families,
            multiplier_width=multiplier_width,
            negative_scale=sometimes(),
            bias=bias,
            bias_width=bias_width,
            bias_storage=chosen("sat", "shift", "chshift") if is_narrow else "sat",
            relative_depth=chosen(16, 33, 64),
            weight_zero_point=sometimes(),
            row_zero_point=sometimes(),
            residual=sometimes(),
            output=output,
            raw=sometimes(0.3),
            lut_banks=0 if output == "int16" else chosen(0, 0, 2, 4),
            statistics=sometimes(),
        ),
    )


def random_product(rng, config, m, k, n, *, family=None, use=0.7):
    """A product of a size whose outputs use the whole output range, more often than not.

    Parameters
    ----------
    rng : numpy Generator
    config : EngineConfig
        Whose epilogue is built.
    m, k, n : int
    family : Family or None
        One of those that are built; ``None`` takes any.
    use : float, or set of str
        Chance of each feature that is built, or those to use, if they are built: ``scalar, channel, row, tile,
        relative, weight_zero_point, row_zero_point, residual, negative_scale, lut, raw, clamp``.

    Returns
    -------
    Product
    """
    epilogue, output = config.epilogue, config.output_type

    def uses(name, built):
        return bool(built) and (name in use if isinstance(use, set) else rng.random() < use)

    x = random_operands(rng, (m, k), config.activation_type)
    w = random_operands(rng, (k, n), config.weight_type)
    magnitude = config.activation_type.width + config.weight_type.width - 3 + int(k).bit_length() // 2
    family = family or epilogue.families[rng.integers(len(epilogue.families))]
    octave = magnitude - output.width
    channel = uses("channel", "channel" in epilogue.bias)
    lo, hi = output.min, output.max
    if uses("clamp", True) and (isinstance(use, set) or rng.random() < 0.5):
        lo, hi = sorted(rng.integers(lo, hi + 1, 2).tolist())
    lut = uses("lut", epilogue.lut_banks)
    negative = uses("negative_scale", epilogue.negative_scale)
    scale = random_scale(rng, family, octave, n)
    weight_zero_point = uses("weight_zero_point", epilogue.weight_zero_point)
    gemm = Gemm(
        name="random",
        op="GEMM",
        w=w,
        bias=random_bias(rng, epilogue, magnitude, n, channel=True) if channel else np.zeros(n, np.int64),
        family=family,
        **scale,
        negative=_pair(random_scale(rng, family, octave, n)) if negative else None,
        zp_out=int(rng.integers(output.min, output.max + 1)),
        lo=lo,
        hi=hi,
        zw=random_operands(rng, n, config.weight_type) if weight_zero_point else None,
        lut=random_operands(rng, 256, output) if lut else None,
        raw=uses("raw", epilogue.raw) and (isinstance(use, set) or rng.random() < 0.5),
    )

    def bias(shape):
        return random_bias(rng, epilogue, magnitude, shape)

    relative = residual = None
    if uses("relative", "relative" in epilogue.bias):
        depth = epilogue.relative_depth
        relative = bias(depth), rng.integers(depth // 2, depth, m), rng.integers(0, depth // 2, n)
    if uses("residual", epilogue.residual):
        zero = int(random_operands(rng, (), output))
        residual = random_operands(rng, (m, n), output), zero, int(near_powers(rng, 16, ()))
    terms = Terms(
        bias_scalar=int(bias(())) if uses("scalar", "scalar" in epilogue.bias) else 0,
        bias_row=bias(m) if uses("row", "row" in epilogue.bias) else None,
        bias_tile=bias((m, n)) if uses("tile", "tile" in epilogue.bias) else None,
        bias_relative=relative,
        zx=random_operands(rng, m, config.activation_type) if uses("row_zero_point", epilogue.row_zero_point) else None,
        residual=residual,
    )
    return Product(x, gemm, terms)


def _pair(scale):
    return scale["scale"] if "scale" in scale else (scale["multiplier"], scale["shift"])
