"""A small reader of RTLIL text, enough to give modules stable names and to write equal modules only once.

Amaranth emits one module for each instance of a component, with names such as ``\\port$1654$0`` in which the numbers
count nets of the whole design. An array of 16x16 is then 256 copies of a processing element that differ in nothing but
these numbers.
"""

import itertools
import re
from dataclasses import dataclass

from .names import VERILOG_KEYWORDS

__all__ = ["Module", "parse", "share"]

_ID = re.compile(r"(?<!\S)[\\$]\S+")
# What Amaranth appends to a name that occurs more than once.
_NUMBER = re.compile(r"\$\d+")
_PLAIN = re.compile(r"\\[A-Za-z_]\w*", re.ASCII)
_PORT = re.compile(r"  wire width (\d+) (input|output|inout) \d+ +(signed )?(\S+)")
_CELL = re.compile(r"  cell (\\\S+) (\S+)")
_CONNECT = re.compile(r"    connect (\\\S+) (.*)")


@dataclass
class Module:
    """A module as lines of RTLIL.

    Parameters
    ----------
    name : str
        With its leading backslash.
    is_top : bool
    ports, wires : list of list of str
        The lines of each declaration: attributes, then the wire.
    logic : list of str
        All other lines.
    """

    name: str
    is_top: bool
    ports: list
    wires: list
    logic: list


def parse(text):
    """The modules of a design that Amaranth wrote, parents before their children."""
    modules, attributes = [], []
    module = None
    for line in text.splitlines():
        if not line or line.startswith("attribute \\generator"):
            continue
        if module is None:
            if line.startswith("attribute"):
                attributes.append(line)
            elif line.startswith("module "):
                module = Module(line.split()[1], any("\\top" in word for word in attributes), [], [], [])
                attributes = []
        elif line == "end":
            modules.append(module)
            module = None
        elif line.startswith("  attribute "):
            attributes.append(line)
        else:
            lines = [*attributes, line]
            if _PORT.fullmatch(line):
                module.ports.append(lines)
            elif line.startswith("  wire "):
                module.wires.append(lines)
            else:
                module.logic += lines
            attributes = []
    return modules


def share(text, top, port_order=()):
    """The design with stable names, ordered ports and equal modules merged.

    Parameters
    ----------
    text : str
        RTLIL as Amaranth writes it.
    top : str
        Name of the top module; every other module is called ``<top>_<component>``.
    port_order : sequence of str
        Ports of the top module after clock and reset. Ports of other modules are sorted by direction and name.

    Returns
    -------
    str
    """
    modules = parse(text)
    # By name: the module it is merged with, and its ports' new names by their old ones. By content: that module.
    merged, renamed, first = {}, {}, {}
    for module in reversed(modules):  # children first
        _rename_children(module, merged, renamed)
        renamed[module.name] = _rename(module)
        content = _content(module, port_order if module.is_top else ())
        merged[module.name] = first.setdefault(content, module.name)
    return _write(modules, merged, {name: content for content, name in first.items()}, top)


def _rename_children(module, merged, renamed):
    """Let the cells of a module refer to what their modules and ports are called now."""
    lines, connections, ports = [], [], {}
    for line in module.logic:
        connect = _CONNECT.fullmatch(line)
        if connect:
            connections.append(f"    connect {ports.get(connect[1], connect[1])} {connect[2]}")
            continue
        # The order of the connections is that of nets, which is not the same everywhere; that of names is.
        lines += sorted(connections)
        connections = []
        cell = _CELL.fullmatch(line)
        if cell:
            ports = renamed.get(cell[1], {})
            line = f"  cell {merged.get(cell[1], cell[1])} {cell[2]}"
        lines.append(line)
    module.logic = lines + sorted(connections)


def _rename(module):
    """Give everything in a module a plain name without numbers of nets; return the new names by the old ones."""
    cells = {line.split()[-1] for line in module.logic if line.startswith("  cell ")}
    declared = {declaration[-1].split()[-1] for declaration in (*module.ports, *module.wires)}
    # Cells and memories share the name space of wires.
    names = {name for name in declared | cells if name.startswith("\\")}
    memories = {line.split()[-1] for line in module.logic if line.startswith("  memory ")}
    taken = {name for name in names if _is_plain(name)} | memories
    new = {}

    def rename(match):
        name = match[0]
        if name not in names or _is_plain(name):
            return name
        if name not in new:
            stem = "\\" + (re.sub(r"\W+", "_", _NUMBER.sub("", name)).strip("_") or "signal")
            candidates = itertools.chain([stem], (f"{stem}_{i}" for i in itertools.count(1)))
            new[name] = next(unique for unique in candidates if _is_plain(unique) and unique not in taken)
            taken.add(new[name])
        return new[name]

    # Logic first: its order is that of the source, while declarations are in the order of nets.
    module.logic = [_ID.sub(rename, line) for line in module.logic]
    module.ports, module.wires = (
        [[*attributes, _ID.sub(rename, line)] for *attributes, line in declarations]
        for declarations in (module.ports, module.wires)
    )
    return new


def _is_plain(name):
    return _PLAIN.fullmatch(name) is not None and name[1:] not in VERILOG_KEYWORDS


def _content(module, port_order):
    """The module's lines, with its ports in order and numbered from 1 (Yosys takes 0 for none)."""
    order = {f"\\{name}": i for i, name in enumerate(("clk", "rst", *port_order))}
    ports = []
    for *attributes, line in module.ports:
        width, direction, sign, name = _PORT.fullmatch(line).groups()
        ports.append(((order.get(name, len(order)), direction, _natural(name)), attributes, width, sign or "", name))
    lines = []
    for i, ((_, direction, _), attributes, width, sign, name) in enumerate(sorted(ports), 1):
        lines += [*attributes, f"  wire width {width} {direction} {i} {sign}{name}"]
    used = {name for line in module.logic for name in _ID.findall(line)}
    for name, declaration in sorted((lines[-1].split()[-1], lines) for lines in module.wires):
        if name in used:
            lines += declaration
    return "\n".join([*lines, *module.logic])


def _natural(name):
    """A key that sorts numbers in names by value."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _write(modules, merged, contents, top):
    """The text of the modules that remain, named after the first component that each stands for."""
    names = {}
    for module in modules:
        kept = merged[module.name]
        if kept not in names:
            stem = re.sub(r"(_\d+)+$", "", module.name.rpartition(".")[2])
            wanted = f"\\{top}" if module.is_top else f"\\{top}_{stem}"
            candidates = itertools.chain([wanted], (f"{wanted}_{i}" for i in itertools.count(2)))
            names[kept] = next(name for name in candidates if name not in names.values())
    parts = []
    for kept, name in names.items():
        content = re.sub(
            r"^  cell (\\\S+)", lambda cell: f"  cell {names.get(cell[1], cell[1])}", contents[kept], flags=re.MULTILINE
        )
        attribute = "attribute \\top 1\n" if name == f"\\{top}" else ""
        parts.append(f"{attribute}module {name}\n{content}\nend\n")
    return "\n".join(parts)
