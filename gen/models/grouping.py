"""How a grouped or depthwise convolution fills the columns of an array.

Two channels of a depthwise convolution share no activation, so a plain product has one useful column a channel. There
are two ways to fill ``C`` columns, which also combine:

* ``merge``: a block-diagonal product of G groups, K = G * taps: one product instead of G, for G times the
  multiplications.
* ``block``: the columns are neighbouring output pixels of one channel. Their windows overlap, so K grows less than N: a
  2 × 4 block of a 3 × 3 kernel has K = 24 for 8 columns, where merging 8 channels has K = 72.

An output-stationary array takes ``max(K, R)`` cycles a tile of ``R`` rows, so cycles are
``products * ceil(M / R) * ceil(N / C) * max(K, R)``. On 8 × 8 with a 3 × 3 kernel, stride 1: 9 cycles for 8 outputs
unmerged, the same merged (72 for 64), 24 for 64 with the block.
"""

from dataclasses import dataclass

__all__ = ["Grouping", "choose_grouping", "grouping_cycles", "grouping_size", "unit_grouping"]


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """Groups of a convolution in one matrix product, and the block of output pixels in its columns.

    Parameters
    ----------
    merge : int
        Groups in one product; 1 to the number of groups, of which it must be a divisor.
    block : (int, int)
        Output pixels, vertical and horizontal.
    """

    merge: int = 1
    block: tuple = (1, 1)

    def __post_init__(self):
        if self.merge < 1 or min(self.block) < 1:
            raise ValueError(f"merge and block must be at least 1, not {self.merge!r} and {self.block!r}")


def _taps(spec, block):
    """Input pixels one row gathers, as `Im2col.taps` but for any block."""
    sizes = []
    for d in (0, 1):
        stride, dilation = spec.geometry.stride[d], spec.geometry.dilation[d]
        sizes.append(len({p * stride + i * dilation for p in range(block[d]) for i in range(spec.w.shape[1 + d])}))
    return sizes[0] * sizes[1]


def grouping_size(spec, grouping):
    """How many products a grouping makes of a layer, and the M, K and N of each of them."""
    bh, bw = grouping.block
    height, width = spec.geometry.out_size
    m = spec.batch * -(-height // bh) * -(-width // bw)
    n = spec.w.shape[0] // spec.groups * grouping.merge * bh * bw
    k = _taps(spec, grouping.block) * spec.w.shape[3] * grouping.merge
    return spec.groups // grouping.merge, m, k, n


def grouping_cycles(spec, grouping, rows, columns):
    """Cycles of a stall-free run on ``rows`` × ``columns`` PEs with as many epilogue lanes, without fill and drain.

    Nor do they count what a unit waits for parameters; :func:`unit_grouping` does.
    """
    products, m, k, n = grouping_size(spec, grouping)
    return products * -(-m // rows) * -(-n // columns) * max(k, rows)


def choose_grouping(spec, rows, columns, cost=None):
    """The grouping of fewest cycles; among equals the one of fewest products, then of the smallest block.

    A layer of one group is left as it is, unless its output channels are so few that pixels fit beside them.

    Parameters
    ----------
    spec : LayerSpec
    rows, columns : int
        Size of the array.
    cost : callable, optional
        ``cost(spec, grouping)`` gives the cycles; :func:`grouping_cycles` if left out.
    """
    if spec.geometry is None:
        return Grouping()
    own = spec.w.shape[0] // spec.groups
    height, width = spec.geometry.out_size
    candidates = [
        Grouping(merge=merge, block=(bh, bw))
        for merge in range(1, spec.groups + 1)
        if spec.groups % merge == 0 and (merge == 1 or merge * own <= columns)
        for bh in range(1, min(height, columns) + 1)
        for bw in range(1, min(width, columns // bh) + 1)
        if bh * bw * merge * own <= max(columns, own)
    ]

    def rank(grouping):
        cycles = cost(spec, grouping) if cost else grouping_cycles(spec, grouping, rows, columns)
        return cycles, -grouping.merge, grouping.block[0] * grouping.block[1]

    return min(candidates, key=rank)


def unit_grouping(config):
    """For a `Session`: the grouping that a unit takes the fewest cycles for, by the exact cost model.

    Unlike :func:`grouping_cycles` it counts that many short products wait for their parameters.

    Parameters
    ----------
    config : EngineConfig

    Returns
    -------
    callable
        ``grouping(spec)``.
    """
    from ..cost import Size, cycles, timing

    unit = timing(config)

    def cost(spec, grouping):
        products, *size = grouping_size(spec, grouping)
        return cycles(unit, [Size(*size)] * products)

    return lambda spec: choose_grouping(spec, config.rows, config.cols, cost)
