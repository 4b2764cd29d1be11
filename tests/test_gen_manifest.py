"""The manifest says of every port and word what the hardware's own description says."""

import hashlib
import json

import pytest
from plusb.gen.manifest import manifest, manifest_json
from plusb.gen.unit import engine_unit, epilogue_unit
from plusb.gen.version import __version__
from plusb.rtl import toml
from plusb.rtl.config import EngineConfig
from plusb.rtl.formats import command_fields

from .bench_configs import FEATURES

CONFIGS = [
    EngineConfig(rows=2, cols=2, max_k=16),
    EngineConfig(rows=3, cols=2, max_k=16, activation="int4", epilogue=None),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_manifest(config):
    unit = engine_unit(config, "plusb_mine")
    text = manifest_json(unit)
    assert text.endswith("}\n")
    read = json.loads(text)
    assert read == manifest(unit)
    assert (read["name"], read["verilog"], read["version"]) == ("plusb_mine", "plusb_mine.v", __version__)
    assert read["verilog_sha256"] == hashlib.sha256(unit.verilog.encode()).hexdigest()
    assert read["config_hash"] == config.config_hash
    assert EngineConfig.from_dict(read["config"]) == toml.loads(read["config_toml"]) == config
    assert read["latency"]["cycles"] == unit.latency
    assert read["parameters"]["tile_period"] == config.tile_period


@pytest.mark.parametrize(
    ("config", "make"),
    [
        *((config, engine_unit) for config in (*CONFIGS, *FEATURES.values())),
        *((config, epilogue_unit) for config in (CONFIGS[0], *FEATURES.values())),
    ],
)
def test_ports_and_words(config, make):
    unit = make(config, "plusb_mine")
    read = manifest(unit)
    ports = {port["name"]: port for port in read["ports"]}
    assert list(ports) == ["clk", "rst", *unit.ports]
    assert [stream["name"] for stream in read["streams"]] == [*unit.inputs, *unit.outputs]
    listed = {"clk", "rst"}
    for stream in read["streams"]:
        data = ports[f"{stream['prefix']}_tdata"]
        assert (data["direction"], data["width"]) == (stream["direction"], stream["tdata_width"])
        listed |= {name for name in ports if name.startswith(stream["prefix"] + "_")}
        end = 0
        for field in stream["fields"]:
            assert field["offset"] == end
            assert field["doc"]
            end += field["width"] * field["count"]
        assert end <= stream["tdata_width"] < end + 8
        assert stream["doc"]
    assert listed == set(ports)
    command = next(stream for stream in read["streams"] if stream["name"] == "cmd")
    assert [(f["name"], f["width"], f["signed"]) for f in command["fields"]] == [
        (f.name, f.width, f.signed) for f in command_fields(config, engine=make is engine_unit)
    ]


def test_signedness():
    streams = {stream["name"]: stream for stream in manifest(engine_unit(CONFIGS[0]))["streams"]}
    assert streams["a"]["fields"][0] | {"doc": ""} == {
        "name": "a",
        "offset": 0,
        "width": 8,
        "signed": True,
        "count": 2,
        "doc": "",
    }
    signed = {field["name"]: field["signed"] for stream in streams.values() for field in stream["fields"]}
    assert signed["bias"] is True
    assert signed["multiplier"] is False
    assert signed["zp"] is True
