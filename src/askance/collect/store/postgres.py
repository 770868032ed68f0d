"""A store in a database of PostgreSQL, through psycopg 3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from askance.collect.store.protocol import StoreUnavailableError
from askance.collect.store.tables import TableStore
from askance.errors import InputError

# After how long a server that does not answer is given up; else a cut cable is noticed after a quarter of an hour.
_CONNECTION = {"connect_timeout": 5, "keepalives_idle": 5, "keepalives_count": 3, "tcp_user_timeout": 10_000}
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('askance ' || current_schema()))"
_HAS_TABLES = "SELECT to_regclass(quote_ident(current_schema()) || '.meta') IS NOT NULL"


class PostgresStore(TableStore):
    """A store in the current schema of a database: one campaign in each, chosen by the search path of the address.

    PostgreSQL keeps the order in which rows came, in its heap and in its log, and `tidy` cannot change that: whoever
    administers the database can see it. A SQLite file, such as a backup, shows none.

    Args:
        address: as libpq reads it, such as "postgresql://askance@localhost/surveys?options=-csearch_path%3Dwave1".
    """

    _spelling: ClassVar[dict[str, str]] = {"blob": "BYTEA", "table": ""}

    def __init__(self, address: str) -> None:
        self._psycopg = _imported()
        with self._unavailable():
            self._connection = self._psycopg.connect(address, autocommit=True, **_CONNECTION)
        try:
            self._require_durable()
            self._upgrade()
        except BaseException:
            self._connection.close()
            raise

    def _require_durable(self) -> None:
        """A commit returns when it is on the disk, whatever the server does for others; where it never is, refuse."""
        for setting in ("fsync", "full_page_writes"):
            if self._rows(f"SHOW {setting}")[0][0] != "on":
                raise InputError(
                    f"{setting} of this PostgreSQL is off: what it acknowledges may be lost.",
                    remedy="Turn it on for the server.",
                )
        if self._rows("SHOW synchronous_commit")[0][0] == "off":
            self._rows("SET synchronous_commit = on")

    @contextmanager
    def _unavailable(self) -> Iterator[None]:
        """What PostgreSQL says against a statement, as the error of a store."""
        try:
            yield
        except self._psycopg.Error as error:
            reason = (str(error).splitlines() or ["no reason given"])[0]
            raise StoreUnavailableError(
                f"the store takes nothing now ({reason}).",
                remedy="See that PostgreSQL runs, has room, and has the schema.",
            ) from None

    @contextmanager
    def _between(self, begin: str, end: str) -> Iterator[None]:
        with self._unavailable():
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute(end)
            except BaseException:
                if not self._connection.broken:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._between("BEGIN", "COMMIT"):
            self._connection.execute(_LOCK)
            yield

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        with self._between("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "ROLLBACK"):
            yield

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._unavailable():
            cursor = self._connection.execute(statement.replace("?", "%s"), values, binary=True)
            return cursor.fetchall() if cursor.description else []

    def _rows_of(self, statement: str, keys: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows(statement.replace("??", "= ANY(?)"), [list(keys)]) if keys else [])

    def _write(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        with self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), rows)
            return int(cursor.rowcount)

    def _has_tables(self) -> bool:
        return bool(self._rows(_HAS_TABLES)[0][0])

    def tidy(self, *, wait: bool = False) -> bool:
        """Nothing can be done: heap and log of PostgreSQL keep an order, which only its administrator can see."""
        return True

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _imported() -> Any:
    try:
        import psycopg
    except ImportError:
        raise InputError(
            "a store in PostgreSQL needs psycopg, which is not installed.",
            remedy="Install it: pip install 'askance[postgres]'.",
        ) from None
    return psycopg
