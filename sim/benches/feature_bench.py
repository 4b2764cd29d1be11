"""The testbench of units with any features, engine or epilogue alone."""

from .programs import gemm_load
from .unit_bench import UnitBench

__all__ = ["FeatureBench"]


class FeatureBench(UnitBench):
    """Makes products that use chosen features of the unit."""

    @property
    def is_engine(self):
        """Whether the unit has an array."""
        return "a" in self.sources

    @property
    def features(self):
        """What is built, by the names that ``random_product`` takes."""
        epilogue = self.config.epilogue
        flags = ("weight_zero_point", "row_zero_point", "residual", "negative_scale", "raw")
        built = [*epilogue.bias, *(name for name in flags if getattr(epilogue, name))]
        return [*built, "clamp", *(["lut"] if epilogue.lut_banks else [])]

    def sizes(self):
        """Exact fits and tails in M and N; one row; one column."""
        rows, cols = self.config.rows, self.config.cols
        return ((rows, 5, cols), (2 * rows + 1, 1, cols + 1), (1, 13, 2 * cols + 1), (3 * rows - 1, 7, 1))

    def load(self, size, use, family=None):
        """A random product that uses some features."""
        return gemm_load(self.rng, self.config, *size, family, use=use, engine=self.is_engine)
