"""Several products, one after the other, as a single program: the unit goes from one to the next without a pause."""

from dataclasses import dataclass

import numpy as np

from .lower import Program

__all__ = ["ProgramSequence"]


@dataclass(frozen=True)
class ProgramSequence:
    """Programs of one unit that run as one; it has what a :class:`~plusb.gen.lower.Program` has for whoever runs it.

    Parameters
    ----------
    programs : tuple of Program
        One or more, of the same configuration.
    """

    programs: tuple

    def __post_init__(self):
        if not self.programs or not all(isinstance(program, Program) for program in self.programs):
            raise TypeError(f"programs must be one Program or more, not {self.programs!r}")
        if any(program.config != self.config for program in self.programs):
            raise ValueError("programs must be of one configuration")

    @property
    def config(self):
        """Configuration of the unit."""
        return self.programs[0].config

    @property
    def streams(self):
        """Words of each input stream."""
        return {
            name: np.concatenate([program.streams[name] for program in self.programs])
            for name in self.programs[0].streams
        }

    @property
    def rows(self):
        """Rows that come out."""
        return sum(program.rows for program in self.programs)

    def collect(self, octets):
        """The products, a list of int64 (M, N), from the rows' bytes, uint8 (rows, bytes)."""
        ends = np.cumsum([program.rows for program in self.programs])
        parts = np.split(octets, ends[:-1])
        return [program.collect(part) for program, part in zip(self.programs, parts, strict=True)]
