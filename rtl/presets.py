"""Named configurations."""

from .config import EngineConfig, EpilogueConfig
from .numeric import Family

__all__ = ["PRESETS"]

#: Every preset by its name.
PRESETS = {
    "tiny": EngineConfig(rows=2, cols=2, lanes=1, max_k=4096),
    "small": EngineConfig(rows=4, cols=4),
    "medium": EngineConfig(rows=8, cols=8),
    "large": EngineConfig(rows=16, cols=16),
    # Exact with every runtime that is known.
    "conform": EngineConfig(rows=4, cols=4, epilogue=EpilogueConfig(families=tuple(Family))),
}
