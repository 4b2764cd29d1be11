"""What the bias epilogue of a unit can do."""

from dataclasses import dataclass

from .check import check_bool, check_choice, check_int
from .interval import Interval
from .numeric import Family, IntType

__all__ = ["EpilogueConfig"]

_BIAS_FORMS = ("scalar", "channel", "row", "tile", "relative")
_BIAS_STORAGES = ("sat", "shift", "chshift")
_BIAS_WIDTHS = (8, 16, 24, 32, 40)
_OUTPUTS = ("int8", "uint8", "int4", "int16")


@dataclass(frozen=True, kw_only=True)
class EpilogueConfig:
    """What the bias epilogue of a unit can do; a feature that is off costs no hardware.

    Parameters
    ----------
    families : tuple of Family
        Rounding families to build; a tile's command chooses one of them.
    multiplier_width : int
        Bits of the multiplier, 8 to 31. A narrower one holds the high bits of the Q0.31 multiplier (24 or more for
        ``float32``, whose multiplier is the significand; 15 is what 16x8 runtimes use).
    negative_scale : bool
        A second scale in each scale record, used where the sum is negative: PReLU and leaky ReLU.
    bias : tuple of str
        Bias forms to build, any of ``scalar, channel, row, tile, relative``; a tile's command chooses any sum of them.
    bias_width : int
        Bits of a stored bias, 8, 16, 24, 32 or 40, of every form.
    bias_storage : str
        Meaning of a channel bias narrower than 32 bits: ``sat`` (as it is, at the accumulator's scale), ``shift``
        (to be shifted left by a number in the tile's command) or ``chshift`` (by a number in the column's record).
    relative_depth : int
        Words of the table of the ``relative`` form.
    weight_zero_point : bool
        Subtract ``zw[j] * rowsum[i]``, with row sums that the array forms in a column of its own.
    row_zero_point : bool
        Subtract ``zx[i] * colsum[j]``, for activations quantized row by row.
    residual : bool
        Add ``(res[i, j] - z_res) * m_res`` from a second stream.
    output : str
        Element type of a finished row: ``int8``, ``uint8``, ``int4`` or ``int16``.
    raw : bool
        Rows have 32-bit elements, and a tile's command may ask for the sums themselves (saturated to int32).
    lut_banks : int
        Banks of 256 entries behind the clamp, 0 (none), 2 or 4, for outputs of 8 bits or fewer.
    statistics : bool
        A stream with the minimum, maximum, largest magnitude, saturation and zero count of each tile.

    Raises
    ------
    TypeError, ValueError
        If a field is of the wrong kind or value; the message names it and what is allowed.
    """

    families: tuple = (Family.gemmlowp, Family.ruy, Family.half_up, Family.half_away)
    multiplier_width: int = 31
    negative_scale: bool = False
    bias: tuple = ("channel",)
    bias_width: int = 32
    bias_storage: str = "sat"
    relative_depth: int = 256
    weight_zero_point: bool = False
    row_zero_point: bool = False
    residual: bool = False
    output: str = "int8"
    raw: bool = False
    lut_banks: int = 0
    statistics: bool = False

    #: Bits of the total right shift, 0 to 62.
    SHIFT_WIDTH = 6
    #: Bits of the residual's signed multiplier.
    RESIDUAL_MULTIPLIER_WIDTH = 16

    def __post_init__(self):
        object.__setattr__(self, "families", _names("families", self.families, tuple(Family), minimum=1))
        object.__setattr__(self, "families", tuple(Family(name) for name in self.families))
        lowest = 24 if Family.float32 in self.families else 8
        check_int("multiplier_width", self.multiplier_width, lowest, 31, why="float32 needs 24" if lowest > 8 else "")
        object.__setattr__(self, "bias", _names("bias", self.bias, _BIAS_FORMS))
        check_choice("bias_width", self.bias_width, _BIAS_WIDTHS)
        check_choice("bias_storage", self.bias_storage, _BIAS_STORAGES)
        if self.bias_storage != "sat" and ("channel" not in self.bias or self.bias_width >= 32):
            raise ValueError(
                "bias_storage must be sat unless a channel bias is stored in fewer than 32 bits, "
                f"not {self.bias_storage!r}"
            )
        check_int("relative_depth", self.relative_depth, 2, 4096)
        for name in ("negative_scale", "weight_zero_point", "row_zero_point", "residual", "raw", "statistics"):
            check_bool(name, getattr(self, name))
        check_choice("output", self.output, _OUTPUTS)
        check_choice("lut_banks", self.lut_banks, (0, 2, 4))
        if self.lut_banks and self.output_type.width > 8:
            reason = f"where the output is {self.output} (256 entries)"
            raise ValueError(f"lut_banks must be 0 {reason}, not {self.lut_banks!r}")

    @property
    def output_type(self):
        """Type of a finished element."""
        return IntType.parse(self.output)

    @property
    def bias_shift_width(self):
        """Bits of the left shift of a stored channel bias, 0 where there is none."""
        return 0 if self.bias_storage == "sat" else (32 - self.bias_width).bit_length()

    @property
    def channel_range(self):
        """Range of a channel bias as it is added."""
        stored = Interval.signed(self.bias_width)
        return stored if self.bias_storage == "sat" else stored * Interval(1, 1 << (32 - self.bias_width))

    @property
    def uses_row_stream(self):
        """Whether a row brings values of its own."""
        return "row" in self.bias or "relative" in self.bias or self.row_zero_point

    @property
    def uses_aux_stream(self):
        """Whether a row brings a value for each of its elements."""
        return "tile" in self.bias or self.residual

    @property
    def uses_bias_stream(self):
        """Whether a column has a record of terms."""
        return "channel" in self.bias or "relative" in self.bias or self.weight_zero_point or self.row_zero_point


def _names(field, values, choices, minimum=0):
    """``values`` as a tuple of distinct ``choices``."""
    if isinstance(values, str) or not isinstance(values, (tuple, list)) or len(values) < minimum:
        kind = "a non-empty list" if minimum else "a list"
        raise TypeError(f"{field} must be {kind} of names, not {values!r}")
    for value in values:
        check_choice(field, value, choices)
    if len(set(values)) != len(values):
        raise ValueError(f"{field} must name each one once, not {[str(value) for value in values]!r}")
    return tuple(values)
