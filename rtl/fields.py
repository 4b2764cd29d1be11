"""Named bit fields: one list serves the hardware's layout, the host's packing and the manifest."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data

__all__ = ["Field", "layout", "width"]


@dataclass(frozen=True)
class Field:
    """One field of a packed word.

    Parameters
    ----------
    name : str
    width : int
        Bits, at least 1.
    signed : bool
    doc : str
        What the value means, for the manifest.
    """

    name: str
    width: int
    signed: bool = False
    doc: str = ""


def layout(fields):
    """The Amaranth layout of a word; the first field lies in the low bits."""
    return data.StructLayout({f.name: signed(f.width) if f.signed else unsigned(f.width) for f in fields})


def width(fields):
    """Bits of a word."""
    return sum(field.width for field in fields)
