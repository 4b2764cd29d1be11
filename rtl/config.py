"""The only description of a unit: frozen, validated dataclasses from which everything else is derived."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from .check import check_choice, check_int
from .interval import Interval
from .numeric import Family, IntType, max_safe_k

__all__ = ["EngineConfig", "EpilogueConfig"]

_ACTIVATIONS = ("int8", "uint8", "int4")
_WEIGHTS = ("int8", "int4")
_OUTPUTS = ("int8", "uint8", "int4")
_FIXED_POINT = tuple(family for family in Family if family.is_fixed_point)


@dataclass(frozen=True, kw_only=True)
class EpilogueConfig:
    """What the bias epilogue of a unit can do; a feature that is off costs no hardware.

    Parameters
    ----------
    families : tuple of Family
        Rounding families to build; a tile's command chooses one of them.
    output : str
        Element type of a finished row: ``int8``, ``uint8`` or ``int4``.

    Raises
    ------
    TypeError, ValueError
        If a field is of the wrong kind or value; the message names it and what is allowed.
    """

    families: tuple = (Family.gemmlowp, Family.ruy, Family.half_up, Family.half_away)
    output: str = "int8"

    #: Bits of a stored bias: real models need all 32 (dead channels carry 2**30).
    BIAS_WIDTH = 32
    #: Bits of the Q0.31 multiplier.
    MULTIPLIER_WIDTH = 31
    #: Bits of the total right shift, 0 to 62.
    SHIFT_WIDTH = 6

    def __post_init__(self):
        if isinstance(self.families, str) or not isinstance(self.families, (tuple, list)) or not self.families:
            raise TypeError(f"families must be a non-empty list of family names, not {self.families!r}")
        for name in self.families:
            check_choice("families", name, _FIXED_POINT)
        families = tuple(Family(name) for name in self.families)
        if len(set(families)) != len(families):
            raise ValueError(f"families must name each family once, not {[str(name) for name in families]!r}")
        object.__setattr__(self, "families", families)
        check_choice("output", self.output, _OUTPUTS)

    @property
    def output_type(self):
        """Element type of a finished row."""
        return IntType.parse(self.output)


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
        Operand types: ``int8``, ``uint8`` or ``int4``; ``int8`` or ``int4``.
    max_k : int
        Longest dot product of one output, also when it is split over several commands. It sets the accumulator's width.
        ``None`` takes the largest that is safe in 32 bits.
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
    epilogue: EpilogueConfig | None = EpilogueConfig()

    #: Width in which the unit hands out raw accumulators, and which no accumulator may exceed.
    RAW_WIDTH = 32

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
        safe_k = max_safe_k(self.activation_type, self.weight_type, self.RAW_WIDTH)
        if self.max_k is None:
            object.__setattr__(self, "max_k", min(safe_k, 65793))
        check_int(
            "max_k",
            self.max_k,
            1,
            min(safe_k, 65793),
            why=f"the K that is safe for {self.activation} x {self.weight} in {self.RAW_WIDTH} bits",
        )
        if self.epilogue is not None and not isinstance(self.epilogue, EpilogueConfig):
            raise TypeError(f"epilogue must be an EpilogueConfig or None, not {self.epilogue!r}")

    def replace(self, **changes):
        """A copy with the given fields changed and everything checked again."""
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
    def output_type(self):
        """Type of an element of a finished row."""
        return IntType(self.RAW_WIDTH, True) if self.epilogue is None else self.epilogue.output_type

    @property
    def group(self):
        """Columns that share one epilogue lane."""
        return self.cols // self.lanes

    @property
    def tile_period(self):
        """Fewest cycles between the ends of two tiles (at least 2): the epilogue is free where K is at least this."""
        return max(2, self.rows * self.group)

    @property
    def acc_range(self):
        """Range of an exact accumulator."""
        return (Interval.of(self.activation_type) * Interval.of(self.weight_type)).times(self.max_k)

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
        return values

    @classmethod
    def from_dict(cls, values):
        """The configuration that ``values`` describe; an unknown key raises ``ValueError`` that lists the known ones."""
        values = dict(values)
        epilogue = values.pop("epilogue", {})
        if epilogue == "none":
            epilogue = None
        elif isinstance(epilogue, dict):
            epilogue = EpilogueConfig(**_known_fields(EpilogueConfig, epilogue, "epilogue."))
        else:
            raise TypeError(f'epilogue must be a table or "none", not {epilogue!r}')
        return cls(**_known_fields(cls, values), epilogue=epilogue)


def _known_fields(cls, values, prefix=""):
    known = [field.name for field in dataclasses.fields(cls)]
    for name in values:
        if name not in known:
            raise ValueError(f"{prefix}{name} is not a field; the fields are {', '.join(known)}")
    return values
