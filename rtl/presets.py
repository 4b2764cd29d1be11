"""Named configurations."""

from .config import EngineConfig, EpilogueConfig
from .numeric import Family

__all__ = ["PRESETS"]

# Two multiplier blocks of 16 x 16 bits a lane, at the price of results that can differ by one from those with 31 bits.
_TWO_BLOCKS = EpilogueConfig(families=(Family.gemmlowp, Family.half_up), multiplier_width=15, bias_width=24)

#: Every preset by its name.
PRESETS = {
    "tiny": EngineConfig(rows=2, cols=2, lanes=1, max_k=4096),
    # All 8 multiplier blocks of an iCE40UP5K: six for two processing elements each, two for the lane.
    "up5k": EngineConfig(rows=4, cols=3, lanes=1, max_k=1024, epilogue=_TWO_BLOCKS),
    # The largest for an iCE40HX8K, which has no multipliers.
    "hx8k": EngineConfig(rows=3, cols=3, lanes=1, max_k=1024, epilogue=_TWO_BLOCKS),
    # All 28 multipliers of an LFE5U-25F or 12F: one for each processing element, four for the lane.
    "ecp5_25k": EngineConfig(rows=4, cols=6, lanes=1),
    "small": EngineConfig(rows=4, cols=4),
    "medium": EngineConfig(rows=8, cols=8),
    "large": EngineConfig(rows=16, cols=16),
    # Exact with every runtime that is known.
    "conform": EngineConfig(rows=4, cols=4, epilogue=EpilogueConfig(families=tuple(Family))),
}
