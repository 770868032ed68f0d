"""Where reports are: files, folders, patterns, standard input, and addresses of other machines."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from askance.errors import InputError
from askance.formats.disk import as_path, cannot_read, file_system, is_address

#: Names of files of reports, which may be packed as well.
LINES, PARQUET = (".jsonl", ".ndjson"), (".parquet", ".pq")
_REPORTS = tuple(ending + packing for ending in (*LINES, *PARQUET) for packing in ("", ".gz"))
_MAGIC = frozenset("*?[")

#: A file: a path here, or an address such as s3://bucket/reports.parquet.
Place: TypeAlias = Path | str


@dataclass(frozen=True)
class RowGroups:
    """Some row groups of a Parquet file of reports, to be read as a part of it: see `aggregate`.

    Attributes:
        path: of the file.
        first: the first one, from 0.
        stop: the one behind the last.

    >>> print(RowGroups("monday.parquet", 0, 8))
    monday.parquet, row groups 0:8
    """

    path: Place
    first: int
    stop: int

    def __str__(self) -> str:
        return f"{self.path}, row groups {self.first}:{self.stop}"

    @property
    def numbers(self) -> range:
        """Their numbers."""
        return range(self.first, self.stop)


#: What files of reports may be given as: files, folders, patterns, addresses, row groups; one or several.
Places: TypeAlias = str | Path | RowGroups | Iterable[str | Path | RowGroups]


def listed_places(places: Places) -> list[Place | RowGroups]:
    """One or several places as files; one that comes twice is refused.

    A folder is all files of reports in and below it (.jsonl, .ndjson, .parquet, .pq, perhaps .gz), but for those whose
    name, or that of a folder on the way, begins with a dot or an underscore. Patterns (*, ?, [a-z], and ** for any
    folders) are all files they fit; - is standard input. Both are in the order of their names.

    >>> listed_places("monday.parquet")
    [PosixPath('monday.parquet')]
    """
    several = [places] if isinstance(places, (str, Path, RowGroups)) else places
    listed: list[Place | RowGroups] = []
    for place in several:
        listed += [place] if isinstance(place, RowGroups) else _expanded(place)
    if not listed:
        raise InputError("no files are given.", remedy="Give at least one file of reports, or state.")
    met = set()
    for file in listed:
        key = file.resolve() if isinstance(file, Path) else file
        if key in met:
            raise InputError(f"{file} is given twice.", remedy="Name every file once: its reports would count twice.")
        met.add(key)
    return listed


def _expanded(place: str | Path) -> list[Place]:
    if os.fspath(place) == "-":
        return [Path("/dev/stdin")]
    if is_address(place):
        system, path = file_system(place)
        return _files(place, path, system.isdir, system.exists, system.find, system.glob, system.unstrip_protocol)
    match = partial(glob.glob, recursive=True)
    return _files(place, str(as_path(place)), os.path.isdir, os.path.exists, _below, match, Path)


def _below(folder: str) -> list[str]:
    return [os.path.join(here, name) for here, _, names in os.walk(folder) for name in names]


def _files(place: str | Path, path: str, is_folder: Any, exists: Any, find: Any, match: Any, name: Any) -> list[Place]:
    """The files of a place, with what its system offers."""
    try:
        if is_folder(path):
            named = [file for file in find(path) if _is_open(file.removeprefix(path)) and file.endswith(_REPORTS)]
            what = f"the folder {place} holds no files of reports ({', '.join((*LINES, *PARQUET))})."
        elif _MAGIC.isdisjoint(path) or exists(path):
            return [place if is_address(place) else Path(path)]
        else:
            named = [file for file in match(path) if not is_folder(file)]
            what = f"no file is called like {place}."
    except OSError as error:
        raise cannot_read(place, error) from None
    if not named:
        raise InputError(what, remedy="Give files of reports, a folder with some, or states.")
    return [name(file) for file in sorted(named)]


def _is_open(name: str) -> bool:
    """Whether neither a file nor a folder above it is hidden, or somebody's notes."""
    return not any(part.startswith((".", "_")) for part in name.replace(os.sep, "/").split("/"))
