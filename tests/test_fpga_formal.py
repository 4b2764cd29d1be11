"""Vendor hardware is proven equal to the portable one, and each proof is seen to fail on something broken.

What is proven of a row of three bits holds for every width: nothing in a buffer depends on a row's value.
"""

import copy
import re
from pathlib import Path

import plusb.fpga
import pytest
from amaranth import Module
from amaranth.lib import wiring
from plusb.fpga.equivalence import Verdict, prove
from plusb.fpga.tools import FlowError
from plusb.fpga.vendor import run_yosys, synthesized, with_models
from plusb.gen.verilog import to_verilog
from plusb.rtl.accumulate import MaskedAdder
from plusb.rtl.multiplier import Multiplier
from plusb.rtl.row_buffer import RowBuffer
from plusb.rtl.target import Target

pytestmark = pytest.mark.slow

ROW_BITS = 3
BANK = 16
# Of the presets.
DEPTHS = (16, 32, 64, 128)
# All that the presets have, with others between.
ADDERS = [(width, i, o) for width in (1, 2, 3, *range(12, 19)) for i in (False, True) for o in (False, True)]
SMALL = [(2, 2), (4, 4), (5, 3), (8, 5), (8, 8)]
MEDIUM = [(9, 8), (12, 4), (9, 16), (16, 15), (16, 16)]
LARGE = [(16, 18), (17, 15), (17, 18), (18, 15), (18, 16), (18, 18)]
WIRE = "module top (input a, output z);\nassign z = a;\nendmodule\n"


class Parallel(wiring.Component):
    """Components side by side, so that one proof covers them."""

    def __init__(self, *units):
        self._units = units
        super().__init__(
            {f"{name}_{i}": m for i, unit in enumerate(units) for name, m in unit.signature.members.items()}
        )

    def elaborate(self, platform):
        m = Module()
        for i, unit in enumerate(self._units):
            m.submodules[f"unit_{i}"] = unit
            for name, member in unit.signature.members.items():
                inner, outer = getattr(unit, name), getattr(self, f"{name}_{i}")
                m.d.comb += inner.eq(outer) if member.flow is wiring.In else outer.eq(inner)
        return m


def adders(options):
    return Parallel(*(MaskedAdder(width, carry_in=i, carry_out=o) for width, i, o in options))


def multipliers(widths):
    return Parallel(*(Multiplier(*pair) for pair in widths))


def texts(make, target):
    return [to_verilog(make(), "top", platform=platform) for platform in (Target.portable, target)]


def broken(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


def netlist(text, target):
    return with_models(synthesized(text, "top", target), "top", target)


@pytest.mark.parametrize(("kind", "options"), [("blocks", ADDERS), ("netlist", ADDERS[-12:])])
def test_adders(kind, options):
    golden, vendor = texts(lambda: adders(options), Target.ecp5)
    assert "CCU2C" in vendor
    vendor = netlist(vendor, Target.ecp5) if kind == "netlist" else vendor
    assert prove(golden, vendor, Target.ecp5, latency=0).verdict is Verdict.proven


@pytest.mark.parametrize(
    ("old", "new"), [("16'h6ccc", "16'h6cc4"), ("16'h6ccc", "16'h2ccc"), (".D0(1'h1)", ".D0(1'h0)")]
)
def test_broken_adder(old, new):
    golden, vendor = texts(lambda: MaskedAdder(17), Target.ecp5)
    proof = prove(golden, broken(vendor, old, new), Target.ecp5, latency=0)
    assert proof.verdict is Verdict.refuted
    (cycle,) = proof.trace
    assert cycle["golden.o"] == cycle["a"] * cycle["keep"] + cycle["b"] + cycle["carry"] != cycle["vendor.o"]


CASES = [
    (Target.ecp5, "blocks", SMALL),
    (Target.ecp5, "blocks", MEDIUM),
    (Target.ecp5, "blocks", LARGE),
    (Target.ecp5, "netlist", [(8, 8), (16, 15), (18, 18)]),
    (Target.ice40, "blocks", SMALL),
    (Target.ice40, "blocks", MEDIUM),
    (Target.ice40, "netlist", [(8, 8), (16, 15)]),
]


@pytest.mark.parametrize(("target", "kind", "widths"), CASES)
def test_multipliers(target, kind, widths):
    golden, vendor = texts(lambda: multipliers(widths), target)
    assert "MULT18X18D" in vendor or "SB_MAC16" in vendor
    vendor = netlist(vendor, target) if kind == "netlist" else vendor
    assert prove(golden, vendor, target, latency=Multiplier.LATENCY).verdict is Verdict.proven


@pytest.mark.parametrize(
    ("target", "widths", "old", "new"),
    [
        (Target.ecp5, (8, 8), ".SIGNEDA(1'h1)", ".SIGNEDA(1'h0)"),
        (Target.ecp5, (18, 18), '.REG_PIPELINE_CLK("CLK0")', '.REG_PIPELINE_CLK("NONE")'),
        (Target.ice40, (8, 8), ".A_SIGNED(1'h1)", ".A_SIGNED(1'h0)"),
        (Target.ice40, (9, 8), ".B_SIGNED(1'h1)", ".B_SIGNED(1'h0)"),
        (Target.ice40, (16, 15), ".PIPELINE_16x16_MULT_REG2(1'h1)", ".PIPELINE_16x16_MULT_REG2(1'h0)"),
    ],
)
def test_broken_multiplier(target, widths, old, new):
    golden, vendor = texts(lambda: Multiplier(*widths), target)
    proof = prove(golden, broken(vendor, old, new), target, latency=Multiplier.LATENCY)
    assert proof.verdict is Verdict.refuted
    last = proof.trace[Multiplier.LATENCY]
    assert last["golden.p"] != last["vendor.p"]


@pytest.mark.parametrize("widths", [(3, 2), (4, 4), (5, 3), (6, 6)])
def test_distributive_law(widths):
    """What the proofs of wide iCE40 multipliers take for granted, for factors that a solver can multiply."""
    a, b = widths
    text = (
        f"module top (input signed [{a - 1}:0] a, input signed [{b - 1}:0] b, output signed [{a + b - 1}:0] p);\n"
        "assign p = a * b;\nendmodule\n"
    )
    files = {"top.v": text, "schoolbook.v": (Path(plusb.fpga.__file__).with_name("schoolbook.v")).read_text()}
    limb = (max(widths) + 1) // 2
    script = (
        "read_verilog top.v; wreduce; copy top halves; "
        f"techmap -D LIMB={limb} -map schoolbook.v halves; select -assert-count 4 halves/t:$mul; "
        "miter -equiv -flatten top halves miter; tee -q -o log sat -prove trigger 0 miter"
    )
    assert "SUCCESS!" in run_yosys(files, script, "log")["log"]


@pytest.fixture(scope="module")
def buffers():
    """Texts of either buffer by their depth."""
    return {depth: texts(lambda depth=depth: RowBuffer(ROW_BITS, depth), Target.ecp5) for depth in DEPTHS}


OUTPUTS = ["golden.o__valid == vendor.o__valid", "~golden.o__valid | golden.o__payload == vendor.o__payload"]


def invariant(golden, vendor, depth):
    """What relates the states of the two: registers and words are equal, and so is the row that was read, if any."""
    pairs = list(zip(control(golden, depth), control(vendor, depth), strict=True))
    pairs += [(f"memory[{i}]", f"bank_{i // BANK}[{i % BANK}]") for i in range(depth)]
    read = "vendor.word_0"
    for i in range(1, depth // BANK):
        read = f"vendor.chosen == {i} ? vendor.word_{i} : {read}"
    fetched, _ = pairs[0]
    return [f"golden.{a} == vendor.{b}" for a, b in pairs] + [f"~golden.{fetched} | golden.read__data == ({read})"]


def control(text, depth):
    """Names of a buffer's registers for a row being fetched, the write and the read address, and the level.

    Only some have names of their own in Verilog; their widths tell the others.
    """
    registers = {name: int(high or 0) + 1 for high, name in re.findall(r"reg +(?:\[(\d+):0\] )?(\w+) = ", text)}
    known = ("some", "o__valid", "chosen")
    (fetched,) = (name for name, width in registers.items() if width == 1 and name not in known)
    addresses = [name for name, width in registers.items() if width == depth.bit_length() - 1]
    write, read = sorted(addresses, key=lambda name: name.startswith("read"))
    return fetched, write, read, "level", "some"


@pytest.mark.parametrize("depth", DEPTHS)
def test_buffers(buffers, depth):
    golden, vendor = buffers[depth]
    properties = OUTPUTS + invariant(golden, vendor, depth)
    assert prove(golden, vendor, Target.ecp5, properties=properties).verdict is Verdict.proven


@pytest.mark.parametrize(
    ("old", "new"), [("level = 6'h00", "level = 6'h01"), ("<= row;", "<= ~row;"), ("chosen <= ", "chosen <= ~")]
)
def test_broken_buffer(buffers, old, new):
    golden, vendor = buffers[32]
    proof = prove(golden, broken(vendor, old, new), Target.ecp5, properties=OUTPUTS, steps=8)
    assert proof.verdict is Verdict.refuted
    last = proof.trace[-1]
    assert (last["golden.o__valid"], last["golden.o__payload"]) != (last["vendor.o__valid"], last["vendor.o__payload"])


def test_properties_of_inner_signals(buffers):
    golden, vendor = buffers[32]
    vendor = broken(vendor, "level = 6'h00", "level = 6'h01")
    properties = ["golden.level + golden.valid == vendor.level + vendor.valid"]
    proof = prove(golden, vendor, Target.ecp5, properties=properties)
    assert proof.verdict is Verdict.refuted
    (cycle,) = proof.trace
    assert cycle.keys() == {
        *("rst", "row", "valid", "o__ready"),
        *(f"{side}.o__{name}" for side in ("golden", "vendor") for name in ("valid", "payload")),
    }


def test_too_few_steps(buffers):
    """Without what relates the states an induction of any length fails, which is no refutation."""
    golden, vendor = buffers[BANK]
    assert prove(golden, vendor, Target.ecp5, properties=OUTPUTS, steps=3).verdict is Verdict.undecided


@pytest.fixture(scope="module")
def pair():
    """Two small multipliers, and the netlist in which they are one block."""
    golden, vendor = texts(lambda: multipliers([(8, 8), (7, 5)]), Target.ice40)
    return golden, synthesized(vendor, "top", Target.ice40)


def blocks(netlist):
    return [cell for cell in netlist["modules"]["top"]["cells"].values() if cell["type"] == "SB_MAC16"]


def test_pair(pair):
    golden, netlist = pair
    assert len(blocks(netlist)) == 1
    vendor = with_models(netlist, "top", Target.ice40)
    assert prove(golden, vendor, Target.ice40, latency=Multiplier.LATENCY).verdict is Verdict.proven


def test_broken_pair(pair):
    golden, netlist = pair
    netlist = copy.deepcopy(netlist)
    (block,) = blocks(netlist)
    factor = block["connections"]["A"]
    factor[:8], factor[8:] = factor[8:], factor[:8]
    vendor = with_models(netlist, "top", Target.ice40)
    assert prove(golden, vendor, Target.ice40, latency=Multiplier.LATENCY).verdict is Verdict.refuted


def test_no_time():
    assert prove(WIRE, WIRE, Target.ecp5, latency=0, timeout=0.01).verdict is Verdict.undecided


def test_feedback_has_no_latency(buffers):
    golden, vendor = buffers[BANK]
    with pytest.raises(FlowError, match=r"wrote no log: .*SCC"):
        prove(golden, vendor, Target.ecp5, latency=RowBuffer.LATENCY)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"latency": 1.0}, TypeError, "latency must be an integer or None, not 1.0"),
        ({"latency": -1}, ValueError, "latency must be at least 0, not -1"),
        (
            {"latency": 0, "properties": ["golden.q"]},
            ValueError,
            "properties must name signals that are there, not golden.q",
        ),
    ],
)
def test_errors(options, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        prove(WIRE, WIRE, Target.ecp5, **options)


def test_other_ports():
    message = "golden and vendor must have the same ports, not ['a', 'z'] and ['a', 'q']"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        prove(WIRE, WIRE.replace("z", "q"), Target.ecp5, latency=0)
