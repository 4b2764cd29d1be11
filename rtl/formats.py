"""The words that cross the unit's boundary: commands, parameter records, operands and finished rows."""

from amaranth import *
from amaranth.lib import data

from .fields import Field, layout

__all__ = [
    "bias_fields",
    "command_fields",
    "container_width",
    "operand_layout",
    "row_layout",
    "scale_fields",
]


def _bits(maximum):
    return max(1, maximum.bit_length())


def command_fields(config):
    """Fields of a tile's command. Sizes are stored minus one, so that every value that can be written is legal."""
    fields = [
        Field("k", _bits(config.max_k - 1), doc="products of each output, minus 1"),
        Field("rows", _bits(config.rows - 1), doc="valid rows, minus 1"),
        Field("cols", _bits(config.cols - 1), doc="valid columns, minus 1"),
        Field("clear", 1, doc="start new sums; 0 adds to the partial sums in the array"),
        Field("emit", 1, doc="hand the sums to the epilogue; 0 keeps them in the array"),
    ]
    if config.epilogue is not None:
        output = config.output_type
        fields += [
            Field("swap_bias", 1, doc="from this tile on use the bias records that were loaded last"),
            Field("swap_scale", 1, doc="from this tile on use the scale records that were loaded last"),
            Field("family", _bits(len(config.epilogue.families) - 1), doc="index into the built rounding families"),
            Field("zp", output.width, output.signed, doc="output zero point, added after rounding"),
            Field("lo", output.width, output.signed, doc="lower clamp bound, at most hi"),
            Field("hi", output.width, output.signed, doc="upper clamp bound"),
        ]
    return tuple(fields)


def bias_fields(epilogue):
    """Fields of one column's bias record."""
    return (Field("bias", epilogue.BIAS_WIDTH, True, doc="added to the accumulator; activation zero point folded in"),)


def scale_fields(epilogue):
    """Fields of one column's scale record."""
    return (
        Field("multiplier", epilogue.MULTIPLIER_WIDTH, doc="Q0.31 multiplier"),
        Field("shift", epilogue.SHIFT_WIDTH, doc="total right shift t, 0 to 62 (31 minus the TFLite shift)"),
    )


def operand_layout(int_type, count):
    """``count`` operands side by side, the first in the low bits."""
    return data.ArrayLayout(Shape(int_type.width, int_type.signed), count)


def container_width(int_type):
    """Bits an output element occupies on the bus: a whole number of bytes."""
    return -(-int_type.width // 8) * 8


def row_layout(config):
    """A finished row: its elements, which of them are valid, and whether it ends the tile."""
    element = Shape(container_width(config.output_type), config.output_type.signed)
    return data.StructLayout({"data": data.ArrayLayout(element, config.cols), "keep": config.cols, "last": 1})


def command_layout(config):
    """Amaranth layout of :func:`command_fields`."""
    return layout(command_fields(config))
