"""What an examination of a model finds: one pass at one place."""

from dataclasses import dataclass, field

from .errors import FoldError

__all__ = ["Finding", "attempt"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Finding:
    """One pass tried at one place of a model.

    Parameters
    ----------
    rule : str
        Name of the pass, such as ``batch-norm``.
    where : str
        The operators it is about.
    folds : bool
    why : str
        What it would do, or what blocks it.
    figures : dict
        Numbers for a script.
    result : object
        What the pass returned, such as the folded `Linear`; not for reports.
    """

    rule: str
    where: str
    folds: bool
    why: str
    figures: dict = field(default_factory=dict)
    result: object = None

    def as_json(self):
        """The finding as plain values."""
        return {"pass": self.rule, "where": self.where, "folds": self.folds, "why": self.why, **self.figures}


def attempt(rule, where, fold, why, figures=None):
    """The `Finding` of a fold that is tried.

    Parameters
    ----------
    rule, where : str
    fold : callable
        ``fold()`` gives the result or raises `FoldError`, whose text is then the finding's.
    why : str or callable
        What a fold does; ``why(result)`` where it depends on the result.
    figures : callable, optional
        ``figures(result)`` gives the numbers of a fold that succeeds.
    """
    try:
        result = fold()
    except FoldError as error:
        return Finding(rule=rule, where=where, folds=False, why=str(error))
    return Finding(
        rule=rule,
        where=where,
        folds=True,
        why=why(result) if callable(why) else why,
        figures=figures(result) if figures else {},
        result=result,
    )
