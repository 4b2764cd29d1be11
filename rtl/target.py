"""Target devices: what the hardware may be mapped to by hand."""

import enum

__all__ = ["UNUSED_COLLISIONS", "Target", "memory_attributes"]

#: Attributes of a memory whose user never uses what it reads from a word that is being written. Without them Yosys
#: builds a comparator and a second data register around a block memory.
UNUSED_COLLISIONS = {"no_rw_check": 1}


class Target(str, enum.Enum):
    """A device family; passed to ``elaborate`` as the platform and asked only by the providers of arithmetic blocks and
    of memories.

    ``portable`` uses no vendor primitive; every other target is proven equal to it.
    """

    portable = "portable"
    ecp5 = "ecp5"
    ice40 = "ice40"
    gowin = "gowin"

    def __str__(self):
        return self.value


def memory_attributes(platform):
    """Attributes of a small memory: :data:`UNUSED_COLLISIONS`, and what puts it into a block memory of an iCE40.

    That has no other memory, logic cells are what an UP5K runs out of, and its block memories lie idle.
    """
    return UNUSED_COLLISIONS | ({"ram_style": "block"} if platform is Target.ice40 else {})
