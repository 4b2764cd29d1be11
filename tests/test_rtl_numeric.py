import re

import pytest
from plusb.rtl.numeric import Family, IntType, max_safe_k


@pytest.mark.parametrize(
    ("name", "low", "high"), [("int8", -128, 127), ("uint8", 0, 255), ("int4", -8, 7), ("int32", -(2**31), 2**31 - 1)]
)
def test_integer_types(name, low, high):
    parsed = IntType.parse(name)
    assert (parsed.min, parsed.max) == (low, high)
    assert str(parsed) == name


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: IntType.parse(8), TypeError, "an integer type must be a name such as 'int8', not 8"),
        (lambda: IntType.parse("i8"), ValueError, "an integer type must be a name such as 'int8' or 'uint8', not 'i8'"),
        (lambda: IntType(True, True), TypeError, "width must be an integer, not True"),
        (lambda: IntType.parse("int65"), ValueError, "width must be in 2..64, not 65"),
    ],
)
def test_what_is_no_integer_type(make, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        make()


def test_safe_k():
    int8, uint8, int4 = (IntType.parse(name) for name in ("int8", "uint8", "int4"))
    assert max_safe_k(int8, int8) == max_safe_k(uint8, int8) == 65793
    assert 255 * 128 * 65793 < 2**31 <= 255 * 128 * 65794
    assert max_safe_k(int4, int4) > max_safe_k(int8, int4) > 65793


def test_only_float32_is_no_fixed_point_family():
    assert [family for family in Family if not family.is_fixed_point] == [Family.float32]
    assert [str(family) for family in Family] == [family.name for family in Family]
