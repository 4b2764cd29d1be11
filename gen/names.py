"""Names that may stand in Verilog."""

import re

__all__ = ["VERILOG_KEYWORDS", "check_module_name"]

#: Reserved words of IEEE 1364-2005 and the words SystemVerilog adds that a name is likely to hit.
VERILOG_KEYWORDS = frozenset(
    """
    always and assign automatic begin buf bufif0 bufif1 case casex casez cell cmos config deassign default defparam
    design disable edge else end endcase endconfig endfunction endgenerate endmodule endprimitive endspecify
    endtable endtask event for force forever fork function generate genvar highz0 highz1 if ifnone incdir include
    initial inout input instance integer join large liblist library localparam macromodule medium module nand
    negedge nmos nor noshowcancelled not notif0 notif1 or output parameter pmos posedge primitive pull0 pull1
    pulldown pullup pulsestyle_ondetect pulsestyle_onevent rcmos real realtime reg release repeat rnmos rpmos rtran
    rtranif0 rtranif1 scalared showcancelled signed small specify specparam strong0 strong1 supply0 supply1 table
    task time tran tranif0 tranif1 tri tri0 tri1 triand trior trireg unsigned use uwire vectored wait wand weak0
    weak1 while wire wor xnor xor alias assert assume bind bit break byte checker class clocking const constraint
    context continue cover covergroup cross dist do endclass endclocking endgroup endinterface endpackage endprogram
    endproperty endsequence enum eventually expect export extends extern final first_match foreach global iff
    implements import inside int interface intersect local logic longint matches modport new nexttime null package
    packed priority program property protected pure rand randc randcase ref restrict return sequence shortint
    shortreal solve static string strong struct super tagged this throughout timeprecision timeunit type typedef
    union unique until untyped var virtual void wait_order weak wildcard with within
    """.split()
)


def check_module_name(name):
    """Raise ``ValueError`` unless ``name`` can name a Verilog module without escaping."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"name must be letters, digits and underscores, and not begin with a digit, not {name!r}")
    if name in VERILOG_KEYWORDS:
        raise ValueError(f"name must not be a keyword of Verilog, not {name!r}")
