"""Tables: banks switched between tiles and loaded again at run time, never seen half loaded, never written in use."""

import dataclasses

import cocotb

from ...gen.words import pack_fields
from ...rtl.formats import lut_fields
from .feature_bench import FeatureBench
from .programs import change_commands, unpack_fields
from .streams import TRAFFIC, Traffic
from .unit_bench import join


def _in_bank(bench, load, bank):
    """The same load with its activation table in another bank."""
    fields = lut_fields(bench.config)
    words = pack_fields(fields, **(unpack_fields(fields, load.streams["lut"]) | {"bank": bank}))
    load = dataclasses.replace(load, streams=load.streams | {"lut": words})
    return change_commands(bench.config, load, engine=bench.is_engine, lut_bank=bank)


def _loads(bench, count):
    """Products that bring tables of their own: activation tables in all banks in turn, relative biases in the one."""
    built = set(bench.features) & {"lut", "relative"}
    if not built:
        return []
    loads, sizes = [], bench.sizes()
    for number in range(count):
        load = bench.load(sizes[number % len(sizes)], built | {"channel"})
        if "lut" in built:
            load = _in_bank(bench, load, number % bench.config.epilogue.lut_banks)
        loads.append(load)
        if number % 3 == 2:  # tiles that use no table pass between those that do
            loads.append(bench.load(sizes[0], {"channel"}))
    return loads


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(traffic=list(TRAFFIC))
async def banks_are_switched_and_loaded_again(dut, traffic):
    """Every product has new tables; while one bank is in use the next is loaded."""
    bench = FeatureBench(dut)
    if loads := _loads(bench, 9):
        await bench.run(join(loads), TRAFFIC[traffic], seed=41)


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(stream=["lut", "table"])
async def slow_tables(dut, stream):
    """A table that trickles in delays the tiles that use it, and no tile sees a part of it."""
    bench = FeatureBench(dut)
    loads = _loads(bench, 4)
    if stream not in bench.sources or not loads:
        return
    load = join(loads)
    await bench.start(load, Traffic(idle=20, stall=20), seed=42)
    bench.sources[stream].idle = 200
    await bench.finish(load)
