"""The one error of a pass that cannot be applied."""

__all__ = ["FoldError"]


class FoldError(ValueError):
    """A fold that would change the result; the message names what blocks it."""
