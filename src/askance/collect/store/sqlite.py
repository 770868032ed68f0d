"""A store in one file of SQLite, which comes with Python."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from askance.collect.store.protocol import StoreUnavailableError
from askance.collect.store.tables import TableStore
from askance.errors import FormatError
from askance.formats.disk import as_path

# Seconds for which a connection waits for another one that writes.
_PATIENCE = 5.0
# Keys in one statement: few forms of it, all of which stay prepared.
_KEYS = 512
# Rows in one statement: Python's threads hand over to each other with every one, and the server has work of its own.
_ROWS = 256
# What is up to this large is rearranged in memory, and else in a file without a name.
_IN_MEMORY = 1 << 28
_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a commit returns when the log is on the disk
    "PRAGMA secure_delete = ON",  # what is deleted is overwritten
    "PRAGMA cache_size = -65536",
    "PRAGMA wal_autocheckpoint = 16384",  # pages are brought into the file once for many commits
)
# Far from what SQLite itself counts up to while tables are made.
_VERSIONS_APART = 1_000_000
_BROKEN = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


class Connection(Protocol):
    """A connection of `sqlite3` without transactions of its own; apsw has the same, on any file system."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any:
        """A cursor over the rows that a statement finds."""

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]], /) -> Any:
        """Run a statement for every row of values."""

    def close(self) -> None:
        """End it."""


class SqliteStore(TableStore):
    """A store in one file, with a log beside it (WAL) that is written to the disk before a commit returns.

    The file keeps no row numbers and no times. *Where* in it a row lies tells something of when it came: SQLite fills
    pages as rows arrive. `tidy` writes the whole file anew, by key, and empties the log; then its pages depend on what
    is stored and on nothing else.

    >>> import tempfile
    >>> from askance.collect.store.entry import Entry
    >>> with SqliteStore.open(Path(tempfile.mkdtemp()) / "campaign.sqlite") as store:
    ...     store.take([Entry(bytes(16), b"yes")]), store.count()
    ([<Verdict.TAKEN: 'taken'>], 1)
    """

    _spelling: ClassVar[dict[str, str]] = {"blob": "BLOB", "table": "WITHOUT ROWID"}

    def __init__(self, connection: Connection, place: Path | None = None) -> None:
        self._connection, self._tidied = connection, False
        self._place, self._file = place, place and _file_at(place)
        for setting in _SETTINGS:
            self._rows(setting)
        self._upgrade()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, make: bool = True) -> Self:
        """The store in a file that only its owner may read; it is made if there is none, unless that is forbidden."""
        place = as_path(path)
        with _unavailable():
            if not make and not place.stat().st_size:  # SQLite would take it for a database without tables
                raise FormatError("this store is empty, it has no campaign any more.", remedy="Restore a backup.")
            connection = _connected(place, make=make)
            try:
                return cls(connection, place)
            except BaseException:
                connection.close()
                raise

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _unavailable():
            if self._place is not None and _file_at(self._place) != self._file:  # what is written would be lost with it
                raise StoreUnavailableError("the file of the store was replaced.", remedy="It is opened again.")
            self._connection.execute("BEGIN IMMEDIATE")
            self._tidied = False
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        """Undo what was begun; some errors, such as a full disk, have done so already."""
        if getattr(self._connection, "in_transaction", True):
            self._connection.execute("ROLLBACK")

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        with _unavailable():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._roll_back()

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with _unavailable():
            return list(self._connection.execute(statement, values))

    def _rows_of(self, statement: str, keys: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        remaining = iter(keys)
        while some := list(islice(remaining, _KEYS)):
            yield from self._rows(statement.replace("??", f"IN ({','.join('?' * len(some))})"), some)

    def _write(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        before = self._rows("SELECT total_changes()")[0][0]
        whole = len(rows) - len(rows) % _ROWS if " VALUES " in statement else 0
        for first in range(0, whole, _ROWS):
            values = [value for row in rows[first : first + _ROWS] for value in row]
            self._connection.execute(_of_many_rows(statement), values)
        self._connection.executemany(statement, rows[whole:])
        return int(self._rows("SELECT total_changes()")[0][0] - before)

    def _has_tables(self) -> bool:
        names = {row[0] for row in self._rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if names and "meta" not in names:
            raise FormatError("this SQLite file is no store of askance.", remedy="Give the path of one, or of no file.")
        return bool(names)

    def tidy(self, *, wait: bool = False) -> bool:
        """Write the file anew, by key, and empty the log: nothing tells in which order entries came."""
        if not self._tidied and self.truncate_log(wait=wait):  # the index of the log, too, begins anew
            size = self._rows("PRAGMA page_count")[0][0] * self._rows("PRAGMA page_size")[0][0]
            self._rows(f"PRAGMA temp_store = {'MEMORY' if size <= _IN_MEMORY else 'FILE'}")
            self._rows("VACUUM")
            # The file counts how often it was written anew, which tells for how long answers came in. Tables begin on
            # the same pages after every time, so that whoever has read where they are may go on.
            self._rows(f"PRAGMA schema_version = {len(self.steps) * _VERSIONS_APART}")
            self._tidied = True
        return self._tidied and self.truncate_log(wait=wait)

    def truncate_log(self, *, wait: bool = False) -> bool:
        """Bring the log into the file, and make it empty; not while others read what is in it, such as a backup."""
        patience = self._rows("PRAGMA busy_timeout")[0][0]
        try:
            if not wait:
                self._rows("PRAGMA busy_timeout = 0")
            return bool(self._rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == 0)
        finally:
            self._rows(f"PRAGMA busy_timeout = {patience}")

    def close(self) -> None:
        """End the connection; the last one takes the log with it."""
        with _unavailable():
            self._connection.close()


def _of_many_rows(statement: str) -> str:
    """A statement that inserts one row, as one that inserts many.

    >>> _of_many_rows("INSERT INTO tokens VALUES (?, 0) ON CONFLICT (hash) DO NOTHING")[:45]
    'INSERT INTO tokens VALUES (?, 0), (?, 0), (?,'
    """
    head, _, rest = statement.partition(" VALUES ")
    row, _, tail = rest.partition(")")
    return f"{head} VALUES {', '.join([f'{row})'] * _ROWS)}{tail}"


def _connected(path: Path, *, make: bool) -> sqlite3.Connection:
    """A connection to a file that is there, or is made for its owner alone.

    A file that is there is never opened here: closing it would drop the locks of *all* connections of this process to
    it (POSIX), and the next process that ends its connection would delete the log that others still write to.
    """
    place = os.path.realpath(path)  # not relative: SQLite keeps what is called ":memory:" in memory
    if make:
        with suppress(FileExistsError):
            os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    if os.path.isdir(place) or not os.access(place, os.R_OK | os.W_OK):
        code = errno.EISDIR if os.path.isdir(place) else errno.EACCES if os.path.exists(place) else errno.ENOENT
        raise OSError(code, os.strerror(code), str(path))
    return sqlite3.connect(place, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


def _file_at(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


@contextmanager
def _unavailable() -> Iterator[None]:
    """What SQLite or the disk says against a statement, as the error of a store."""
    try:
        yield
    except OSError as error:
        raise StoreUnavailableError(
            f"the store cannot be opened ({error}).", remedy="Give a path where you may read and write."
        ) from None
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) in _BROKEN:
            raise FormatError(f"this is no SQLite file, or damaged ({error}).", remedy="Restore a backup.") from None
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:  # its log lies beside it
            raise StoreUnavailableError(
                f"the store cannot be written ({error}).", remedy="Give a path in a folder where you may write."
            ) from None
        raise StoreUnavailableError(
            f"the store takes nothing now ({error}).", remedy="Make room on its disk, or wait for whoever locks it."
        ) from None
