"""Vendor blocks and synthesized netlists compute what the portable hardware does, cycle by cycle."""

import numpy as np
import pytest
from plusb.fpga.vendor import TARGETS, netlist_unit, vendor_unit, with_models
from plusb.gen.lower import lower
from plusb.gen.reference import reference
from plusb.gen.verilog import to_verilog
from plusb.rtl.accumulate import MaskedAdder
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.multiplier import Multiplier
from plusb.rtl.presets import PRESETS
from plusb.rtl.target import Target
from plusb.sim.benches.designs import BENCHES, Design
from plusb.sim.burst import open_unit
from plusb.sim.runner import run_tests

from .test_sim_burst import problem

pytestmark = pytest.mark.slow

MAKERS = {"blocks": vendor_unit, "netlist": netlist_unit}
CONFIGS = {
    "up5k": PRESETS["up5k"],
    "tiny": PRESETS["tiny"],
    "small": PRESETS["small"],
    # Unsigned operands of one bit more than the multipliers' halves, and of less.
    "mixed": EngineConfig(
        rows=2,
        cols=2,
        activation="uint8",
        weight="int4",
        max_k=512,
        epilogue=EpilogueConfig(families=("half_up",), multiplier_width=15, output="uint8"),
    ),
}
CASES = [("up5k", Target.ecp5), ("up5k", Target.ice40), ("small", Target.ecp5), ("mixed", Target.ice40)]


@pytest.mark.parametrize(
    ("name", "target", "kind"),
    [
        ("tiny", Target.ecp5, "blocks"),
        ("tiny", Target.ecp5, "netlist"),
        ("tiny", Target.ice40, "blocks"),
        ("tiny", Target.ice40, "netlist"),
        ("small", Target.ecp5, "blocks"),
    ],
)
def test_bench(name, target, kind):
    config = CONFIGS[name]
    unit = MAKERS[kind](config, target)
    design = Design(
        f"{unit.name}", unit.verilog, config, {"latency": unit.latency, "inputs": unit.inputs, "outputs": unit.outputs}
    )
    modules, _ = BENCHES["engine"]
    run_tests(design, modules)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(("name", "target"), CASES[:-1])
def test_same_rows_in_the_same_cycles(name, target, kind):
    config = CONFIGS[name]
    family = config.epilogue.families[0]
    gemm, x = problem(3 * config.rows + 1, 50, 2 * config.cols + 1, family)
    program = lower(config, gemm, x)
    traffic = [(0, 0, 1), (90, 0, 2), (0, 180, 3), (60, 60, 4)]
    results = []
    with open_unit(config) as portable, open_unit(config, make=lambda config: MAKERS[kind](config, target)) as vendor:
        for idle, stall, seed in traffic:
            for unit in (portable, vendor):
                unit.reset(seed)
                results.append(unit.run(program, idle=idle, stall=stall))
    for plain, mapped in zip(results[::2], results[1::2], strict=True):
        assert np.array_equal(program.collect(plain.data), reference(config, gemm, x).out)
        assert np.array_equal(mapped.data, plain.data)
        assert np.array_equal(mapped.last, plain.last)
        assert mapped.cycles == plain.cycles


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("widths", [(4, 4), (8, 8), (8, 5), (9, 8), (16, 16), (18, 16), (18, 18)])
def test_multiplier_blocks_hold_nothing_else(target, widths):
    """Every width uses a block of the target, where it has one that wide; the models link without a missing cell."""
    text = to_verilog(Multiplier(*widths), "top", platform=target)
    has_block = any(block in text for block in ("MULT18X18D", "SB_MAC16"))
    assert has_block == (target is Target.ecp5 or max(widths) <= 16)
    linked = with_models(text, "top", target)
    assert "MULT18X18D" not in linked
    assert "SB_MAC16 " not in linked


def test_carry_chain_links():
    text = to_verilog(MaskedAdder(9), "top", platform=Target.ecp5)
    assert "CCU2C" in text
    assert "CCU2C #" not in with_models(text, "top", Target.ecp5)
