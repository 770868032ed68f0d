"""What code gave an outcome: a digest of the package's own source files."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import askance


@cache
def source_digest() -> str:
    """The digest of all of askance as it was first asked for in this process.

    Outcomes of trials are kept with it: after any edit they are run again, whatever the version says.

    >>> len(source_digest())
    64
    """
    return digest_of_folder(Path(next(iter(askance.__path__))))


def digest_of_folder(folder: Path) -> str:
    """sha256 of the names and contents of all Python files below a folder, wherever the folder itself is."""
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
