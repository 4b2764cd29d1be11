"""What the tests of `plusb run FILE` share."""

import json
from pathlib import Path

import pytest
from plusb.gen import cli

__all__ = ["NAMES", "RUNTIMES", "fails", "model_file", "real_input", "run"]

MODELS = Path(__file__).resolve().parents[2] / "shared" / "models"
RUNTIMES = ("litert-ref", "litert", "litert-xnnpack", "tflm")
NAMES = {
    "hello_world_int8": "tflm",
    "ad01_int8": "mlperf_tiny",
    "kws_ref_model": "mlperf_tiny",
    "pretrainedResnet_quant": "mlperf_tiny",
    "vww_96_int8": "mlperf_tiny",
}


def model_file(name):
    path = MODELS / NAMES[name] / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return path


def real_input(name):
    """The options that give a model a real input, where there is one."""
    if name == "vww_96_int8":
        return "--input", MODELS / "inputs" / "person.bmp", "--raw"
    if name == "ad01_int8":
        file = MODELS / "inputs" / "ad01_normal_id_01_00000000_hist_librosa.bin"
        return "--input", file, "--hop", 128, "--limit", 2
    return ()


def run(capsys, *arguments, code=0):
    """What ``plusb run ... --json`` prints."""
    assert cli.main(["run", *map(str, arguments), "--json"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def fails(capsys, *arguments):
    assert cli.main(["run", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err[len("error: ") : -1]
