"""Verification: the NumPy golden model, the cocotb benches and the functions that run them."""
