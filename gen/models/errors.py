"""The one error that every front end raises."""

__all__ = ["ModelError", "one_line"]


def one_line(error):
    """The text of another library's error without its line breaks."""
    return " ".join(str(error).split())


class ModelError(ValueError):
    """A model that cannot be used: damaged, or with something this project does not run.

    Parameters
    ----------
    message : str
        What is wrong, and what would be right.
    operator, tensor : str, optional
        Where; both appear in the text.
    """

    def __init__(self, message, *, operator=None, tensor=None):
        self.operator, self.tensor = operator, tensor
        where = [f"operator {operator}"] if operator else []
        where += [f"tensor {tensor}"] if tensor else []
        super().__init__(f"{', '.join(where)}: {message}" if where else message)
