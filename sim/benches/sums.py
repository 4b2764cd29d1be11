"""Slots of an array: sums of products with empty slots in between, as lists a script can play."""

from dataclasses import dataclass

import numpy as np

from ..random_values import random_operands

__all__ = ["Slots", "make_slots", "random_slots"]


@dataclass
class Slots:
    """One entry a slot.

    Parameters
    ----------
    a, w : int arrays, shapes (slots, R) and (slots, C)
        Operands; those of empty slots must not matter.
    valid, first, last : bool arrays, shape (slots,)
    """

    a: np.ndarray
    w: np.ndarray
    valid: np.ndarray
    first: np.ndarray
    last: np.ndarray

    def sums(self):
        """``(slot, sums)`` of every slot that ends sums, these being an int64 array (R, C)."""
        acc = np.zeros((self.a.shape[1], self.w.shape[1]), np.int64)
        for slot in np.flatnonzero(self.valid):
            acc = np.outer(self.a[slot], self.w[slot]) + (0 if self.first[slot] else acc)
            if self.last[slot]:
                yield int(slot), acc


def make_slots(rng, config, shape, lengths, *, distance=1, empty=0.0, keep=0.0):
    """Random sums of given lengths.

    Parameters
    ----------
    shape : (rows, cols)
        Of the array.
    lengths : sequence of int
        Products of each sum.
    distance : int
        Fewest slots between the ends of two sums.
    empty : float
        Chance of an empty slot before each product.
    keep : float
        Chance that a sum starts where the one before it ended, not at 0.
    """
    valid, first, last = [], [], []
    since = distance
    for number, length in enumerate(lengths):
        fresh = number == 0 or rng.random() >= keep
        for step in range(length):
            end = step == length - 1
            while rng.random() < empty or (end and since + 1 < distance):
                valid, first, last = [*valid, False], [*first, False], [*last, False]
                since += 1
            valid.append(True)
            first.append(step == 0 and fresh)
            last.append(end)
            since = 0 if end else since + 1
    rows, cols = shape
    return Slots(
        a=random_operands(rng, (len(valid), rows), config.activation_type),
        w=random_operands(rng, (len(valid), cols), config.weight_type),
        valid=np.array(valid),
        first=np.array(first),
        last=np.array(last),
    )


def random_slots(rng, config, shape, count, *, distance=1, empty=0.0):
    """``count`` sums of random lengths: 1, R, primes and others."""
    lengths = rng.choice([1, 1, config.rows, 2, 3, 7, 13, 31], count)
    return make_slots(rng, config, shape, lengths, distance=distance, empty=empty, keep=0.25)
