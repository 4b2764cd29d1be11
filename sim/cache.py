"""Builds that are made once: folders named by the hash of what went into them."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["build_once", "cache_root", "find_build"]


def cache_root():
    """Where builds are kept: ``$PLUSB_BUILD``, or ``build`` in the current folder."""
    return Path(os.environ.get("PLUSB_BUILD", "build")).resolve()


def build_once(kind, digest, make):
    """The folder of a build, made by ``make(folder)`` unless it is there already.

    The folder appears whole or not at all, also when two processes build it at the same time.

    Parameters
    ----------
    kind : str
        Of build; part of the folder's name.
    digest : str
        Hash of everything the build depends on but the recipes in this package, which are added.
    make : callable
        Fills the folder it is given.

    Returns
    -------
    Path
    """
    folder = _folder(kind, digest)
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=folder.parent))
    try:
        make(work)
        work.rename(folder)
    except OSError:
        if not folder.exists():  # else another process was faster
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def find_build(kind, digest):
    """The folder of a build, or None if it was not made yet."""
    folder = _folder(kind, digest)
    return folder if folder.exists() else None


def _folder(kind, digest):
    recipe = hashlib.sha256(digest.encode())
    for source in [*sorted(Path(__file__).parent.glob("*.cpp")), Path(__file__).with_name("verilator.py")]:
        recipe.update(source.read_bytes())
    return cache_root() / f"{kind}-{recipe.hexdigest()[:16]}"
