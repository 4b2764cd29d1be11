"""What the README shows is true."""

import re
from pathlib import Path

import pytest
from amaranth import Value
from amaranth.back import rtlil
from plusb.rtl import toml

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_configurations():
    for text in blocks("toml"):
        toml.loads(text)


def test_links():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.slow
def test_python():
    for text in blocks("python"):
        names = {}
        exec(compile(text, "README.md", "exec"), names)
        if "engine" in names:
            row = names["engine"].out
            rtlil.convert(names["m"], ports=[Value.cast(row.payload), row.valid, row.ready])
