"""Packing of values into the bytes that cross the unit's boundary, and back."""

import numpy as np

from ..rtl.fields import width

__all__ = ["pack_fields", "pack_operands", "unpack_elements"]


def _to_bits(values, bits):
    """Two's complement bits, least significant first, on a new last axis."""
    octets = np.ascontiguousarray(values, dtype="<i8")[..., np.newaxis].view(np.uint8)
    return np.unpackbits(octets, axis=-1, bitorder="little")[..., :bits]


def pack_fields(fields, **columns):
    """Words made of named fields.

    Parameters
    ----------
    fields : sequence of Field
        As in :mod:`plusb.rtl.formats`.
    **columns : int array, shape (words,), or int
        A value for each field.

    Returns
    -------
    uint8 array, shape (words, bytes)
        Little endian, padded with zeros to whole bytes.

    Raises
    ------
    ValueError
        If a field is missing or unknown, or a value does not fit its field.
    """
    names = {field.name for field in fields}
    if names != set(columns):
        raise ValueError(f"the fields must be {', '.join(sorted(names))}, not {', '.join(sorted(columns))}")
    count = np.broadcast_shapes(*(np.shape(column) for column in columns.values()), (1,))[0]
    parts = []
    for field in fields:
        values = np.broadcast_to(np.asarray(columns[field.name], np.int64), (count,))
        low = -(1 << (field.width - 1)) if field.signed else 0
        high = low + (1 << field.width) - 1
        if values.min() < low or values.max() > high:
            wrong = values[(values < low) | (values > high)][0]
            raise ValueError(f"{field.name} must be in {low}..{high}, not {int(wrong)!r}")
        parts.append(_to_bits(values, field.width))
    bits = np.concatenate(parts, axis=-1)
    assert bits.shape[-1] == width(fields)
    return np.packbits(bits, axis=-1, bitorder="little")


def pack_operands(values, int_type):
    """Operand words: ``values`` of shape (..., count) side by side, the first in the low bits.

    Returns
    -------
    uint8 array, shape (words, bytes), where ``words`` is the product of all but the last axis.
    """
    values = np.asarray(values)
    if int_type.width == 8:
        octets = values.astype(np.uint8, copy=False) if not int_type.signed else values.astype(np.int8).view(np.uint8)
        return np.ascontiguousarray(octets).reshape(-1, values.shape[-1])
    bits = _to_bits(values, int_type.width)
    return np.packbits(bits.reshape(-1, values.shape[-1] * int_type.width), axis=-1, bitorder="little")


def unpack_elements(octets, bits, is_signed):
    """Elements of whole bytes: from uint8 (rows, bytes) to int64 (rows, bytes * 8 // bits)."""
    kind = np.dtype(f"<{'i' if is_signed else 'u'}{bits // 8}")
    return np.ascontiguousarray(octets).view(kind).astype(np.int64)
