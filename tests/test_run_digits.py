"""The main job: the digits network through the generated Verilog."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from plusb.gen import cli
from plusb.gen.commands import digits, run
from plusb.gen.digits import network
from plusb.gen.reference import product_stages
from plusb.sim.layers import LayerRun

KEYS = ["config", "accuracy", "layers", "outputs", "mismatches", "cycles", "cycles_epilogue_off", "seconds"]
LAYER_KEYS = ["name", "op", "m", "k", "n", "macs", "cycles", "ideal_cycles", "utilization", "outputs", "mismatches"]


@dataclass
class GoldenPair:
    """Stands in for the hardware; adds ``error`` to the first output of the layer called ``wrong``."""

    wrong: str = ""
    error: int = 0

    def run(self, layer, x, *, progress=None):
        y = product_stages(layer, x).out
        if layer.name == self.wrong:
            y[0, 0] += self.error
        if progress:
            progress(1)
        return LayerRun(
            name=layer.name,
            op=layer.op,
            m=len(x),
            k=layer.k,
            n=layer.n,
            macs=y.size * layer.k,
            ideal_cycles=8,
            cycles=10,
            cycles_raw=9,
            mismatches=int(layer.name == self.wrong),
            seconds=0.5,
            y=y,
        )


def test_report():
    shares = []
    report = digits.run_digits(
        "small", GoldenPair(), progress=lambda name, share: shares.append((name, round(share, 3)))
    )
    read = digits.report_json(report)
    assert list(read) == [*KEYS, "cycles_per_second"]
    assert list(read["accuracy"]) == ["float", "golden", "hardware"]
    assert [list(layer) for layer in read["layers"]] == [LAYER_KEYS] * 3
    assert [layer["name"] for layer in read["layers"]] == ["fc1", "fc2", "fc3"]
    assert read["accuracy"]["golden"] == read["accuracy"]["hardware"] >= 0.95
    assert (read["outputs"], read["mismatches"]) == (360 * (128 + 64 + 10), 0)
    assert (read["cycles"], read["cycles_epilogue_off"], read["seconds"], read["cycles_per_second"]) == (
        30,
        27,
        1.5,
        20,
    )
    assert shares == [("fc1", 0.481), ("fc2", 0.962), ("fc3", 1.0)]
    json.dumps(read)


def test_layers_read_what_the_hardware_wrote():
    net = network.load()
    wrong = digits.run_digits("small", GoldenPair("fc1", 1), limit=3).layers
    right = digits.run_digits("small", GoldenPair(), limit=3).layers
    assert [layer.mismatches for layer in wrong] == [1, 0, 0]
    x = right[0].y.copy()
    x[0, 0] += 1
    assert np.array_equal(wrong[1].y, product_stages(net.layers[1], x).out)


def test_a_mismatch_fails_the_run(capsys, monkeypatch):
    class Opened:
        def __init__(self, *_, **__):
            pass

        def __enter__(self):
            return GoldenPair("fc2", 1)

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(run, "open_pair", Opened)
    assert cli.main(["run", "digits", "--limit", "5"]) == 1
    out = capsys.readouterr().out
    assert "compared    1,010 outputs, 1 mismatches" in out


@pytest.mark.slow
def test_digits_on_small(capsys):
    assert cli.main(["run", "digits", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    read = json.loads(out)
    assert (read["config"], read["outputs"], read["mismatches"]) == ("small", 72720, 0)
    assert read["accuracy"]["hardware"] == read["accuracy"]["golden"] >= 0.95
    assert read["cycles_per_second"] == pytest.approx(read["cycles"] / read["seconds"], rel=1e-3)
    assert all(layer["utilization"] > 0.999 for layer in read["layers"][:2])
    assert 0 <= read["cycles"] - read["cycles_epilogue_off"] <= 3 * 60


@pytest.mark.slow
def test_table_and_waves(capsys, tmp_path):
    waves = tmp_path / "tiny.vcd"
    assert cli.main(["run", "digits", "--config", "tiny", "--limit", "1", "--waves", str(waves)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "digits, 1 images, on tiny: 2x2 array, 1 epilogue lanes" in out
    assert "compared    202 outputs, 0 mismatches" in out
    assert waves.stat().st_size > 100_000


@pytest.mark.slow
def test_too_long_for_the_unit(capsys, tmp_path):
    path = tmp_path / "short.toml"
    path.write_text("rows = 1\ncols = 1\nmax_k = 32\n", encoding="utf-8")
    assert cli.main(["run", "digits", "--config", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"error: {path} cannot run digits: K must be in 1..32 (max_k of the unit), not 64\n"
