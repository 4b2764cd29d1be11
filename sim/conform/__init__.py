"""The conformance kit: real runtimes on randomized one-operator models, against golden model and generated Verilog."""

from .operators import Operator, draw_operator
from .rows import Row
from .runtimes import installed, missing_packages
from .survey import survey
from .vectors import survey_vectors

__all__ = ["Operator", "Row", "draw_operator", "installed", "missing_packages", "survey", "survey_vectors"]
