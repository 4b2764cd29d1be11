"""Studies: what a choice costs in accuracy, measured with the golden model on trained networks or on a given model.

`run_study` measures the storage forms of the bias; the networks come from `trained_networks`, `committed_digits` or
`open_network`.
"""

from .bias_form import FORMS, BiasForm
from .change import STORED, change_bias
from .committed import committed_digits
from .data import DATA
from .model import open_network
from .network import SpecNetwork
from .statistics import crossed_bootstrap, paired_interval, wilson
from .study import CLAIM, Measurement, StudyResult, run_study
from .trained import ARCHITECTURES, trained_networks

__all__ = [
    "ARCHITECTURES",
    "CLAIM",
    "DATA",
    "FORMS",
    "STORED",
    "BiasForm",
    "Measurement",
    "SpecNetwork",
    "StudyResult",
    "change_bias",
    "committed_digits",
    "crossed_bootstrap",
    "open_network",
    "paired_interval",
    "run_study",
    "trained_networks",
    "wilson",
]
