"""Target devices: what the hardware may be mapped to by hand."""

import enum

__all__ = ["Target"]


class Target(str, enum.Enum):
    """A device family; passed to ``elaborate`` as the platform and asked only by the providers of arithmetic blocks.

    ``portable`` uses no vendor primitive; every other target is proven equal to it.
    """

    portable = "portable"
    ecp5 = "ecp5"
    ice40 = "ice40"
    gowin = "gowin"

    def __str__(self):
        return self.value
