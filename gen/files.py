"""Files that appear whole or not at all."""

import errno
import os
import tempfile
from pathlib import Path

__all__ = ["check_folder", "write_files"]


def check_folder(folder):
    """Raise ``OSError`` unless files can be written to ``folder``, which need not exist yet."""
    folder = Path(folder)
    existing = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(existing))
    if not os.access(existing, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(existing))


def write_files(folder, texts):
    """Write texts into a folder; all are complete on disk before the first one gets its name.

    Parameters
    ----------
    folder : path
        Made if it is missing.
    texts : dict of str to str
        Content of each file.

    Returns
    -------
    list of (Path, int)
        What was written, and its size in bytes.

    Raises
    ------
    OSError
        If something cannot be written. Files that were there before then keep their content.
    """
    folder = Path(folder)
    check_folder(folder)
    targets = {folder / name: text.encode() for name, text in texts.items()}
    for target in targets:
        if target.is_dir():
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".plusb-", dir=folder) as work:
        for target, content in targets.items():
            (Path(work) / target.name).write_bytes(content)
        for target in targets:
            os.replace(Path(work) / target.name, target)
    return [(target, len(content)) for target, content in targets.items()]
