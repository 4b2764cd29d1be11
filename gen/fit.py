"""Fitting a unit to what a model needs: the rounding families of its runtime, and raw sums."""

import dataclasses

from ..rtl.numeric import Family

__all__ = ["fitted"]


def fitted(config, gemms, *, raw=False):
    """The configuration itself where it has what the products need, else one with exactly their families.

    Parameters
    ----------
    config : EngineConfig
        With an epilogue.
    gemms : iterable of Gemm
    raw : bool
        Some of them are to hand out their sums.

    Returns
    -------
    config : EngineConfig
    changes : list of str
        What was changed, in words; empty where nothing was.

    Raises
    ------
    ValueError
        If the rest of the configuration does not allow it.
    """
    used = {gemm.family for gemm in gemms}
    families = tuple(family for family in Family if family in used)
    epilogue, changes = config.epilogue, []
    if set(families) - set(epilogue.families):
        had = ", ".join(map(str, epilogue.families))
        changes.append(f"rounding {', '.join(map(str, families))} in place of {had}")
        epilogue = dataclasses.replace(epilogue, families=families)
    if raw and not epilogue.raw:
        changes.append("raw sums")
        epilogue = dataclasses.replace(epilogue, raw=True)
    return (config.replace(epilogue=epilogue) if changes else config), changes
