"""iCE40 multiplier blocks: kept as they are by synthesis, and two 8x8 multipliers put into one on its netlist."""

__all__ = ["HIDE", "REVEAL", "STUB", "STUB_FILE", "pair_multipliers"]

# Yosys' pass ``ice40_dsp`` takes every SB_MAC16 for one that it inferred itself, and resets its registers and modes. So
# ours go through synthesis under another name.
_HIDDEN = "plusb_mac16"
_PARAMETERS = {
    1: (
        "NEG_TRIGGER",
        "C_REG",
        "A_REG",
        "B_REG",
        "D_REG",
        "TOP_8x8_MULT_REG",
        "BOT_8x8_MULT_REG",
        "PIPELINE_16x16_MULT_REG1",
        "PIPELINE_16x16_MULT_REG2",
        "TOPADDSUB_UPPERINPUT",
        "BOTADDSUB_UPPERINPUT",
        "MODE_8x8",
        "A_SIGNED",
        "B_SIGNED",
    ),
    2: (
        "TOPOUTPUT_SELECT",
        "TOPADDSUB_LOWERINPUT",
        "TOPADDSUB_CARRYSELECT",
        "BOTOUTPUT_SELECT",
        "BOTADDSUB_LOWERINPUT",
        "BOTADDSUB_CARRYSELECT",
    ),
}
_INPUTS = (
    "CLK",
    "CE",
    "AHOLD",
    "BHOLD",
    "CHOLD",
    "DHOLD",
    "IRSTTOP",
    "IRSTBOT",
    "ORSTTOP",
    "ORSTBOT",
    "OLOADTOP",
    "OLOADBOT",
    "ADDSUBTOP",
    "ADDSUBBOT",
    "OHOLDTOP",
    "OHOLDBOT",
    "CI",
    "ACCUMCI",
    "SIGNEXTIN",
)
#: A Verilog file that declares the other name.
STUB_FILE = f"{_HIDDEN}.v"
STUB = (
    f"(* blackbox *) module {_HIDDEN} (input {', '.join(_INPUTS)}, input [15:0] A, B, C, D,\n"
    "    output [31:0] O, output CO, ACCUMCO, SIGNEXTOUT);\n"
    + "".join(f"    parameter [{bits - 1}:0] {name} = 0;\n" for bits, names in _PARAMETERS.items() for name in names)
    + "endmodule\n"
)
#: Yosys commands before and after synthesis.
HIDE = f"read_verilog {STUB_FILE}; chtype -set {_HIDDEN} t:SB_MAC16; "
REVEAL = f"chtype -set SB_MAC16 t:{_HIDDEN}; "

_BLOCK = "SB_MAC16"
# Nets that both halves of a block share.
_SHARED = ("CLK", "CE", "CI", "ACCUMCI", "SIGNEXTIN")
# Ports of eight bits a half for the factors, sixteen for the product; the lower half comes first.
_HALVES = {"A": 8, "B": 8, "O": 16}


def pair_multipliers(netlist, blocks=0):
    """Merge the half used ``SB_MAC16`` of a flat netlist, two by two.

    A block counts as half used if it is in 8x8 mode, and the upper halves of its factors are constants and the upper
    half of its product is unused, as the multiplier provider of the target ``ice40`` makes it: registers and modes of
    both halves are equal then.

    Parameters
    ----------
    netlist : dict
        As Yosys writes it in JSON; changed in place.
    blocks : int
        How many there are: no more are merged than have to be, since a pair is harder to place.

    Returns
    -------
    int
        Blocks saved.
    """
    saved = 0
    for module in netlist.get("modules", {}).values():
        cells = module.get("cells", {})
        used = _readers(module)
        waiting = {}
        count = sum(cell["type"] == _BLOCK for cell in cells.values())
        for name in [name for name, cell in cells.items() if _is_half(cell, used)]:
            if count <= blocks:
                break
            cell = cells[name]
            connections = cell["connections"]
            kind = (str(sorted(cell["parameters"].items())), str([connections.get(port) for port in _SHARED]))
            first = waiting.pop(kind, None)
            if first is None:
                waiting[kind] = cell
                continue
            for port, bits in _HALVES.items():
                first["connections"][port][bits:] = connections[port][:bits]
            del cells[name]
            count -= 1
            saved += 1
    return saved


def _readers(module):
    """Nets that something reads."""
    nets = set()
    for cell in module.get("cells", {}).values():
        for port, bits in cell["connections"].items():
            if cell.get("port_directions", {}).get(port) != "output":
                nets.update(bits)
    for port in module.get("ports", {}).values():
        nets.update(port["bits"])
    return nets


def _is_half(cell, used):
    if cell["type"] != _BLOCK or int(str(cell["parameters"].get("MODE_8x8", "0")), 2) != 1:
        return False
    connections = cell["connections"]
    constant = all(isinstance(bit, str) for port in ("A", "B") for bit in connections[port][8:])
    return constant and not used.intersection(bit for bit in connections["O"][16:] if not isinstance(bit, str))
