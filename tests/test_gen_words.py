"""Packing values into words and back."""

import numpy as np
import pytest
from plusb.gen.words import pack_fields, pack_operands, unpack_elements
from plusb.rtl.fields import Field
from plusb.rtl.numeric import IntType

FIELDS = (Field("a", 3), Field("b", 5, True), Field("c", 33))


def test_fields_lie_from_the_low_bits_up():
    octets = pack_fields(FIELDS, a=[5, 0], b=[-1, -16], c=[2**32 + 1, 2**33 - 1])
    assert octets.shape == (2, 6)
    words = [int.from_bytes(word.tobytes(), "little") for word in octets]
    assert words == [5 | 31 << 3 | (2**32 + 1) << 8, 16 << 3 | (2**33 - 1) << 8]


def test_one_value_serves_all_words():
    assert pack_fields(FIELDS, a=1, b=[0, 1, 2], c=0)[:, 0].tolist() == [1, 9, 17]
    assert pack_fields(FIELDS, a=1, b=0, c=0).shape == (1, 6)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": 8, "b": 0, "c": 0}, "a must be in 0..7, not 8"),
        ({"a": [0, -1], "b": 0, "c": 0}, "a must be in 0..7, not -1"),
        ({"a": 0, "b": 16, "c": 0}, "b must be in -16..15, not 16"),
        ({"a": 0, "b": 0, "c": 2**33}, f"c must be in 0..{2**33 - 1}, not {2**33}"),
        ({"a": 0, "b": 0}, "the fields must be a, b, c, not a, b"),
        ({"a": 0, "b": 0, "c": 0, "d": 0}, "the fields must be a, b, c, not a, b, c, d"),
    ],
)
def test_wrong_fields(columns, message):
    with pytest.raises(ValueError, match="must be") as caught:
        pack_fields(FIELDS, **columns)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["int8", "uint8", "int4"])
def test_operands(name):
    kind = IntType.parse(name)
    values = np.random.default_rng(0).integers(kind.min, kind.max + 1, (5, 2, 3))
    octets = pack_operands(values, kind)
    assert octets.shape == (10, -(-3 * kind.width // 8))
    for word, row in zip(octets, values.reshape(10, 3), strict=True):
        number = int.from_bytes(word.tobytes(), "little")
        expected = sum((int(value) & (1 << kind.width) - 1) << kind.width * i for i, value in enumerate(row))
        assert number == expected


@pytest.mark.parametrize(("bits", "is_signed"), [(8, True), (8, False), (16, True), (32, True)])
def test_elements(bits, is_signed):
    low = -(1 << bits - 1) if is_signed else 0
    values = np.random.default_rng(0).integers(low, low + (1 << bits), (4, 3))
    octets = values.astype(f"<i{bits // 8}" if is_signed else f"<u{bits // 8}").view(np.uint8)
    assert np.array_equal(unpack_elements(octets, bits, is_signed), values)
