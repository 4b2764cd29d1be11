"""The words that cross the unit's boundary: commands, parameter records, operands and finished rows."""

from amaranth import *
from amaranth.lib import data

from .fields import Field, layout

__all__ = [
    "aux_layout",
    "bias_fields",
    "command_fields",
    "command_layout",
    "lut_fields",
    "operand_layout",
    "row_fields",
    "row_layout",
    "scale_fields",
    "statistics_fields",
    "table_fields",
    "term_names",
]


def _bits(maximum):
    return max(1, maximum.bit_length())


def term_names(epilogue):
    """The terms that a tile's command can switch on, of those that are built."""
    optional = ("weight_zero_point", "row_zero_point", "residual")
    forms = [form for form in ("channel", "row", "tile", "relative") if form in epilogue.bias]
    return (*forms, *(name for name in optional if getattr(epilogue, name)))


def command_fields(config, *, engine=True):
    """Fields of a tile's command. Sizes are stored minus one, so that every value that can be written is legal.

    ``engine=False`` gives those of the epilogue alone, which has no K.
    """
    fields = [
        Field("rows", _bits(config.rows - 1), doc="valid rows, minus 1"),
        Field("cols", _bits(config.cols - 1), doc="valid columns, minus 1"),
    ]
    if engine:
        fields = [
            Field("k", _bits(config.max_k - 1), doc="products of each output, minus 1"),
            *fields,
            Field("clear", 1, doc="start new sums; 0 adds to the partial sums in the array"),
            Field("emit", 1, doc="hand the sums to the epilogue; 0 keeps them in the array"),
        ]
        if config.replay_depth:
            fields += [
                Field("store_w", 1, doc="keep the K rows of weights, of which there are at most replay_depth"),
                Field("replay_w", 1, doc="take the K rows of weights that were kept, none from the stream"),
            ]
    return tuple(fields) if config.epilogue is None else (*fields, *_mode_fields(config))


def _mode_fields(config):
    epilogue, output = config.epilogue, config.output_type
    if epilogue.uses_bias_stream:
        yield Field("swap_bias", 1, doc="from this tile on use the bias records that were loaded last")
    yield Field("swap_scale", 1, doc="from this tile on use the scale records that were loaded last")
    for name in term_names(epilogue):
        yield Field(f"use_{name}", 1, doc=f"add the {name.replace('_', ' ')} term")
    if "scalar" in epilogue.bias:
        yield Field("scalar", epilogue.bias_width, True, doc="bias of the whole tile; 0 for none")
    if epilogue.bias_storage == "shift":
        yield Field("bias_shift", epilogue.bias_shift_width, doc="left shift of the stored channel bias")
    if epilogue.residual:
        yield Field("residual_zp", output.width, output.signed, doc="zero point of the residual")
        yield Field("residual_multiplier", epilogue.RESIDUAL_MULTIPLIER_WIDTH, True, doc="multiplier of the residual")
    yield Field("family", _bits(len(epilogue.families) - 1), doc="index into the built rounding families")
    yield Field("zp", output.width, output.signed, doc="output zero point, added after rounding")
    yield Field("lo", output.width, output.signed, doc="lower clamp bound, at most hi")
    yield Field("hi", output.width, output.signed, doc="upper clamp bound")
    if "relative" in epilogue.bias:
        yield Field("free_table", 1, doc="the last tile to use the relative table as it is: it may be written again")
    if epilogue.lut_banks:
        yield Field("use_lut", 1, doc="look the clamped element up")
        yield Field("lut_bank", _bits(epilogue.lut_banks - 1), doc="in this bank")
        yield Field("free_lut", 1, doc="the last tile to use this bank as it is: it may be written again")
    if epilogue.raw:
        yield Field("raw", 1, doc="hand out the sum itself, saturated to int32, instead of the element")


def bias_fields(config):
    """Fields of one column's record of terms."""
    epilogue = config.epilogue
    fields = []
    if "channel" in epilogue.bias:
        fields.append(Field("bias", epilogue.bias_width, True, doc="added to the sum; activation zero point folded in"))
        if epilogue.bias_storage == "chshift":
            fields.append(Field("bias_shift", epilogue.bias_shift_width, doc="left shift of the stored bias"))
    if "relative" in epilogue.bias:
        fields.append(Field("relative", _bits(epilogue.relative_depth - 1), doc="c of the table index r - c"))
    if epilogue.weight_zero_point:
        weight = config.weight_type
        fields.append(Field("zw", weight.width, weight.signed, doc="weight zero point"))
    if epilogue.row_zero_point:
        fields.append(Field("colsum", config.column_sum_range.signed_width, True, doc="sum of weights less zero point"))
    return tuple(fields)


def scale_fields(config):
    """Fields of one column's scale record."""
    epilogue = config.epilogue
    fields = [
        Field("multiplier", epilogue.multiplier_width, doc="high bits of the Q0.31 multiplier, or float32 significand"),
        Field("shift", epilogue.SHIFT_WIDTH, doc="total right shift t, 0 to 62 (31 minus the TFLite shift)"),
    ]
    if epilogue.negative_scale:
        fields += [
            Field("negative_multiplier", epilogue.multiplier_width, doc="the same where the sum is negative"),
            Field("negative_shift", epilogue.SHIFT_WIDTH, doc="the same where the sum is negative"),
        ]
    return tuple(fields)


def row_fields(config, *, engine=True):
    """Fields of what a row brings with it; without an array (``engine=False``) its operand sum too."""
    epilogue = config.epilogue
    fields = []
    if "row" in epilogue.bias:
        fields.append(Field("bias", epilogue.bias_width, True, doc="bias of the row"))
    if "relative" in epilogue.bias:
        fields.append(Field("relative", _bits(2 * epilogue.relative_depth - 1), doc="r of the table index r - c"))
    if epilogue.row_zero_point:
        activation = config.activation_type
        fields.append(Field("zx", activation.width, activation.signed, doc="activation zero point of the row"))
    if epilogue.weight_zero_point and not engine:
        fields.append(Field("row_sum", config.row_sum_range.signed_width, True, doc="sum of the activation row"))
    return tuple(fields)


def aux_layout(config):
    """What a row brings for each element: a bias, a residual, both."""
    epilogue, output = config.epilogue, config.output_type
    members = {}
    if "tile" in epilogue.bias:
        members["bias"] = data.ArrayLayout(signed(epilogue.bias_width), config.cols)
    if epilogue.residual:
        members["residual"] = data.ArrayLayout(Shape(output.width, output.signed), config.cols)
    return data.StructLayout(members)


def table_fields(config):
    """Fields of a write into the table of relative position biases."""
    epilogue = config.epilogue
    return (
        Field("address", _bits(epilogue.relative_depth - 1), doc="index r - c"),
        Field("value", epilogue.bias_width, True, doc="bias"),
    )


def lut_fields(config):
    """Fields of a write into the activation table."""
    element = config.output_type
    return (
        Field("bank", _bits(config.epilogue.lut_banks - 1), doc="which table"),
        Field("address", element.width, doc="clamped element, as an unsigned number"),
        Field("value", element.width, element.signed, doc="what it becomes"),
    )


def statistics_fields(config):
    """Fields of a tile's statistics."""
    element = config.element_type
    count = _bits(config.rows * config.cols)
    largest = max(abs(element.min), element.max)
    return (
        Field("minimum", element.width, element.signed, doc="of the elements"),
        Field("maximum", element.width, element.signed, doc="of the elements"),
        Field("largest_magnitude", _bits(largest), doc="of the elements"),
        Field("saturated", count, doc="elements that the clamp changed"),
        Field("zeros", count, doc="elements equal to 0"),
    )


def operand_layout(int_type, count):
    """``count`` operands side by side, the first in the low bits."""
    return data.ArrayLayout(Shape(int_type.width, int_type.signed), count)


def row_layout(config):
    """A finished row: its elements, which of them are valid, and whether it ends the tile."""
    element = config.element_type
    return data.StructLayout(
        {"data": data.ArrayLayout(Shape(element.width, element.signed), config.cols), "keep": config.cols, "last": 1}
    )


def command_layout(config, *, engine=True):
    """Amaranth layout of :func:`command_fields`."""
    return layout(command_fields(config, engine=engine))
