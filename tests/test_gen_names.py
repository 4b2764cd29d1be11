"""Names that may stand in Verilog."""

import pytest
from plusb.gen.names import check_module_name


@pytest.mark.parametrize("name", ["plusb_small", "_x1", "Top"])
def test_good(name):
    check_module_name(name)


@pytest.mark.parametrize("name", ["", "1x", "a-b", "a.b", "ünit", "a$b", "x\n"])
def test_malformed(name):
    with pytest.raises(ValueError, match="name must be letters") as caught:
        check_module_name(name)
    assert (
        str(caught.value) == f"name must be letters, digits and underscores, and not begin with a digit, not {name!r}"
    )


@pytest.mark.parametrize("name", ["module", "reg", "logic", "event"])
def test_keyword(name):
    with pytest.raises(ValueError, match="keyword") as caught:
        check_module_name(name)
    assert str(caught.value) == f"name must not be a keyword of Verilog, not {name!r}"
