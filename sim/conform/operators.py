"""Random quantized operators, made so that many outputs lie at or next to a tie of the requantizer.

Three styles take turns. ``random``: everything generic. ``coarse``: scales that are small fractions, or one float32
step away from one, on small sums: a large share of all outputs are exact ties. ``target``: each column's bias (or,
without a bias, its scale) is chosen so that one of its two rows falls on the integer next to a tie, from sums of a few
units up to 2**30.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["STYLES", "Operator", "draw_operator"]

STYLES = ("random", "coarse", "target")
_MATRICES = ("FULLY_CONNECTED", "QGemm", "QLinearMatMul")
_LIMIT = 1 << 30


@dataclass(frozen=True, kw_only=True, eq=False)
class Operator:
    """One quantized matrix product, convolution or depthwise convolution (stride 1, padded to equal size).

    Parameters
    ----------
    op : str
        Name in its own format.
    x : int8 or uint8 array
        Activations, (M, K) or (batch, height, width, channels).
    w : int8 array, shape (outputs, kernel height, kernel width, inputs)
        1 × 1 kernels for a matrix; one input for a depthwise convolution.
    bias : int32 array, shape (outputs,), or None
    s_in, s_out : float32
    s_w : float32 array, shape (1,) or (outputs,)
    zx, zy : int
        Zero points, of the type of ``x``.
    """

    op: str
    x: np.ndarray
    w: np.ndarray
    bias: np.ndarray | None
    s_in: np.float32
    s_w: np.ndarray
    s_out: np.float32
    zx: int
    zy: int

    @property
    def is_matrix(self):
        """Whether it is a plain matrix product."""
        return self.op in _MATRICES

    @property
    def is_depthwise(self):
        """Whether each output channel reads one input channel."""
        return self.op == "DEPTHWISE_CONV_2D"

    @property
    def out_shape(self):
        """Shape of the output, channels last."""
        return (*self.x.shape[:-1], self.w.shape[0])

    @property
    def sums(self):
        """Exact accumulators with bias, int64, of the output's shape."""
        sums = _products(self.x, self.w, self.zx)
        return sums if self.bias is None else sums + self.bias

    @property
    def near_ties(self):
        """Outputs whose exact value is an 8-bit one and lies within 1/256 of a tie."""
        real = np.float64(self.s_in) * self.s_w.astype(np.float64) / np.float64(self.s_out)
        exact = self.sums * real
        fits = np.abs(exact + self.zy - (128 if self.x.dtype == np.uint8 else 0)) < 128
        return int(np.count_nonzero(fits & (np.abs(exact - np.floor(exact) - 0.5) < 1 / 256)))


def draw_operator(rng, op, style, *, per_channel, with_bias, max_k=32, most=127, unsigned=False):
    """A random operator.

    Parameters
    ----------
    rng : numpy Generator
    op : str
    style : str
        One of `STYLES`.
    per_channel, with_bias : bool
    max_k : int
        Longest dot product.
    most : int
        Largest magnitude of a weight.
    unsigned : bool
        Whether activations are uint8.

    Returns
    -------
    Operator
    """
    x_shape, w_shape = _shapes(rng, op, style, max_k)
    kind = np.iinfo(np.uint8 if unsigned else np.int8)
    zx, zy = (int(rng.integers(kind.min, kind.max + 1)) for _ in range(2))
    reach = 256 if style != "coarse" else int(rng.choice([1, 2, 8]))
    low, high = max(kind.min, zx - reach), min(kind.max, zx + reach)
    x = rng.integers(low, high + 1, x_shape).astype(kind.dtype)
    most = min(most, int(rng.choice([1, 4, 16]))) if style == "coarse" else most
    w = rng.integers(-most, most + 1, w_shape).astype(np.int8)
    sums = _products(x, w, zx)
    count = w_shape[0] if per_channel else 1
    draw = {"random": _draw_random, "coarse": _draw_coarse, "target": _draw_target}[style]
    s_in, s_w, s_out, bias = draw(rng, sums, count, with_bias, zy - kind.min)
    return Operator(op=op, x=x, w=w, bias=bias, s_in=s_in, s_w=s_w, s_out=s_out, zx=zx, zy=zy)


def _shapes(rng, op, style, max_k):
    few = style == "target"
    if op in _MATRICES:
        k = int(rng.integers(1, min(32, max_k) + 1))
        return ((2, k), (480, 1, 1, k)) if few else ((24, k), (48, 1, 1, k))
    kernel = [(3, 3), (3, 2), (1, 1)][rng.integers(3)] if max_k >= 9 else (1, 1)
    size, outputs = ((1, 2), 96 if op == "DEPTHWISE_CONV_2D" else 480) if few else ((6, 6), 32)
    if op == "DEPTHWISE_CONV_2D":
        return (1, *size, outputs), (outputs, *kernel, 1)
    inputs = int(rng.integers(1, max(1, min(32, max_k) // (kernel[0] * kernel[1])) + 1))
    return (1, *size, inputs), (outputs, *kernel, inputs)


def _products(x, w, zx):
    """Exact dot products, padded with the zero point."""
    x, w = x.astype(np.int64) - zx, w.astype(np.int64)
    if x.ndim == 2:
        return x @ w[:, 0, 0].T
    sizes = w.shape[1:3]
    before = [(size - 1) // 2 for size in sizes]
    pads = [(0, 0), *((b, size - 1 - b) for b, size in zip(before, sizes, strict=True)), (0, 0)]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, pads), sizes, axis=(1, 2))
    if w.shape[3] == 1 and x.shape[3] == w.shape[0]:
        return np.einsum("bhwoij,oij->bhwo", windows, w[..., 0])
    return np.einsum("bhwcij,oijc->bhwo", windows, w)


def _tensor_scales(rng):
    return (np.float32(scale) for scale in rng.uniform(0.01, 0.1, 2))


def _weight_scale(real, s_in, s_out):
    return np.atleast_1d(np.asarray(real, np.float64) * np.float64(s_out) / np.float64(s_in)).astype(np.float32)


def _draw_random(rng, sums, count, with_bias, _):
    spread = max(1.0, float(sums.std()))
    s_in, s_out = _tensor_scales(rng)
    s_w = _weight_scale(rng.uniform(20, 120, count) / spread, s_in, s_out)
    bias = rng.integers(-int(spread), int(spread) + 1, sums.shape[-1]).astype(np.int32) if with_bias else None
    return s_in, s_w, s_out, bias


def _draw_coarse(rng, sums, count, with_bias, _):
    s_in, s_out = (np.float32(2.0 ** -rng.integers(2, 7)) for _ in range(2))
    spread = int(np.log2(max(1.0, float(np.abs(sums).max()))))
    halvings = rng.integers(max(0, spread - 8), max(1, spread - 4) + 1, count)
    s_w = _weight_scale(rng.choice([1, 1, 3, 5], count) / rng.choice([1, 1, 1, 3], count) / 2.0**halvings, s_in, s_out)
    step = rng.choice([0, 0, 1, -1], count)
    s_w = np.where(step == 0, s_w, np.nextafter(s_w, np.where(step > 0, np.inf, 0).astype(np.float32)))
    bias = rng.integers(-50, 51, sums.shape[-1]).astype(np.int32) if with_bias else None
    return s_in, s_w.astype(np.float32), s_out, bias


def _draw_target(rng, sums, count, with_bias, zero):
    """``zero`` is the output zero point's distance from the lowest output."""
    outputs = sums.shape[-1]
    rows = sums.reshape(-1, outputs)
    chosen = rows[rng.integers(len(rows), size=outputs), np.arange(outputs)]
    ties = rng.integers(0, 256, outputs) - zero + 0.5
    s_in, s_out = _tensor_scales(rng)
    if with_bias:
        s_w = _weight_scale(10.0 ** rng.uniform(-7, 0.5, count), s_in, s_out)
        real = np.float64(s_in) * s_w.astype(np.float64) / np.float64(s_out)
        wanted = np.rint(ties / real) + rng.choice([-1, 0, 0, 0, 1], outputs)
        return s_in, s_w, s_out, (np.clip(wanted, -_LIMIT, _LIMIT) - chosen).astype(np.int32)
    size = np.maximum(1, np.abs(chosen))[:count]
    real = np.minimum(np.floor(np.abs(ties[:count])), 4 * size) + 0.5
    return s_in, _weight_scale(real / size, s_in, s_out), s_out, None
