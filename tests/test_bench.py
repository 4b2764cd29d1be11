"""`plusb bench`."""

import json

import pytest
from plusb.gen import cli
from plusb.gen.commands import bench


def test_generation():
    figures = bench.measure_generation(2)
    assert (figures["rows"], figures["cols"]) == (2, 2)
    assert figures["seconds"] > 0
    assert figures["bytes"] > 10_000


@pytest.mark.slow
def test_bench(capsys, monkeypatch):
    monkeypatch.setattr(bench, "CONFIGS", ("small",))
    monkeypatch.setattr(bench, "SIZES", (1, 2))
    assert cli.main(["bench", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    read = json.loads(out)
    assert list(read) == ["gemms", "unfused", "generation", "simulation"]
    keys = ["config", "m", "k", "n", "cycles", "ideal_cycles", "utilization", "cycles_raw"]
    assert [list(item) for item in read["gemms"]] == [keys] * 3
    assert [(item["m"], item["k"], item["n"]) for item in read["gemms"]] == list(bench.PRODUCTS)
    keys = ["config", "m", "k", "n", "cycles_fused", "cycles_unfused", "ratio", "bytes_fused", "bytes_unfused"]
    assert [list(item) for item in read["unfused"]] == [keys] * 2
    for item in read["unfused"]:
        assert item["ratio"] == item["cycles_unfused"] / item["cycles_fused"] > 1
        sums = 4 * item["m"] * item["n"]
        assert item["bytes_unfused"] > item["bytes_fused"] + 2 * sums
    assert [list(item) for item in read["generation"]] == [["rows", "cols", "seconds", "bytes"]] * 2
    assert [list(item) for item in read["simulation"]] == [["config", "cycles_per_second"]]

    assert cli.main(["bench"]) == 0
    out = capsys.readouterr().out
    assert "256 x 256 x 256" in out
    assert "Verilog bytes" in out
