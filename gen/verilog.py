"""Amaranth to Verilog: clean, deterministic text without source paths."""

import re

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil

__all__ = ["to_verilog"]


def to_verilog(component, name, *, header="", platform=None):
    """The component as one Verilog text.

    The design goes through RTLIL and one Yosys script, not ``amaranth.back.verilog``, whose ``always @*`` blocks leave
    signals that are constant from time 0 undefined in event-driven simulators (amaranth issue 1629).

    Parameters
    ----------
    component : Component
        Its members become the ports.
    name : str
        Of the top module.
    header : str
        Comment lines for the top of the file.
    platform : object or None
        Handed to ``elaborate``.

    Returns
    -------
    str
    """
    design = rtlil.convert(component, name=name, platform=platform, emit_src=False)
    script = f"read_rtlil <<rtlil\n{design}\nrtlil\nproc -norom\nopt_clean -purge\nwrite_verilog -noattr\n"
    yosys = find_yosys(lambda version: version >= (0, 40))
    text = yosys.run(["-q", "-"], script)
    # Yosys names its own version in the first line; the text must depend on the design alone.
    text = re.sub(r"\A/\*.*?\*/\n+", "", text, flags=re.DOTALL)
    return header + text
