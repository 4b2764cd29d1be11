"""Reference benches: cocotb tests that hold generated Verilog against the golden model."""
