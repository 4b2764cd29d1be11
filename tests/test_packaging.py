"""What is installed is what is there."""

import re
import sys
from importlib.metadata import version
from pathlib import Path

from plusb.gen.version import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = ("rtl", "gen", "sim", "fpga")


def normal(name):
    """A distribution's name as indexes compare it, without extras."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", name)[0]).lower()


def test_listed_packages_are_the_folders():
    folders = {path.parent.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("__init__.py")}
    packages = PROJECT["tool"]["setuptools"]["packages"]
    assert len(set(packages)) == len(packages)
    assert set(packages) == {"plusb." + ".".join(folder.parts) for folder in folders}


def test_every_module_lies_in_a_package():
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            assert (path.parent / "__init__.py").exists(), path


def test_one_version():
    assert version("plusb") == __version__
    assert "version" not in PROJECT["project"]


def test_constraints_pin_every_dependency():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==\S+( ; python_version (==|<=|>=) \"3\.\d+\")?", line) for line in lines)
    pinned = {line.split("==")[0] for line in lines}
    project = PROJECT["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    assert {normal(name) for name in wanted} <= pinned


def test_make_targets_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\bmake ([a-z-]+)\b", readme))
    assert {"run", "test"} <= named <= targets


def test_ci_runs_the_test_command():
    script = ROOT / ".ci" / "run"
    assert script.read_text(encoding="utf-8").splitlines()[-1] == "make test"
    assert script.stat().st_mode & 0o111
