// A Yosys technology map: signed multiplication of wide factors out of products of their halves, as an SB_MAC16 computes
// it. Without it a solver would have to find the distributive law. The factors' widths must be their true ones (wreduce).
`ifndef LIMB
`define LIMB 8
`endif

(* techmap_celltype = "$mul" *)
module schoolbook #(
    parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 1, B_WIDTH = 1, Y_WIDTH = 1,
    // Bits of half a factor.
    parameter LIMB = `LIMB
) (
    input [A_WIDTH-1:0] A,
    input [B_WIDTH-1:0] B,
    output [Y_WIDTH-1:0] Y
);
    localparam WIDEST = A_WIDTH > B_WIDTH ? A_WIDTH : B_WIDTH;
    // The last condition spares the products below.
    wire _TECHMAP_FAIL_ = !A_SIGNED || !B_SIGNED || WIDEST <= LIMB || WIDEST > 2 * LIMB || Y_WIDTH <= WIDEST;

    wire signed [2*LIMB-1:0] a = $signed(A), b = $signed(B);
    wire [2*LIMB-1:0] a_low = a[LIMB-1:0], b_low = b[LIMB-1:0];
    wire signed [2*LIMB-1:0] a_high = $signed(a[2*LIMB-1:LIMB]), b_high = $signed(b[2*LIMB-1:LIMB]);

    wire signed [2*LIMB-1:0] high = a_high * b_high, low_high = a_low * b_high, high_low = a_high * b_low;
    wire [2*LIMB-1:0] low = a_low * b_low;
    wire signed [4*LIMB-1:0] wide_low_high = low_high, wide_high_low = high_low;

    assign Y = low + (wide_high_low << LIMB) + (wide_low_high << LIMB) + {high, {2*LIMB{1'b0}}};
endmodule
