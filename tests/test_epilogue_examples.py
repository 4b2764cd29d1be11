"""The examples of rtl/EPILOGUE.md: they lint, they elaborate, and they compute what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest
from plusb.gen.gemm import Gemm
from plusb.gen.lower import lower_epilogue
from plusb.gen.manifest import manifest
from plusb.gen.unit import Unit, epilogue_unit
from plusb.gen.verilog import to_verilog
from plusb.rtl.axis import AxisTop
from plusb.rtl.numeric import Family
from plusb.rtl.presets import PRESETS
from plusb.rtl.target import Target
from plusb.sim import verilator
from plusb.sim.burst import open_unit
from plusb.sim.golden import epilogue

from .bench_configs import FEATURES

SMALL = PRESETS["small"]
TEXT = (Path(__file__).parents[1] / "rtl" / "EPILOGUE.md").read_text(encoding="utf-8")
STREAMS = ("acc", "bias", "scale")


def example(language):
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return text


def verilog_layer():
    return example("verilog") + "\n" + epilogue_unit(SMALL, "plusb_small_epilogue").verilog


def amaranth_layer():
    names = {}
    exec(compile(example("python"), "EPILOGUE.md", "exec"), names)
    return to_verilog(AxisTop(names["MyLayer"]()), "my_layer")


LAYERS = pytest.mark.parametrize("make", [verilog_layer, amaranth_layer], ids=["verilog", "amaranth"])


@LAYERS
def test_lint(make, tmp_path):
    (tmp_path / "my_layer.v").write_text(make(), encoding="utf-8")
    verilator.run(["--lint-only", "-Wall", *verilator.WAIVERS, "--top-module", "my_layer", "my_layer.v"], tmp_path)


@pytest.mark.parametrize(
    ("name", "target"), [("conform", "portable"), ("conform", "ecp5"), *((name, "portable") for name in FEATURES)]
)
def test_the_unit_itself_passes_lint(name, target, tmp_path):
    unit = epilogue_unit((PRESETS | FEATURES)[name], "plusb_mine", Target(target))
    assert f"for target {target}." in unit.verilog
    text = unit.verilog + "".join(blocks(unit.verilog))
    assert ("module MULT18X18D" in text) == (target == "ecp5")
    (tmp_path / "plusb_mine.v").write_text(text, encoding="utf-8")
    lint = ["--lint-only", "-Wall", *verilator.WAIVERS, "--top-module", "plusb_mine", "plusb_mine.v"]
    verilator.run(lint, tmp_path)


def blocks(verilog):
    """Empty modules in place of those that a vendor's tools know by name."""
    instances = re.findall(r"^  (\w+) #\((.*?)\) \w+ \((.*?)\);", verilog, re.DOTALL | re.MULTILINE)
    for name in dict.fromkeys(module for module, _, _ in instances):
        parameters, ports = (
            dict.fromkeys(word for one in instances if one[0] == name for word in re.findall(r"\.(\w+)\(", one[part]))
            for part in (1, 2)
        )
        outputs = [port for port in ports if re.fullmatch(r"P\d+|S[01]|COUT", port)]
        declared = [f"{'output' if port in outputs else 'input'} wire {port}" for port in ports]
        body = "".join(f"  assign {port} = 1'b0;\n" for port in outputs)
        yield (
            "/* verilator lint_off UNUSEDPARAM */\n"
            f"module {name} #(parameter {', '.join(f'{word} = 0' for word in parameters)})"
            f" ({', '.join(declared)});\n{body}endmodule\n"
        )


def test_bit_positions_are_those_of_the_manifest():
    streams = {stream["name"]: stream for stream in manifest(epilogue_unit(SMALL, "plusb_small_epilogue"))["streams"]}
    for field in streams["cmd"]["fields"]:
        high, low = field["offset"] + field["width"] - 1, field["offset"]
        place = f"[{high}:{low}]" if high > low else f"[{low}]"
        assert f"`{place}` {({'rows': 'rows − 1', 'cols': 'columns − 1'}).get(field['name'], field['name'])}" in TEXT
        assert f"// {place} " in example("verilog")
    for name, place in (("multiplier", "[30:0]"), ("shift", "[36:31]")):
        field = next(field for field in streams["scale"]["fields"] if field["name"] == name)
        assert place == f"[{field['offset'] + field['width'] - 1}:{field['offset']}]"
        assert f"`{place}` " in TEXT
    for index, family in enumerate(SMALL.epilogue.families):
        assert f"{index} {family}" in TEXT


@pytest.mark.slow
@LAYERS
def test_layer_computes(make):
    rng = np.random.default_rng(1)
    acc = rng.integers(-(2**20), 2**20, (40, 4))
    scale = {"multiplier": rng.integers(2**30, 2**31, 4), "shift": rng.integers(-14, -11, 4)}
    gemm = Gemm(
        name="x",
        op="x",
        w=np.zeros((1, 4), int),
        bias=rng.integers(-999, 999, 4),
        family=Family.gemmlowp,
        zp_out=3,
        **scale,
    )
    program = lower_epilogue(SMALL, gemm, acc)
    inner = epilogue_unit(SMALL)
    layer = Unit(
        name="my_layer",
        config=SMALL,
        verilog=make(),
        inputs=STREAMS,
        outputs=("out",),
        ports=inner.ports,
        latency=inner.latency,
        out_bytes=inner.out_bytes,
        keep_bits=inner.keep_bits,
    )
    expected = epilogue(acc, family=Family.gemmlowp, bias=gemm.bias, zp_out=3, **scale)
    assert len(np.unique(expected)) > 50
    with open_unit(SMALL, make=lambda _: layer) as unit:
        for idle, stall in ((0, 0), (90, 120)):
            unit.reset(7)
            result = unit.run(program, idle=idle, stall=stall)
            assert program.collect(result.data).tolist() == expected.tolist()
            assert result.last.tolist() == [0, 0, 0, 1] * 10
