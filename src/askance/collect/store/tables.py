"""A store in four tables, whatever the database: its statements are written here, once."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np

from askance._checks import shown
from askance.collect.store.decision import ALL, Decision, Tallies, added, decide, merged
from askance.collect.store.entry import Entry, Verdict, hashes_in, require_entries, require_hashes
from askance.collect.store.protocol import Sums, SumsOf, TokenCount
from askance.collect.store.schema import CLOSED, FINGERPRINT, PEOPLE, STEPS, VERSION, WITHDRAWN
from askance.errors import FormatError, IncompatibleEvidenceError, InputError

# Entries are read in pages of so many, and deleted in as many.
_PAGE = 4096
# What the first answer fixes: answers mean nothing without the questions, and tokens nothing without their salt.
_FIXED = ("campaign", FINGERPRINT, "salt")
_INSERT_ENTRIES = "INSERT INTO entries VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING"
_SELECT_META = "SELECT name, value FROM meta WHERE name IN (?, ?)"
_INSERT_META = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_INSERT_TALLIES = (
    "INSERT INTO tallies VALUES (?, ?, ?, ?)"
    ' ON CONFLICT (question, "window") DO UPDATE SET n = excluded.n, sums = excluded.sums'
)


class _StoredBeforeError(Exception):
    """A group was decided as if nothing of it were stored, and something is."""


class TableStore(ABC):
    """All that SQLite and PostgreSQL have in common; a subclass connects, begins, asks and writes.

    Statements have `?` where values go and `??` where a list of keys goes.
    """

    #: The tables, version by version.
    steps: ClassVar[tuple[tuple[str, ...], ...]] = STEPS
    #: How the database spells {blob} and {table} in them.
    _spelling: ClassVar[dict[str, str]]
    #: Of the campaign whose entries are brought: a store of another one takes nothing.
    fingerprint: bytes = b""

    # -- what a database does ------------------------------------------------------------------------------------------

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[None]:
        """All or nothing, durable at its end; nobody else writes meanwhile."""

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[None]:
        """What is read within is of one moment."""

    @abstractmethod
    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows that a statement finds."""

    @abstractmethod
    def _rows_of(self, statement: str, keys: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The rows that a statement finds for any of the keys."""

    @abstractmethod
    def _write(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement for every row of values; how many rows of the table it changed."""

    @abstractmethod
    def _has_tables(self) -> bool:
        """Whether there is anything in the database."""

    @abstractmethod
    def tidy(self, *, wait: bool = False) -> bool:
        """Remove what tells in which order entries came; whether it is gone."""

    @abstractmethod
    def close(self) -> None:
        """End the connection; what was acknowledged is safe without it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- versions ------------------------------------------------------------------------------------------------------

    def _version(self) -> int:
        if not self._has_tables():
            return 0
        return int(self._rows("SELECT value FROM meta WHERE name = ?", (VERSION,))[0][0])

    def _upgrade(self) -> None:
        """Bring the tables to the version of this askance, in one transaction; a newer one is refused."""
        if self._version() == len(self.steps):  # the usual case, for which nobody has to wait
            return
        with self._transaction():
            version = self._version()  # somebody else may have been faster
            if version > len(self.steps):
                raise FormatError(
                    f"this store has version {version} of its tables; allowed: up to {len(self.steps)}.",
                    remedy="Open it with the askance that wrote it, or a newer one.",
                )
            for step in self.steps[version:]:
                for statement in step:
                    self._rows(statement.format(**self._spelling))
            self._write(_INSERT_META, [(VERSION, str(len(self.steps)).encode())])

    # -- entries and their tallies -------------------------------------------------------------------------------------

    def take(self, entries: Sequence[Entry]) -> list[Verdict]:
        """Store a group of entries in one transaction, tallies and tokens included; a verdict for each, in order."""
        require_entries(entries)
        if not entries:
            return []
        try:
            with self._transaction():
                return self._taken(entries)  # looking for ids takes as long as storing them, and most are new
        except _StoredBeforeError:
            with self._transaction():
                return self._taken(entries, self._stored(sorted({entry.id for entry in entries})))

    def _taken(
        self, entries: Sequence[Entry], stored: Mapping[bytes, tuple[int, bytes]] | None = None
    ) -> list[Verdict]:
        """Decide a group and keep what is taken; as if nothing of it were stored, where nobody looked."""
        closed = self._is_closed()
        hashes = sorted({entry.token for entry in entries if entry.token is not None})
        tokens = dict(self._rows_of("SELECT hash, spent FROM tokens WHERE hash ??", hashes))
        contents = {id: content for id, (_, content) in (stored or {}).items()}
        decision = decide(entries, contents, tokens, closed=closed)
        if stored is None and len(decision.taken) < len(entries):
            raise _StoredBeforeError  # a token may be spent because its entry is stored
        if decision.taken:
            self._keep(decision)
        return decision.verdicts

    def _is_closed(self) -> bool:
        """Whether nothing new is taken; refused where the store has come to belong to another campaign."""
        wanted = (CLOSED, FINGERPRINT)
        known = {name: bytes(value) for name, value in self._rows(_SELECT_META, wanted)}
        if self.fingerprint and known.get(FINGERPRINT, self.fingerprint) != self.fingerprint:
            raise IncompatibleEvidenceError(
                "the store belongs to another version of the campaign by now.",
                remedy="Serve that one, or take the change back.",
            )
        return CLOSED in known

    def _stored(self, ids: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
        rows = self._rows_of('SELECT id, "window", content FROM entries WHERE id ??', ids)
        return {id: (window, content) for id, window, content in rows}

    def _keep(self, decision: Decision) -> None:
        rows = [(entry.id, entry.window, entry.content) for entry in decision.taken]
        if self._write(_INSERT_ENTRIES, rows) != len(rows):
            raise _StoredBeforeError
        if decision.spent:
            self._write("UPDATE tokens SET spent = 1 WHERE hash = ?", [(hash,) for hash in decision.spent])
        self._add(added((entry.window, entry.sums) for entry in decision.taken))

    def _add(self, more: Tallies, sign: int = 1) -> None:
        windows = sorted({window for _, window in more})
        rows = self._rows_of('SELECT question, "window", n, sums FROM tallies WHERE "window" ??', windows)
        totals = merged({(row[0], row[1]): _sums(row) for row in rows}, more, sign)
        self._write(_INSERT_TALLIES, sorted((*key, n, _bytes(sums)) for key, (sums, n) in totals.items()))
        if sign < 0:  # what is left is what was never more
            self._rows("DELETE FROM tallies WHERE n = 0")

    def tallies(self) -> Tallies:
        """By question and window, what the entries add up to."""
        rows = self._rows('SELECT question, "window", n, sums FROM tallies WHERE question <> ?', (ALL,))
        return {(row[0], row[1]): _sums(row) for row in rows}

    def count(self) -> int:
        """The number of entries."""
        return int(self._rows("SELECT COALESCE(SUM(n), 0) FROM tallies WHERE question = ?", (ALL,))[0][0])

    def entries(self, window: int | None = None) -> Iterator[tuple[bytes, int, bytes]]:
        """Id, window and content of all entries, or of one window, by id; read in pages, each of its own moment."""
        last = b""
        while True:
            page = self._rows(
                f'SELECT id, "window", content FROM entries WHERE id > ? ORDER BY id LIMIT {_PAGE}', (last,)
            )
            yield from (row for row in page if window is None or row[1] == window)
            if len(page) < _PAGE:
                return
            last = page[-1][0]

    # -- retention -----------------------------------------------------------------------------------------------------

    def delete(self, ids: Iterable[bytes], sums_of: SumsOf) -> int:
        """Delete entries and take what they added off the tallies; how many there were. Their tokens stay spent."""
        wanted, deleted = iter(sorted(set(ids))), 0
        while page := list(islice(wanted, _PAGE)):
            with self._transaction():
                stored = self._stored(page)
                self._write("DELETE FROM entries WHERE id = ?", [(id,) for id in stored])
                self._add(added((window, sums_of(content)) for window, content in stored.values()), -1)
                if stored:
                    withdrawn = int(self.meta().get(WITHDRAWN, b"0")) + len(stored)
                    self._write(_INSERT_META, [(WITHDRAWN, str(withdrawn).encode())])
            deleted += len(stored)
        self.tidy(wait=True)
        return deleted

    def delete_windows_before(self, window: int) -> int:
        """Delete all entries of earlier windows, and their tallies; how many there were."""
        with self._transaction():
            before = self.count()
            for table in ("entries", "tallies"):
                self._rows(f'DELETE FROM {table} WHERE "window" < ?', (window,))
            deleted = before - self.count()
        self.tidy(wait=True)
        return deleted

    # -- the campaign and its tokens -----------------------------------------------------------------------------------

    def meta(self) -> dict[str, bytes]:
        """What is known of the campaign."""
        return {name: bytes(value) for name, value in self._rows("SELECT name, value FROM meta") if name != VERSION}

    def set_meta(self, name: str, value: bytes) -> None:
        """Remember something of the campaign; what answers depend on is fixed once there are some."""
        if not name or name == VERSION:
            raise InputError(argument="name", got=shown(name), allowed=f"a name other than {VERSION}")
        with self._transaction():
            if name in _FIXED and self.meta().get(name, value) != value and self.count():
                raise InputError(
                    f"the {name} of this store is fixed: it has {self.count():,} answers.",
                    remedy="A campaign that changes is a new wave: give it a store of its own.",
                )
            self._write(_INSERT_META, [(name, value)])

    def set_first(self, name: str, value: bytes) -> bytes:
        """Remember something of the campaign unless somebody else did before; what is remembered."""
        with self._transaction():
            known = self.meta().get(name)
            if known is None:
                self._write(_INSERT_META, [(name, value)])
            return value if known is None else known

    def add_people(self, hashes: Iterable[bytes]) -> None:
        """Let people count, by the `token_hash` of their tokens: in one transaction, or one of two loses some."""
        more = require_hashes(hashes)
        with self._transaction():
            everybody = hashes_in(self.meta().get(PEOPLE, b"")).union(more)
            self._write(_INSERT_META, [(PEOPLE, b"".join(sorted(everybody)))])  # in no order of time

    def add_tokens(self, hashes: Iterable[bytes]) -> None:
        """Issue tokens, by their `token_hash`; those that were issued before stay as they are."""
        rows = [(hash,) for hash in require_hashes(hashes)]
        with self._transaction():
            self._write("INSERT INTO tokens VALUES (?, 0) ON CONFLICT (hash) DO NOTHING", rows)

    def token_count(self) -> TokenCount:
        """How many tokens were issued, and how many are spent."""
        return TokenCount(*self._rows("SELECT COUNT(*), COUNT(NULLIF(spent, 0)) FROM tokens")[0])

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Write all of one moment to a SQLite file, whose bytes depend on what is stored alone; how many entries."""
        from askance.collect.store.copies import write_backup  # which knows what a SQLite store is

        return write_backup(self, path)


def copy_rows(source: TableStore, target: TableStore) -> None:
    """Copy all rows of one moment to a store without any, by key and in one transaction."""
    with source._snapshot(), target._transaction():
        target._write(_INSERT_META, sorted(source._rows("SELECT name, value FROM meta")))
        target._write(_INSERT_TALLIES, sorted(source._rows('SELECT question, "window", n, sums FROM tallies')))
        target._write("INSERT INTO tokens VALUES (?, ?)", sorted(source._rows("SELECT hash, spent FROM tokens")))
        rows = source.entries()
        while page := list(islice(rows, _PAGE)):
            target._write(_INSERT_ENTRIES, page)


def _sums(row: tuple[Any, ...]) -> Sums:
    return Sums(np.frombuffer(row[3], dtype="<i8").astype(np.int64), int(row[2]))


def _bytes(sums: Any) -> bytes:
    return bytes(sums.astype("<i8").tobytes())
