import itertools

from plusb.rtl.accumulate import MaskedAdder

from .rtl_sim import play


def test_every_small_case():
    a, b, keep, carry = zip(*itertools.product(range(8), range(8), range(2), range(2)), strict=True)
    unit = MaskedAdder(3)
    (got,) = play(unit, {"a": a, "b": b, "keep": keep, "carry": carry}, ["o"], combinational=True)
    assert got == [(x if k else 0) + y + c for x, y, k, c in zip(a, b, keep, carry, strict=True)]
