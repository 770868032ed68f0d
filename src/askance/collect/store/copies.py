"""Stores as a whole: opened by address, copied to a file while they run, restored from it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from askance.collect.store.postgres import PostgresStore
from askance.collect.store.schema import FINGERPRINT
from askance.collect.store.sqlite import SqliteStore
from askance.collect.store.tables import TableStore, copy_rows
from askance.errors import AskanceError, IncompatibleEvidenceError, InputError
from askance.formats.disk import as_path, is_address, opened, regular_target, whole_file

_POSTGRES = ("postgresql://", "postgres://")


def open_store(address: str | os.PathLike[str], *, make: bool = True) -> TableStore:
    """The store at a path (SQLite), or at the address of a database ("postgresql://…").

    Args:
        address: where it is.
        make: whether a file is made where there is none. What opens a store again says no: an empty one in place of
            one that was moved away would take answers without its campaign.

    >>> with open_store(Path(tempfile.mkdtemp()) / "campaign.sqlite") as store:
    ...     store.count()
    0
    """
    if not is_address(address):
        return SqliteStore.open(address, make=make)
    if not address.startswith(_POSTGRES):
        raise InputError(argument="address", got=address.split("://")[0] + "://…", allowed="a path, or postgresql://…")
    return PostgresStore(address)


def without_password(address: str | os.PathLike[str]) -> str:
    """An address for people to read: what stands between the name of a user and the last @ is left out.

    >>> without_password("postgresql://ask:s3cret@db/surveys"), without_password("exams.sqlite")
    ('postgresql://ask:***@db/surveys', 'exams.sqlite')
    """
    shown = os.fspath(address)
    if not is_address(shown):
        return shown
    return re.sub(r"([?&]password=)[^&]*", r"\1***", re.sub(r"(://[^:@/]*):.*@", r"\1:***@", shown))


def write_backup(store: TableStore, path: str | os.PathLike[str]) -> int:
    """Copy all of one moment to a SQLite file, row by row in the order of keys; how many entries there were then."""
    folder = regular_target(path).parent
    with _room(folder) as room:
        with SqliteStore.open(room / "copy") as copy:
            copy_rows(store, copy)
            n = copy.count()
        with whole_file(path) as file, (room / "copy").open("rb") as written:
            os.chmod(file.fileno(), 0o600)
            shutil.copyfileobj(written, file)
    return n


def restore(path: str | os.PathLike[str], address: str | os.PathLike[str], fingerprint: bytes = b"") -> None:
    """Fill an empty store from a backup: a new file, or an empty schema of PostgreSQL.

    Args:
        path: of the backup.
        address: of the store.
        fingerprint: of the campaign that it must be of; b"": of any.

    Raises:
        InputError: there is something in the store already.
        IncompatibleEvidenceError: the backup is of another campaign; nothing was filled.
    """
    source = as_path(path)
    with _room(None) as room:
        with opened(source, unpack=False) as backup, (room / "backup").open("xb") as copy:
            shutil.copyfileobj(backup, copy)  # opening it writes beside it, and brings it to the newest version
        with named_in_errors(source):
            stored = SqliteStore.open(room / "backup", make=False)
        with stored:
            with named_in_errors(source):
                _require_campaign(stored, fingerprint)
            with named_in_errors(without_password(address)):
                _fill(address, stored)


@contextmanager
def named_in_errors(place: object) -> Iterator[None]:
    """Errors say which store they are about."""
    try:
        yield
    except AskanceError as error:
        raise (error if str(place) in error.message else error.at(str(place))) from None


def _require_campaign(backup: TableStore, fingerprint: bytes) -> None:
    if fingerprint and backup.meta().get(FINGERPRINT, fingerprint) != fingerprint:
        raise IncompatibleEvidenceError(
            "this is a backup of another campaign, or of another version of it.",
            remedy="Give the campaign file that it was made with.",
        )


def _fill(address: str | os.PathLike[str], backup: TableStore) -> None:
    with open_store(address) as store:
        if store.count() or store.meta() or store.token_count().issued:
            raise InputError(
                f"the store to be filled has a campaign already, with {store.count():,} answers.",
                remedy="Restore to a new file, or to an empty schema.",
            )
        copy_rows(backup, store)
        store.tidy(wait=True)


@contextmanager
def _room(folder: Path | None) -> Iterator[Path]:
    """A folder for files that nobody else shall read, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=".askance-", dir=folder) as room:
        yield Path(room)
