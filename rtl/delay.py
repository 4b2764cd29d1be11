"""Fixed delays: the one way in which pipelines of different depth are aligned."""

from amaranth import *

__all__ = ["delay"]


def delay(m, value, cycles, name, *, reset_less=True):
    """``value`` as it was ``cycles`` clock cycles ago.

    Parameters
    ----------
    m : Module
        Where the registers live.
    value : ValueCastable
    cycles : int
        0 or more.
    name : str
        Base of the registers' names.
    reset_less : bool
        Data needs no reset; strobes and valids do.

    Returns
    -------
    Signal or ``value`` itself, of the shape of ``value``.
    """
    if cycles < 0:
        raise ValueError(f"cycles must be at least 0, not {cycles!r}")
    shape = value.shape()
    for stage in range(1, cycles + 1):
        register = Signal(shape, name=f"{name}_d{stage}", reset_less=reset_less)
        m.d.sync += register.eq(value)
        value = register
    return value
