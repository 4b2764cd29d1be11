"""Amaranth to Verilog: clean, deterministic text without source paths."""

import gc
import re
from contextlib import contextmanager

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil

from .rtlil import share

__all__ = ["to_verilog"]

_ATTEMPTS = 3
_MODULE = re.compile(r"^module (\S+ ?)\(([^;]*?)\);\n(.*?)^endmodule", re.MULTILINE | re.DOTALL)


def to_verilog(component, name, *, header="", platform=None):
    """The component as one Verilog text.

    The design goes through RTLIL and one Yosys script, not ``amaranth.back.verilog``, whose ``always @*`` blocks leave
    signals that are constant from time 0 undefined in event-driven simulators (amaranth issue 1629).

    Clock and reset are the top's first ports; the others follow in the order of the component's signature. Equal
    submodules are written once, as ``<name>_<submodule>``, and no name depends on another part of the design.

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

    Raises
    ------
    OSError
        If Yosys does not write every module.
    """
    with _uncollected():
        design = rtlil.convert(component, name=name, platform=platform, emit_src=False)
    design = share(design, name, [path_name(path) for path, _, _ in component.signature.flatten(component)])
    script = f"read_rtlil <<rtlil\n{design}\nrtlil\nproc -norom\nopt_clean -purge\nwrite_verilog -noattr\n"
    modules = _written(script, len(re.findall(r"^module ", design, re.MULTILINE)))
    # The top first, as a table of contents.
    return header + "\n" * bool(header) + "\n".join([modules.pop(name), *modules.values()])


def _written(script, count):
    """The modules that a script makes Yosys write, by name.

    The WebAssembly Yosys has been seen to end early without a word or a code, and to succeed when it was asked again; a
    design that lacks a module must not leave here.
    """
    yosys = find_yosys(lambda version: version >= (0, 40))
    for _ in range(_ATTEMPTS):
        text = yosys.run(["-q", "-"], script)
        # Yosys names its own version in the first line; the text must depend on the design alone.
        text = re.sub(r"\A/\*.*?\*/\n+", "", text, flags=re.DOTALL)
        modules = {match[1].strip(): _with_port_list(match) for match in _MODULE.finditer(text)}
        if len(modules) == count:
            return modules
    raise OSError(f"Yosys wrote {len(modules)} of {count} modules, {_ATTEMPTS} times; is there room and memory?")


def path_name(path):
    """Name of the port that a member's path becomes, as Amaranth forms it."""
    return "__".join(map(str, path))


@contextmanager
def _uncollected():
    """No garbage collection: elaboration allocates millions of objects and drops hardly any."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _with_port_list(match):
    """A module of Yosys with its ports declared where they are listed."""
    name, ports, body = match.groups()
    declarations = []
    for port in (port.strip() for port in ports.split(",")):
        escaped = re.escape(port)
        direction = re.search(rf"^  (input|output|inout) (\[[^]]*\] )?{escaped} ?;\n", body, re.MULTILINE)
        net = re.search(rf"^  (wire|reg) (\[[^]]*\] )?{escaped} ?( = [^;]*)?;\n", body, re.MULTILINE)
        declarations.append(f"  {direction[1]:<6} {net[1]:<4} {net[2] or ''}{port}{net[3] or ''}")
        for declaration in (direction, net):
            body = body.replace(declaration[0], "", 1)
    return f"module {name.strip()} (\n" + ",\n".join(declarations) + f"\n);\n{body}endmodule\n"
