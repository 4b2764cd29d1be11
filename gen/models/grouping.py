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

__all__ = ["Grouping", "choose_grouping", "grouping_cycles"]


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


def grouping_cycles(spec, grouping, rows, columns):
    """Cycles of a stall-free run on ``rows`` × ``columns`` PEs with as many epilogue lanes, without fill and drain."""
    bh, bw = grouping.block
    height, width = spec.geometry.out_size
    m = spec.batch * -(-height // bh) * -(-width // bw)
    n = spec.w.shape[0] // spec.groups * grouping.merge * bh * bw
    k = _taps(spec, grouping.block) * spec.w.shape[3] * grouping.merge
    return spec.groups // grouping.merge * -(-m // rows) * -(-n // columns) * max(k, rows)


def choose_grouping(spec, rows, columns):
    """The grouping of fewest cycles; among equals the one of fewest products, then of the smallest block.

    A layer of one group is left as it is: its columns are its output channels.
    """
    if spec.groups == 1:
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
    return min(candidates, key=lambda g: (grouping_cycles(spec, g, rows, columns), -g.merge, g.block[0] * g.block[1]))
