"""Generation: configurations and models become Verilog, manifests and tiles; home of the command line."""
