"""Builds are made once, and appear whole or not at all."""

import pytest
from plusb.sim.cache import build_once, cache_root


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("PLUSB_BUILD", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_root(root, monkeypatch, tmp_path):
    assert cache_root() == root
    monkeypatch.delenv("PLUSB_BUILD")
    monkeypatch.chdir(tmp_path)
    assert cache_root() == tmp_path / "build"


def test_made_once(root):
    calls = []

    def make(folder):
        calls.append(folder)
        (folder / "unit").write_text("built", encoding="utf-8")

    first, second, other = (build_once("kind", digest, make) for digest in ("1", "1", "2"))
    assert first == second != other
    assert len(calls) == 2
    assert (first / "unit").read_text(encoding="utf-8") == "built"
    assert sorted(root.iterdir()) == sorted([first, other])


def test_failure_leaves_nothing(root):
    def make(folder):
        (folder / "half").touch()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        build_once("kind", "1", make)
    assert list(root.iterdir()) == []


def test_another_process_was_faster(root):
    def make(folder):
        build_once("kind", "1", lambda inner: (inner / "unit").write_text("theirs", encoding="utf-8"))
        (folder / "unit").write_text("ours", encoding="utf-8")

    folder = build_once("kind", "1", make)
    assert (folder / "unit").read_text(encoding="utf-8") == "theirs"
    assert list(root.iterdir()) == [folder]
