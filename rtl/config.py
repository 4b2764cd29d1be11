"""The only description of a unit: frozen, validated dataclasses from which everything else is derived."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property

from .check import check_choice, check_int
from .epilogue_config import EpilogueConfig
from .interval import Interval
from .numeric import IntType, max_safe_k

__all__ = ["EngineConfig", "EpilogueConfig"]

_ACTIVATIONS = ("int8", "uint8", "int4", "int16")
_WEIGHTS = ("int8", "int4", "uint8")


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """A systolic array with its bias epilogue.

    Parameters
    ----------
    rows, cols : int
        Size R x C of the array: rows of the activation, output channels. 1 to 64 each.
    lanes : int or None
        Epilogue lanes; must divide ``cols``. ``None`` builds one a column, so that a row is finished every cycle.
    activation, weight : str
        Operand types: ``int8``, ``uint8``, ``int4`` or ``int16``; ``int8``, ``uint8`` or ``int4``.
    max_k : int or None
        Longest dot product of one output, also when it is split over several commands. It sets the accumulator's width.
        ``None`` takes the largest that is safe.
    acc_width : int or None
        Bits of the accumulators; ``None`` derives the fewest that ``max_k`` products need. Fewer are refused.
    replay_depth : int
        Rows of weights that the unit keeps, so that all tiles of a block of columns load them once; 0 for none.
    epilogue : EpilogueConfig or None
        ``None`` leaves the epilogue out: the unit then delivers raw int32 accumulators.

    Raises
    ------
    TypeError, ValueError
        If a field is of the wrong kind or value; the message names it and what is allowed.
    """

    rows: int = 4
    cols: int = 4
    lanes: int | None = None
    activation: str = "int8"
    weight: str = "int8"
    max_k: int | None = None
    acc_width: int | None = None
    replay_depth: int = 0
    epilogue: EpilogueConfig | None = field(default_factory=EpilogueConfig)

    def __post_init__(self):
        check_int("rows", self.rows, 1, 64)
        check_int("cols", self.cols, 1, 64)
        if self.lanes is None:
            object.__setattr__(self, "lanes", self.cols)
        check_int("lanes", self.lanes, 1, self.cols, why="one a column at most")
        if self.cols % self.lanes:
            divisors = [n for n in range(1, self.cols + 1) if self.cols % n == 0]
            raise ValueError(f"lanes must divide cols ({self.cols}), so be one of {divisors}, not {self.lanes!r}")
        check_choice("activation", self.activation, _ACTIVATIONS)
        check_choice("weight", self.weight, _WEIGHTS)
        safe_k = min(max_safe_k(self.activation_type, self.weight_type, self.raw_width), 65793)
        if self.max_k is None:
            object.__setattr__(self, "max_k", safe_k)
        why = f"the K that is safe for {self.activation} x {self.weight} in {self.raw_width} bits"
        check_int("max_k", self.max_k, 1, safe_k, why=why)
        needed = self.acc_range.signed_width
        if self.acc_width is None:
            object.__setattr__(self, "acc_width", needed)
        check_int("acc_width", self.acc_width, needed, self.raw_width, why=self._counterexample())
        check_int("replay_depth", self.replay_depth, 0, 65536)
        if self.replay_depth == 1:
            raise ValueError("replay_depth must be 0 or in 2..65536, not 1")
        if self.epilogue is not None and not isinstance(self.epilogue, EpilogueConfig):
            raise TypeError(f"epilogue must be an EpilogueConfig or None, not {self.epilogue!r}")

    def _counterexample(self):
        """The operands that need the widest accumulator, in words."""
        terms = [(x * w, x, w) for x in _ends(self.activation_type) for w in _ends(self.weight_type)]
        product, x, w = max(terms, key=lambda term: Interval(term[0], term[0]).times(self.max_k).signed_width)
        return f"{self.max_k} products of {x} x {w} sum up to {product * self.max_k}"

    def replace(self, **changes):
        """A copy with the given fields changed and everything checked again.

        Changing what the accumulator's width follows from derives that width anew.
        """
        if {"activation", "weight", "max_k"} & set(changes):
            changes = {"acc_width": None} | changes
        return dataclasses.replace(self, **changes)

    @property
    def activation_type(self):
        """Type of an activation operand."""
        return IntType.parse(self.activation)

    @property
    def weight_type(self):
        """Type of a weight operand."""
        return IntType.parse(self.weight)

    @property
    def raw_width(self):
        """Bits of a raw accumulator on the bus, which no accumulator may exceed: 32, or 48 for int16 activations."""
        return 48 if self.activation == "int16" else 32

    @property
    def output_type(self):
        """Type of an element of a finished row."""
        return IntType(self.raw_width, True) if self.epilogue is None else self.epilogue.output_type

    @property
    def element_type(self):
        """What an element occupies on the bus: the output type in whole bytes, or int32 where sums may be asked for."""
        if self.epilogue is None:
            return IntType(32 if self.raw_width == 32 else 64, True)
        if self.epilogue.raw:
            return IntType(32, True)
        return IntType(-(-self.output_type.width // 8) * 8, self.output_type.signed)

    @property
    def group(self):
        """Columns that share one epilogue lane."""
        return self.cols // self.lanes

    @property
    def tile_period(self):
        """Fewest cycles between the ends of two tiles (at least 3): the epilogue is free where K is at least this."""
        return max(3, self.rows * self.group)

    @property
    def acc_range(self):
        """Range of an exact accumulator."""
        return (Interval.of(self.activation_type) * Interval.of(self.weight_type)).times(self.max_k)

    @property
    def row_sum_range(self):
        """Range of the sum of an activation row."""
        return Interval.of(self.activation_type).times(self.max_k)

    @property
    def column_sum_range(self):
        """Range of a column's sum of weights less their zero point."""
        weight = Interval.of(self.weight_type)
        return (weight + -weight).times(self.max_k)

    @cached_property
    def config_hash(self):
        """Sixteen hexadecimal digits that name this configuration in manifests, bitstreams and caches."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_dict(self):
        """The configuration as nested dictionaries of plain values; ``epilogue`` is ``"none"`` where it is left out."""
        values = dataclasses.asdict(self)
        if self.epilogue is None:
            values["epilogue"] = "none"
        else:
            values["epilogue"]["families"] = [str(family) for family in self.epilogue.families]
            values["epilogue"]["bias"] = list(self.epilogue.bias)
        return values

    @classmethod
    def from_dict(cls, values):
        """The configuration that ``values`` describe; ``ValueError`` for an unknown key lists the known ones."""
        values = dict(values)
        epilogue = values.pop("epilogue", {})
        if epilogue == "none":
            epilogue = None
        elif isinstance(epilogue, dict):
            epilogue = EpilogueConfig(**_known_fields(EpilogueConfig, epilogue, "epilogue."))
        else:
            raise TypeError(f'epilogue must be a table or "none", not {epilogue!r}')
        return cls(**_known_fields(cls, values), epilogue=epilogue)


def _ends(int_type):
    return int_type.min, int_type.max


def _known_fields(cls, values, prefix=""):
    known = [field.name for field in dataclasses.fields(cls)]
    for name in values:
        if name not in known:
            raise ValueError(f"{prefix}{name} is not a field; the fields are {', '.join(known)}")
    return values
