"""Statistics of a tile."""

import re

import numpy as np
import pytest
from plusb.sim.golden import TileStatistics, epilogue_stages, tile_statistics


def raises(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def identity(acc, **parameters):
    return epilogue_stages(acc, family="floor", multiplier=1 << 30, shift=1, **parameters)


def test_counts_what_the_clamp_changed():
    """127 and -128 reach the bounds by themselves; 128 and -129 are changed."""
    assert tile_statistics(identity([[127, 128, 0], [-128, -129, 0]])) == TileStatistics(
        minimum=-128, maximum=127, largest_magnitude=128, saturated=2, zeros=2
    )


def test_zero_is_the_integer_and_saturation_is_after_the_zero_point():
    statistics = tile_statistics(identity([[3, -3, 200]], zp_out=3, lo=0, hi=200))
    assert statistics == TileStatistics(minimum=0, maximum=200, largest_magnitude=200, saturated=1, zeros=1)


def test_raw_outputs_never_saturate():
    statistics = tile_statistics(epilogue_stages([[1 << 40, -(1 << 62)]], raw=True))
    assert statistics == TileStatistics(
        minimum=-(1 << 62), maximum=1 << 40, largest_magnitude=1 << 62, saturated=0, zeros=0
    )


def test_a_table_is_seen_in_the_outputs():
    statistics = tile_statistics(identity([[1, 2, 300]], lut=np.zeros(256, int)))
    assert statistics == TileStatistics(minimum=0, maximum=0, largest_magnitude=0, saturated=1, zeros=3)


def test_refusals():
    with raises(TypeError, "stages must be a Stages, not 3"):
        tile_statistics(3)
    with raises(ValueError, "the tile must have an element, not the shape (0, 3)"):
        tile_statistics(identity(np.zeros((0, 3), int)))
