"""Packed ports: values of an Amaranth layout's fields as one integer, and back."""

from amaranth.hdl import Shape

__all__ = ["pack", "pack_array", "sign_extend", "unpack_array"]


def pack(layout, **fields):
    """A word of a ``StructLayout``; fields that are not given are 0."""
    word = 0
    for name, value in fields.items():
        field = layout[name]
        word |= (int(value) & ((1 << Shape.cast(field.shape).width) - 1)) << field.offset
    return word


def pack_array(values, width):
    """Elements of ``width`` bits side by side, the first in the low bits."""
    mask = (1 << width) - 1
    word = 0
    for value in reversed([int(value) & mask for value in values]):
        word = word << width | value
    return word


def sign_extend(value, width):
    """The signed meaning of the low ``width`` bits."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def unpack_array(word, width, count, *, signed=True):
    """The elements that :func:`pack_array` packed."""
    values = [word >> (index * width) & ((1 << width) - 1) for index in range(count)]
    return [sign_extend(value, width) for value in values] if signed else values
