"""What a tile of outputs looks like: the figures a calibration or a health check reads."""

from dataclasses import dataclass

from .stages import Stages

__all__ = ["TileStatistics", "tile_statistics"]


@dataclass(frozen=True, kw_only=True)
class TileStatistics:
    """Figures of the outputs of one tile.

    Parameters
    ----------
    minimum, maximum : int
        Smallest and largest output.
    largest_magnitude : int
        Largest absolute value of an output.
    saturated : int
        Outputs that the final clamp changed.
    zeros : int
        Outputs equal to 0 (the integer, not the zero point).
    """

    minimum: int
    maximum: int
    largest_magnitude: int
    saturated: int
    zeros: int


def tile_statistics(stages):
    """Statistics of the tile that ``stages`` describes.

    Raises
    ------
    TypeError
        If ``stages`` is no `Stages`.
    ValueError
        If the tile has no element.
    """
    if not isinstance(stages, Stages):
        raise TypeError(f"stages must be a Stages, not {stages!r}")
    out = stages.out
    if out.size == 0:
        raise ValueError(f"the tile must have an element, not the shape {out.shape!r}")
    minimum, maximum = int(out.min()), int(out.max())
    return TileStatistics(
        minimum=minimum,
        maximum=maximum,
        largest_magnitude=max(-minimum, maximum),
        saturated=int(stages.saturated.sum()),
        zeros=int((out == 0).sum()),
    )
