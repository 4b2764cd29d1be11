"""Convolution as a matrix product: which activations a row of the matrix gathers, and where its results go.

A column of the product is one output channel, or, with a block larger than 1 × 1, one output channel at one place of a
block of neighbouring output pixels. A block spends rows of the weight matrix (zeros where a tap does not reach a pixel)
to fill columns that a depthwise convolution, whose channels share no activation, would leave idle.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

__all__ = ["Im2col"]


@dataclass(frozen=True, kw_only=True)
class Im2col:
    """Geometry of a two-dimensional convolution; every pair is (vertical, horizontal).

    Parameters
    ----------
    in_size, out_size : (int, int)
        Pixels of the input without padding, and of the output.
    kernel, stride, dilation : (int, int)
    pad : (int, int)
        Rows above and columns left of the input; below and right as many as the output needs.
    block : (int, int)
        Output pixels that one row of the matrix product computes.
    """

    in_size: tuple
    out_size: tuple
    kernel: tuple
    stride: tuple = (1, 1)
    dilation: tuple = (1, 1)
    pad: tuple = (0, 0)
    block: tuple = (1, 1)

    def with_block(self, block):
        """The same convolution with another block."""
        return replace(self, block=tuple(block))

    @property
    def blocks(self):
        """Number of blocks in each direction; the last one may reach beyond the output."""
        return tuple(-(-size // block) for size, block in zip(self.out_size, self.block, strict=True))

    @cached_property
    def _reach(self):
        """For each direction: the offset of kernel tap i at block place p, ``p * stride + i * dilation``."""
        return tuple(
            np.arange(self.block[d])[:, None] * self.stride[d] + np.arange(self.kernel[d])[None, :] * self.dilation[d]
            for d in (0, 1)
        )

    @cached_property
    def _offsets(self):
        """For each direction: the distinct offsets, ascending."""
        return tuple(np.unique(reach) for reach in self._reach)

    @property
    def taps(self):
        """Pixels that one row of the matrix gathers."""
        return self._offsets[0].size * self._offsets[1].size

    def rows(self, batch):
        """Rows of the matrix for ``batch`` images."""
        return batch * self.blocks[0] * self.blocks[1]

    def matrix(self, x, fill):
        """Gather ``x`` (batch, height, width, channels) into (rows, taps * channels), ``fill`` around the image."""
        step = tuple(block * stride for block, stride in zip(self.block, self.stride, strict=True))
        need = tuple((self.blocks[d] - 1) * step[d] + int(self._offsets[d][-1]) + 1 for d in (0, 1))
        after = tuple(max(0, need[d] - self.pad[d] - self.in_size[d]) for d in (0, 1))
        around = ((0, 0), (self.pad[0], after[0]), (self.pad[1], after[1]), (0, 0))
        padded = np.pad(x, around, constant_values=fill)
        batch, channels = x.shape[0], x.shape[3]
        shape = (batch, *self.blocks, self._offsets[0].size, self._offsets[1].size, channels)
        gathered = np.empty(shape, x.dtype)
        for i, dy in enumerate(self._offsets[0]):
            rows = padded[:, dy : dy + (self.blocks[0] - 1) * step[0] + 1 : step[0]]
            for j, dx in enumerate(self._offsets[1]):
                gathered[:, :, :, i, j] = rows[:, :, dx : dx + (self.blocks[1] - 1) * step[1] + 1 : step[1]]
        return gathered.reshape(self.rows(batch), self.taps * channels)

    def weights(self, w):
        """Spread ``w`` (outputs, kernel height, kernel width, inputs) to (taps * inputs, block pixels * outputs)."""
        outputs, kh, kw, inputs = w.shape
        (oy, ox), (ry, rx) = self._offsets, self._reach
        spread = np.zeros((oy.size, ox.size, inputs, *self.block, outputs), w.dtype)
        for p, q in np.ndindex(self.block):
            rows, columns = np.searchsorted(oy, ry[p]), np.searchsorted(ox, rx[q])
            spread[np.ix_(rows, columns, np.arange(inputs), [p], [q], np.arange(outputs))] = w.transpose(
                1, 2, 3, 0
            ).reshape(kh, kw, inputs, 1, 1, outputs)
        return spread.reshape(self.taps * inputs, -1)

    def columns(self, values):
        """Repeat one value an output channel for every pixel of the block, in the order of the columns."""
        return np.tile(values, self.block[0] * self.block[1])

    def image(self, y, batch):
        """Put the product ``y`` (rows, block pixels * outputs) back into (batch, height, width, outputs)."""
        (rows, columns), (bh, bw) = self.blocks, self.block
        tiles = y.reshape(batch, rows, columns, bh, bw, -1).transpose(0, 1, 3, 2, 4, 5)
        whole = tiles.reshape(batch, rows * bh, columns * bw, -1)
        return whole[:, : self.out_size[0], : self.out_size[1]]
