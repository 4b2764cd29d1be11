"""The command line: what it writes, and that everything wrong ends in one line, an exit code, and nothing written."""

import json
import os
import shutil
import signal
import subprocess
import sys
from functools import partial

import pytest
from plusb.gen import cli
from plusb.gen.commands import doctor
from plusb.gen.version import __version__
from plusb.rtl import toml
from plusb.rtl.presets import PRESETS

TINY = 'rows = 1\ncols = 1\nmax_k = 16\nepilogue = "none"\n'
PLUSB = [sys.executable, "-m", "plusb.gen.cli"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLUSB_BUILD", str(tmp_path / "cache"))
    return tmp_path


def fails(capsys, folder, *argv, code=2):
    """The one line with which a command fails, without its ``error: ``; nothing may have been written."""
    before = sorted(folder.rglob("*"))
    assert cli.main(list(argv)) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sorted(folder.rglob("*")) == before
    return err[len("error: ") : -1]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: command (see plusb --help)"),
        (["fly"], "argument command: invalid choice: 'fly'"),
        (["gen", "--fly"], "unrecognized arguments: --fly (see plusb gen --help)"),
        (["gen", "--config"], "argument --config: expected one argument (see plusb gen --help)"),
        (
            ["gen", "--config", "huge"],
            f"config must be one of {', '.join(PRESETS)} or the path of a .toml file, not 'huge'",
        ),
        (["gen", "--config", "no.toml"], "cannot read no.toml: [Errno 2] No such file or directory: 'no.toml'"),
        (
            ["gen", "--name", "a b"],
            "name must be letters, digits and underscores, and not begin with a digit, not 'a b'",
        ),
        (["gen", "--name", "module"], "name must not be a keyword of Verilog, not 'module'"),
        (["gen", "--out", "file/out"], "{folder}/file: Not a directory"),
        (["gen", "--out", "file"], "file: Not a directory"),
        (["run"], "the following arguments are required: MODEL (see plusb run --help)"),
        (["run", "resnet"], "argument MODEL: invalid choice: 'resnet'"),
        (["run", "digits", "--limit", "0"], "argument --limit: must be an integer of at least 1, not '0'"),
        (["run", "digits", "--limit", "x"], "argument --limit: must be an integer of at least 1, not 'x'"),
        (["run", "digits", "--limit", "361"], "argument --limit: must be in 1..360 (the images there are), not 361"),
        (["run", "digits", "--waves", "no/w.vcd"], "no/w.vcd: No such file or directory"),
        (["bench", "small"], "unrecognized arguments: small (see plusb bench --help)"),
    ],
)
def test_bad_arguments(capsys, folder, argv, message):
    (folder / "file").touch()
    # Later Python versions list the choices in other words, so a message may go on.
    assert fails(capsys, folder, *argv).startswith(message.format(folder=folder))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rows = ", "c.toml: not TOML: Invalid value (at end of document)"),
        ("row = 4", "c.toml: row is not a field; the fields are rows, cols, "),
        ("[epilogue]\nfamily = 1", "c.toml: epilogue.family is not a field; the fields are families, multiplier_width"),
        (
            "cols = 4\nlanes = 3",
            "c.toml: lanes must divide cols (4), so be one of [1, 2, 4], not 3",
        ),
        (
            "max_k = 65794",
            "c.toml: max_k must be in 1..65793 (the K that is safe for int8 x int8 in 32 bits), not 65794",
        ),
    ],
)
@pytest.mark.parametrize("command", [["gen"], ["run", "digits"]])
def test_bad_config(capsys, folder, command, text, message):
    (folder / "c.toml").write_text(text, encoding="utf-8")
    assert fails(capsys, folder, *command, "--config", "c.toml").startswith(message)


def test_config_name_must_be_usable_in_verilog(capsys, folder):
    (folder / "my-unit.toml").write_text(TINY, encoding="utf-8")
    assert fails(capsys, folder, "gen", "--config", "my-unit.toml") == (
        "the name of my-unit.toml must be usable in Verilog: letters, digits and underscores only"
    )


def test_run_without_epilogue(capsys, folder):
    (folder / "raw.toml").write_text(TINY, encoding="utf-8")
    message = fails(capsys, folder, "run", "digits", "--config", "raw.toml")
    assert message == "run needs a unit with an epilogue, and raw.toml has none"


@pytest.mark.parametrize("program", ["g++", "make", "perl"])
def test_missing_program(capsys, folder, monkeypatch, program):
    have = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, *a, **k: None if name == program else have(name, *a, **k))
    (folder / "cache").mkdir()
    (folder / "c.toml").write_text("rows = 1\ncols = 1", encoding="utf-8")
    message = fails(capsys, folder, "run", "digits", "--config", "c.toml")
    assert message == f"{program} is missing; install it, for example with: sudo apt-get install {program}"


def test_missing_package(capsys, folder, monkeypatch):
    monkeypatch.setitem(cli.COMMANDS, "bench", ("no_such_package", ""))
    message = fails(capsys, folder, "bench")
    assert message == "the package no_such_package is missing; `plusb doctor` tells how to install it"


def test_file_in_the_way(capsys, folder):
    (folder / "c.toml").write_text(TINY, encoding="utf-8")
    (folder / "plusb_c.json").mkdir()
    assert fails(capsys, folder, "gen", "--config", "c.toml") == "plusb_c.json: Is a directory"


def test_failed_write_leaves_the_old_file(capsys, folder, monkeypatch):
    (folder / "c.toml").write_text(TINY, encoding="utf-8")
    (folder / "plusb_c.v").write_text("old", encoding="utf-8")

    def replace(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", replace)
    assert fails(capsys, folder, "gen", "--config", "c.toml") == "No space left on device"
    assert (folder / "plusb_c.v").read_text(encoding="utf-8") == "old"


def test_interrupt(capsys, folder, monkeypatch):
    def execute(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "execute", execute)
    assert fails(capsys, folder, "doctor", code=130) == "interrupted"


def test_interrupt_of_the_process(folder):
    (folder / "c.toml").write_text("rows = 24\ncols = 24\n", encoding="utf-8")  # takes long enough
    # A shell starts background jobs with the interrupt ignored, and the tests may run in one.
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    command = [*PLUSB, "gen", "--config", "c.toml"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=listen) as process:
        try:
            process.wait(4)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == "error: interrupted\n"
    assert list(folder.iterdir()) == [folder / "c.toml"]


def test_broken_pipe(folder):
    (folder / "c.toml").write_text(TINY, encoding="utf-8")
    reader, writer = os.pipe()
    os.close(reader)
    command = [*PLUSB, "gen", "--config", "c.toml", "--out", "-"]
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert result.returncode == 2
    assert result.stderr == "error: whoever read the output has closed it\n"


def test_gen(capsys, folder):
    (folder / "c.toml").write_text(TINY, encoding="utf-8")
    assert cli.main(["gen", "--config", "c.toml", "--out", "a/b"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    config = toml.loads(TINY)
    verilog, manifest = folder / "a/b/plusb_c.v", folder / "a/b/plusb_c.json"
    assert sorted((folder / "a/b").iterdir()) == [manifest, verilog]
    assert out.splitlines() == [
        f"plusb_c: 1x1 int8 x int8, no epilogue, K up to 16, configuration {config.config_hash}",
        f"wrote a/b/plusb_c.v ({verilog.stat().st_size:,} bytes)",
        f"wrote a/b/plusb_c.json ({manifest.stat().st_size:,} bytes)",
    ]
    assert json.loads(manifest.read_text(encoding="utf-8"))["config"] == config.to_dict()
    assert "module plusb_c (" in verilog.read_text(encoding="utf-8")


def test_gen_to_stdout(capsys, folder):
    (folder / "c.toml").write_text(TINY, encoding="utf-8")
    assert cli.main(["gen", "--config", "c.toml", "-o", "-", "--name", "mine"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("// mine: ")
    assert out.endswith("endmodule\n")
    assert err == ""
    assert list(folder.iterdir()) == [folder / "c.toml"]


def test_list_presets(capsys):
    assert cli.main(["gen", "--list-presets"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()] == list(PRESETS)
    assert "4x4 int8 x int8, 4 epilogue lanes, K up to 65793" in out


def test_version_and_help(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"plusb {__version__}\n"
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in cli.COMMANDS)
    for command in cli.COMMANDS:
        assert cli.main([command, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"usage: plusb {command}")


def test_doctor(capsys, monkeypatch):
    assert cli.main(["doctor", "--json"]) == 0
    findings = {item["name"]: item for item in json.loads(capsys.readouterr().out)}
    assert findings["amaranth"]["found"] == "0.5.10"
    assert findings["g++"]["found"] == shutil.which("g++")

    have = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name in ("perl", "iverilog") else have(name))
    assert cli.main(["doctor"]) == 1
    out, err = capsys.readouterr()
    assert "missing: sudo apt-get install perl" in out
    assert "missing (optional): sudo apt-get install iverilog" in out
    assert err == "error: missing perl\n"
