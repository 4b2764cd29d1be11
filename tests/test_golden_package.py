"""The golden model as a package: what it exports and what it stays free of."""

import inspect
import subprocess
import sys
from pathlib import Path

import plusb.sim.golden as golden


def test_imports_no_hardware_description():
    code = "import sys, plusb.sim.golden; sys.exit('amaranth' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_exists_and_is_documented():
    assert sorted(golden.__all__) == sorted(set(golden.__all__))
    for name in golden.__all__:
        member = getattr(golden, name)
        if inspect.isfunction(member) or inspect.isclass(member):
            assert inspect.getdoc(member), name


def test_one_concept_a_file():
    for path in Path(golden.__file__).parent.glob("*.py"):
        assert len(path.read_text().splitlines()) < 300, path
