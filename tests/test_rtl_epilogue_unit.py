"""The epilogue alone in the Amaranth simulator; its features are the subject of the cocotb benches."""

import numpy as np
import pytest
from plusb.gen.gemm import Gemm
from plusb.gen.lower import lower_epilogue
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.epilogue_unit import EpilogueUnit
from plusb.rtl.numeric import Family
from plusb.sim.golden import epilogue

from .rtl_sim import refused, simulate


@pytest.mark.parametrize(
    ("cols", "lanes", "families"), [(2, 2, ("ruy",)), (4, 2, ("half_up", "float32")), (3, 1, Family)]
)
def test_rows_and_latency_are_as_stated(cols, lanes, families):
    config = EngineConfig(rows=3, cols=cols, lanes=lanes, epilogue=EpilogueConfig(families=tuple(families)))
    rng = np.random.default_rng(cols)
    family = config.epilogue.families[0]
    gemm = Gemm(
        name="t",
        op="t",
        w=np.zeros((1, cols), np.int64),
        bias=rng.integers(-1 << 31, 1 << 31, cols),
        family=family,
        multiplier=rng.integers(1 << 30, 1 << 31, cols),
        shift=np.full(cols, -25),
        zp_out=-4,
    )
    acc = rng.integers(-1 << 31, 1 << 31, (3, cols))
    want = epilogue(
        acc, bias=gemm.bias, family=family, multiplier=gemm.multiplier, shift=gemm.shift, zp_out=-4, lo=-128, hi=127
    )
    program = lower_epilogue(config, gemm, acc)
    unit, out, moved = EpilogueUnit(config), [], {"acc": None, "out": None}

    async def testbench(ctx):
        sent = dict.fromkeys(program.streams, 0)
        ctx.set(unit.out.ready, 1)
        for cycle in range(400):
            for name, words in program.streams.items():
                # The first row waits until all else is ready, so that only the pipeline counts.
                go = sent[name] < len(words) and (name != "acc" or cycle >= 60)
                port = getattr(unit, name)
                payload = port.payload if name in ("bias", "scale") else port.payload.as_value()
                ctx.set(port.valid, go)
                if go:
                    ctx.set(payload, int.from_bytes(words[sent[name]], "little"))
            if ctx.get(unit.out.valid):
                moved["out"] = cycle if moved["out"] is None else moved["out"]
                out.append([ctx.get(unit.out.payload.data[column]) for column in range(cols)])
            taken = [name for name in sent if ctx.get(getattr(unit, name).valid) and ctx.get(getattr(unit, name).ready)]
            if "acc" in taken and moved["acc"] is None:
                moved["acc"] = cycle
            await ctx.tick()
            for name in taken:
                sent[name] += 1

    simulate(unit, testbench)
    assert out == want.tolist()
    assert moved["out"] - moved["acc"] == unit.latency


def test_an_epilogue_that_is_not_built_is_refused():
    message = "epilogue must be built for a unit of the epilogue alone, not None"
    refused(message, EpilogueUnit, EngineConfig(epilogue=None))
