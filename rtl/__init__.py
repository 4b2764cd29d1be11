"""Hardware of plusb in Amaranth HDL, and the configuration that describes it."""
