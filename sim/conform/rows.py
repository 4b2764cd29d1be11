"""What one comparison showed."""

from dataclasses import asdict, dataclass

__all__ = ["Row"]


@dataclass(kw_only=True)
class Row:
    """Outputs of one operator of one runtime, compared with the golden model or the hardware.

    Parameters
    ----------
    runtime, op : str
    family : str
        Rounding family that stands for the runtime.
    where : str
        ``golden`` or ``rtl``.
    outputs, mismatches : int
        Outputs compared, and those that differ from the runtime's.
    near_ties : int
        Those of the outputs whose exact value lies within 1/256 of a tie: where rounding families differ.
    undecided : int
        Those of the outputs on which the runtime, which computes in float64, and its own formula with a multiplier of
        31 bits differ. They must equal the float64 formula in the runtime, and the other in golden model and hardware.
    variants : dict of str to int
        Outputs of each kind: scales per tensor or per channel, with bias or without.
    note : str
        Why nothing was compared, where nothing was.
    """

    runtime: str
    op: str
    family: str
    where: str
    outputs: int = 0
    mismatches: int = 0
    near_ties: int = 0
    undecided: int = 0
    variants: dict
    note: str = ""

    def as_json(self):
        """The row as plain values."""
        return asdict(self)
