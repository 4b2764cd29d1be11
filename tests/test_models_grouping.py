"""Groupings for a unit: those of fewest cycles by the exact cost model, which counts the wait for parameters."""

import numpy as np
import pytest
from plusb.gen.cost import Size, cycles
from plusb.gen.models import Grouping, choose_grouping, grouping_cycles, lower_layer, unit_grouping
from plusb.gen.models.grouping import grouping_size
from plusb.rtl.config import EngineConfig
from plusb.rtl.presets import PRESETS

from .test_models_im2col import spec_of

DEPTHWISE = {"channels": 16, "outputs": 16, "groups": 16, "kernel": (3, 3), "pad": (1, 1)}


def cost(config, spec, grouping):
    products, *size = grouping_size(spec, grouping)
    return cycles(config, [Size(*size)] * products)


@pytest.mark.parametrize(
    "grouping", [Grouping(), Grouping(merge=4), Grouping(block=(2, 3)), Grouping(merge=2, block=(1, 4))]
)
def test_sizes_are_those_of_the_products(grouping):
    spec = spec_of(np.random.default_rng(0), **DEPTHWISE)
    layer = lower_layer(spec, "tflm", grouping)
    gemm = layer.groups[0].gemm
    assert grouping_size(spec, grouping) == (len(layer.groups), layer.m, gemm.k, gemm.n)


@pytest.mark.parametrize("size", [(3, 3), (6, 6), (25, 5), (48, 48)])
@pytest.mark.parametrize("preset", ["tiny", "small", "medium"])
def test_no_grouping_takes_fewer_cycles(preset, size):
    config = PRESETS[preset]
    spec = spec_of(np.random.default_rng(0), size=size, **DEPTHWISE)
    chosen = unit_grouping(config)(spec)
    least = cost(config, spec, chosen)
    others = [Grouping(), choose_grouping(spec, config.rows, config.cols), Grouping(merge=2), Grouping(block=(1, 2))]
    assert least <= min(cost(config, spec, other) for other in others)
    assert least < cost(config, spec, Grouping())


def test_the_wait_for_parameters_decides():
    """As in the last depthwise layers of MobileNet: products have few tiles, and the next one's records are late."""
    config = PRESETS["medium"]
    shape = (1, 6, 6, 16)
    spec = spec_of(np.random.default_rng(0), size=(6, 6), in_shape=shape, out_shape=shape, **DEPTHWISE)
    naive, chosen = choose_grouping(spec, 8, 8), unit_grouping(config)(spec)
    assert cost(config, spec, chosen) < cost(config, spec, naive)
    assert grouping_cycles(spec, chosen, 8, 8) >= grouping_cycles(spec, naive, 8, 8)


def test_pixels_fill_the_columns_beside_few_output_channels():
    wide = EngineConfig(rows=4, cols=16)
    few = spec_of(np.random.default_rng(0), size=(24, 24), channels=3, outputs=4, groups=1, kernel=(3, 3))
    chosen = unit_grouping(wide)(few)
    assert chosen.merge == 1
    assert chosen.block != (1, 1)
    many = spec_of(np.random.default_rng(0), size=(24, 24), channels=3, outputs=16, groups=1, kernel=(3, 3))
    assert unit_grouping(wide)(many) == Grouping()
    assert unit_grouping(wide)(spec_of(np.random.default_rng(0), geometry=None, groups=1)) == Grouping()
