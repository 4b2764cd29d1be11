"""Rules that hold for all of the hardware."""

import importlib
import inspect
from pathlib import Path

import pytest
from amaranth.lib import wiring
from plusb import rtl

_MODULES = sorted(path.stem for path in Path(rtl.__file__).parent.glob("*.py") if path.stem != "__init__")


def _components(name):
    module = importlib.import_module(f"plusb.rtl.{name}")
    classes = [value for value in vars(module).values() if inspect.isclass(value)]
    return [value for value in classes if issubclass(value, wiring.Component) and value.__module__ == module.__name__]


@pytest.mark.parametrize("name", _MODULES)
def test_every_public_component_has_a_docstring(name):
    for component in _components(name):
        if not component.__name__.startswith("_"):
            assert vars(component).get("__doc__"), f"{component.__name__} has no docstring of its own"


@pytest.mark.parametrize("name", _MODULES)
def test_every_module_names_what_it_exports(name):
    module = importlib.import_module(f"plusb.rtl.{name}")
    assert module.__doc__
    for exported in module.__all__:
        assert hasattr(module, exported), f"{exported} is listed, but not defined"


@pytest.mark.parametrize("name", [name for name in _MODULES if _components(name)])
def test_every_component_has_a_test_file_of_its_name(name):
    tests = Path(__file__).parent
    files = [tests / f"test_{kind}_{name}.py" for kind in ("rtl", "cocotb")]
    assert any(file.exists() for file in files), f"neither {files[0].name} nor {files[1].name} exists"
