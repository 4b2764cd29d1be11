// Behaviour of ECP5 blocks as the multiplier and accumulation providers use them, written from Lattice's documentation
// (TN1267, TN1264): for simulation only, and an error for any other use.

// 18 x 18 signed multiplier; every register present is clocked by CLK0 and always enabled.
module MULT18X18D #(
    parameter REG_INPUTA_CLK = "NONE",
    parameter REG_INPUTB_CLK = "NONE",
    parameter REG_PIPELINE_CLK = "NONE",
    parameter REG_OUTPUT_CLK = "NONE",
    parameter GSR = "ENABLED",
    parameter SOURCEB_MODE = "B_SHIFT"
) (
    input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0,
    input B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
    input C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2, C1, C0,
    input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB, CLK0, CE0, RST0,
    output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
    output P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
);
    wire signed [17:0] a_in = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
    wire signed [17:0] b_in = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
    reg signed [17:0] a = 0, b = 0;
    reg signed [35:0] product = 0, result = 0;

    // A control input that is not what the providers tie it to makes every result wrong.
    wire usable = SIGNEDA & SIGNEDB & ~SOURCEA & ~SOURCEB & CE0 & ~RST0 & (
        REG_INPUTA_CLK == "CLK0" && REG_INPUTB_CLK == "CLK0" && REG_PIPELINE_CLK == "CLK0" && REG_OUTPUT_CLK == "CLK0"
        && GSR == "DISABLED" && SOURCEB_MODE == "B_SHIFT");

    always @(posedge CLK0) begin
        a <= a_in;
        b <= b_in;
        product <= a * b;
        result <= usable ? product : ~product;
    end

    assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15, P14,
            P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = result;
endmodule
