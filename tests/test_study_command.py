"""`plusb study bias-width`: a model file, the committed network, the picture, and everything wrong in one line."""

import json

import numpy as np
import pytest
from plusb.gen import cli
from plusb.gen.commands import study as command

PNG, SVG = b"\x89PNG\r\n", b"<?xml"


def run(capsys, *argv):
    assert cli.main(["study", "bias-width", *map(str, argv)]) == 0
    return capsys.readouterr().out


def test_committed_network(capsys):
    report = json.loads(run(capsys, "digits", "--json"))
    assert report["claim_points"] == [0.2, 0.5]
    (network,) = report["networks"]
    assert network == {
        "name": "digits",
        "networks": 1,
        "images": 360,
        "accuracy": pytest.approx(355 / 360),
        "bias_bits": 14,
        "effective_bits": 19,
    }
    measured = report["measurements"]
    assert len(measured) == 14 + 12
    assert measured[0]["form"] == "int32"
    assert measured[0]["exact"] is True
    sat = next(m for m in measured if m["form"] == "int8 sat" and m["stored"] == "effective")
    assert sat["verdict"] == "more"


def test_table(capsys):
    lines = run(capsys, "digits", "--stored", "model").splitlines()
    assert lines[0] == (
        "digits: 1 network, 360 images, accuracy 98.61% with int32 biases; biases of up to 14 bits, "
        "19 with zero points folded"
    )
    assert lines[2].startswith("network  stored  bias")
    assert sum(line.startswith("digits ") for line in lines) == 14


@pytest.mark.parametrize(("name", "start"), [("p.png", PNG), ("p.svg", SVG)])
def test_plot(tmp_path, capsys, name, start):
    pytest.importorskip("matplotlib")
    assert run(capsys, "digits", "--plot", tmp_path / name).endswith(f"wrote {tmp_path / name}\n")
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.slow
def test_trained_on_the_spot(capsys):
    report = json.loads(run(capsys, "--seeds", 1, "--json"))
    assert [network["name"] for network in report["networks"]] == ["mlp shapes", "cnn shapes", "cnn-dead shapes"]
    assert report["networks"][2]["bias_bits"] == 32


@pytest.fixture
def model(tmp_path):
    pytest.importorskip("ai_edge_litert")
    from . import models_tflite

    path = tmp_path / "m.tflite"
    path.write_bytes(models_tflite.fully_connected(np.random.default_rng(1), 2, 8, 5))
    return path


def data(path, x, **arrays):
    np.savez(path, x=x, **arrays)
    return path


def test_a_tflite_file(tmp_path, model, capsys):
    rng = np.random.default_rng(2)
    # Three samples on a batch of two: the last run is filled up.
    labelled = data(tmp_path / "d.npz", rng.integers(-128, 128, (3, 8)).astype(np.int8), y=np.array([0, 1, 2]))
    report = json.loads(run(capsys, model, "--data", labelled, "--runtime", "tflm", "--json"))
    assert report["networks"][0]["images"] == 3
    assert report["measurements"][0]["predictions_changed"] == 0
    assert any(m["outputs_changed"] for m in report["measurements"])
    plain = data(tmp_path / "f.npz", rng.normal(size=(4, 8)).astype(np.float32))
    out = run(capsys, model, "--data", plain)
    assert "accuracy" not in out.splitlines()[0]


def test_a_tflite_file_plotted_without_labels(tmp_path, model, capsys):
    pytest.importorskip("matplotlib")
    plain = data(tmp_path / "f.npz", np.random.default_rng(3).normal(size=(4, 8)))
    run(capsys, model, "--data", plain, "--plot", tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(PNG)


def test_an_onnx_file(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    from . import models_onnx

    rng = np.random.default_rng(4)
    path = tmp_path / "m.onnx"
    for make in (
        lambda: models_onnx.static(models_onnx.cnn(rng), rng, qdq=False, signed=False, per_channel=True),
        lambda: models_onnx.dynamic(models_onnx.mlp(rng)),
    ):
        path.write_bytes(make())
        shape = (4, 3, 11, 10) if b"Conv" in path.read_bytes() else (7, 16)
        file = data(tmp_path / "d.npz", rng.normal(size=shape).astype(np.float32), y=np.zeros(shape[0], int))
        report = json.loads(run(capsys, path, "--data", file, "--json"))
        assert report["measurements"][0]["outputs_changed"] == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["study"], "the following arguments are required: STUDY"),
        (["study", "depth"], "argument STUDY: invalid choice: 'depth'"),
        (["study", "bias-width", "--seeds", "0"], "argument --seeds: must be an integer of at least 1, not '0'"),
        (["study", "bias-width", "--data", "cats"], "argument --data: must be shapes or digits without a model, not "),
        (
            ["study", "bias-width", "digits", "--data", "d.npz"],
            "argument --data: the digits network comes with its own",
        ),
        (["study", "bias-width", "m.tflite"], "a model file needs --data FILE.npz, with x and, if there are labels, y"),
        (
            ["study", "bias-width", "digits", "--plot", "p.pdf"],
            "argument --plot: must be a .png or .svg file, not 'p.pdf'",
        ),
        (["study", "bias-width", "digits", "--plot", "no/p.png"], "argument --plot: there is no folder no"),
        (["study", "bias-width", "m.txt", "--data", "d.npz"], "a model must be a .tflite or .onnx file, not 'm.txt'"),
    ],
)
def test_errors(capsys, tmp_path, monkeypatch, argv, message):
    monkeypatch.chdir(tmp_path)
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: " + message)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (None, "{path}: No such file or directory"),
        (lambda path: path.write_bytes(b"no"), "{path}: not a .npz file: "),
        (lambda path: path.write_bytes(b""), "{path}: not a .npz file: "),
        (lambda path: np.savez(path, z=np.ones(3)), "{path}: a data set must be a .npz file with an array x"),
        (lambda path: np.savez(path, x=np.ones(3)), "{path}: x must have the shape (samples, ...), not [3]"),
        (lambda path: np.savez(path, x=np.ones((3, 8)), y=np.ones(3)), "{path}: y must hold 3 integers, not float64"),
        (lambda path: np.savez(path, x=np.ones((3, 9))), "{path}: samples of shape [9] do not fit the input [2, 8]"),
        (lambda path: np.savez(path, x=np.ones((3, 8), np.int64)), "{path}: x must be int8, or finite floats"),
        (lambda path: np.savez(path, x=np.full((3, 8), np.nan)), "{path}: x must be int8, or finite floats"),
        (lambda path: np.savez(path, x=np.array([[None] * 8])), "{path}: not a .npz file: "),
    ],
)
def test_bad_data(capsys, tmp_path, model, write, message):
    path = tmp_path / "d.npz"
    if write is not None:
        write(path)
    assert cli.main(["study", "bias-width", str(model), "--data", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: " + message.format(path=path))
    assert err.count("\n") == 1


def test_missing_packages(capsys, monkeypatch):
    def missing(*_):
        raise ModuleNotFoundError("gone", name="sklearn")

    monkeypatch.setattr("plusb.gen.study.trained_networks", missing)
    assert cli.main(["study", "bias-width", "--data", "digits"]) == 2
    assert capsys.readouterr().err == (
        "error: --data digits needs sklearn; install plusb[dev], or take --data shapes\n"
    )
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert cli.main(["study", "bias-width", "digits", "--plot", "p.png"]) == 2
    assert capsys.readouterr().err == "error: --plot needs matplotlib; install plusb[models]\n"


def test_verdicts_have_words():
    assert set(command._VERDICTS) == {None, "less", "within", "more", "open"}
