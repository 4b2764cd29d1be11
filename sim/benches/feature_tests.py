"""Units with any features, engine or epilogue alone: each feature by itself and all together, under all traffic."""

import dataclasses

import cocotb

from ..random_cases import random_product
from .feature_bench import FeatureBench
from .programs import change_commands, product_load
from .streams import TRAFFIC
from .unit_bench import join

_TIMEOUT = {"timeout_time": 10, "timeout_unit": "ms"}


@cocotb.test(**_TIMEOUT)
@cocotb.parametrize(traffic=list(TRAFFIC))
async def each_feature_alone(dut, traffic):
    """Neighbouring products, each of which uses one feature or none; the others' streams must not be touched."""
    bench = FeatureBench(dut)
    loads = []
    for feature in (*bench.features, None):
        sizes = bench.sizes()
        size = sizes[bench.rng.integers(len(sizes))]
        loads += [bench.load(size, {feature}), bench.load((bench.config.rows, 3, bench.config.cols), set())]
    await bench.run(join(loads), TRAFFIC[traffic], seed=31)


@cocotb.test(**_TIMEOUT)
@cocotb.parametrize(traffic=list(TRAFFIC))
async def all_features_together(dut, traffic):
    """Products that use all, or most, of what is built."""
    bench = FeatureBench(dut)
    everything = set(bench.features) - {"raw"}
    loads = [bench.load(size, use) for size in bench.sizes() for use in (everything, 0.7)]
    await bench.run(join(loads), TRAFFIC[traffic], seed=32)


@cocotb.test(**_TIMEOUT)
@cocotb.parametrize(traffic=["full_rate", "both"])
async def every_family(dut, traffic):
    """Each built family, with each kind of scale, next to every other."""
    bench = FeatureBench(dut)
    families = bench.config.epilogue.families
    size = (bench.config.rows + 1, 6, bench.config.cols)
    order = [*families, *families[::-1], *families[::2]]
    loads = [bench.load(size, use, family) for family in order for use in ({"channel"}, {"negative_scale"})]
    await bench.run(join(loads), TRAFFIC[traffic], seed=33)


@cocotb.test(**_TIMEOUT)
@cocotb.parametrize(traffic=list(TRAFFIC))
async def bias_alone_is_reloaded(dut, traffic):
    """Products that keep the scales of the first and bring new terms: the scale records are loaded once."""
    bench = FeatureBench(dut)
    if not bench.config.epilogue.uses_bias_stream:
        return
    rows, cols = bench.config.rows, bench.config.cols
    use = set(bench.features) - {"raw", "lut", "relative", "clamp"}
    products = [random_product(bench.rng, bench.config, rows, 4, cols, use=use) for _ in range(6)]
    kept = {name: getattr(products[0].gemm, name) for name in ("family", "multiplier", "shift", "scale", "negative")}
    loads = []
    for number, product in enumerate(products):
        product = dataclasses.replace(product, gemm=dataclasses.replace(product.gemm, **kept))
        load = product_load(bench.config, product, engine=bench.is_engine)
        if number:
            del load.streams["scale"]
            load = change_commands(bench.config, load, engine=bench.is_engine, swap_scale=0)
        loads.append(load)
    await bench.run(join(loads), TRAFFIC[traffic], seed=34)
