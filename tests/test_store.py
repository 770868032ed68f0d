"""Stores as sets: whatever comes in, in whatever groups and however often, both databases hold the same."""

from __future__ import annotations

import itertools
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from askance.collect.store import (
    Entry,
    PostgresStore,
    SqliteStore,
    Store,
    StoreUnavailableError,
    Verdict,
    open_store,
    restore,
    token_hash,
)
from askance.collect.store.entry import hashes_in
from askance.collect.store.tables import TableStore
from askance.errors import FormatError, IncompatibleEvidenceError, InputError

from .databases import Cluster, private_cluster
from .stores import CONTENTS, SALT, assert_sound, numbered, sums_of

TOKENS = (b"first token.....", b"second token....")
YES, NO = b'{"a":"yes"}', b'{"a":"no"}'
Places = Callable[[], str]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with private_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Addresses of stores that nobody has used."""
    if request.param == "postgres":
        cluster: Cluster = request.getfixturevalue("cluster")
        return cluster.address
    folder, numbers = tmp_path_factory.mktemp("stores"), itertools.count()
    return lambda: str(folder / f"{next(numbers)}.sqlite")


# -- laws --------------------------------------------------------------------------------------------------------------


class Model:
    """What a store is: a set of entries, and which token was spent on which of them."""

    def __init__(self) -> None:
        self.entries: dict[bytes, tuple[int, bytes]] = {}
        self.spent: set[bytes] = set()

    def take(self, entry: Entry, token: bytes | None) -> Verdict:
        if entry.id in self.entries:
            return Verdict.KNOWN if self.entries[entry.id][1] == entry.content else Verdict.CONFLICT
        if token is not None and token not in TOKENS:
            return Verdict.FOREIGN
        if token in self.spent:
            return Verdict.SPENT
        self.entries[entry.id] = (entry.window, entry.content)
        if token is not None:
            self.spent.add(token)
        return Verdict.TAKEN


SENT = st.tuples(
    st.integers(0, 5),
    st.sampled_from(sorted(CONTENTS)),
    st.integers(0, 2),
    st.sampled_from([None, *TOKENS, b"never issued...."]),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.lists(SENT, max_size=6)),
        st.tuples(st.just("delete"), st.lists(st.integers(0, 5), max_size=3)),
        st.tuples(st.just("expire"), st.integers(0, 3)),
        st.tuples(st.just("reopen"), st.none()),
    ),
    max_size=8,
)


def run(store: Store, model: Model, kind: str, values: Any) -> None:
    if kind == "take":
        sent = [(numbered(n, content=c, window=w, token=t), t) for n, c, w, t in values]
        assert store.take([entry for entry, _ in sent]) == [model.take(entry, token) for entry, token in sent]
    elif kind == "delete":
        ids = {numbered(n).id for n in values}
        assert store.delete(ids, sums_of) == sum(model.entries.pop(id, None) is not None for id in ids)
    else:
        old = [id for id, (window, _) in model.entries.items() if window < values]
        assert store.delete_windows_before(values) == len(old)
        for id in old:
            del model.entries[id]


@settings(max_examples=40)
@given(STEPS)
@example([("take", [(0, YES, 0, TOKENS[0])]), ("delete", [0]), ("take", [(0, YES, 0, TOKENS[0])])])
@example([("take", [(0, YES, 0, None), (0, YES, 0, None), (0, NO, 0, None), (0, YES, 1, None)])])
@example([("take", [(0, YES, 0, TOKENS[0]), (1, YES, 0, TOKENS[0]), (0, YES, 0, TOKENS[1])])])
def test_any_order_of_groups_retries_conflicts_and_deletions_is_that_of_sets(
    place: Places, steps: list[tuple[str, Any]]
) -> None:
    address, model = place(), Model()
    store = open_store(address)
    store.add_tokens(token_hash(token, SALT) for token in TOKENS)
    for kind, values in steps:
        if kind == "reopen":
            store.close()
            store = open_store(address, make=False)
        else:
            run(store, model, kind, values)
        assert assert_sound(store) == model.entries
        assert store.token_count() == (len(TOKENS), len(model.spent))
    store.close()


def test_an_entry_deleted_stays_deleted_when_its_sender_asks_again(place: Places) -> None:
    """Its token is spent: a sender that did not hear of its acknowledgement does not bring it back."""
    with open_store(place()) as store:
        store.add_tokens([token_hash(TOKENS[0], SALT)])
        entry = numbered(1, token=TOKENS[0])
        assert store.take([entry]) == [Verdict.TAKEN]
        assert store.delete([entry.id], sums_of) == 1
        assert store.tallies() == {}
        assert store.take([entry, numbered(2, token=TOKENS[0])]) == [Verdict.SPENT, Verdict.SPENT]
        assert store.count() == 0


def test_nothing_new_is_taken_after_it_was_closed_and_what_was_taken_is_known(place: Places) -> None:
    """Whoever did not hear of an acknowledgement hears of it after the end, too."""
    address = place()
    with open_store(address) as store, open_store(address) as other:
        assert store.take([numbered(1)]) == [Verdict.TAKEN]
        other.set_meta("closed", b"1")
        sent = [numbered(1), numbered(2), numbered(1, content=NO), numbered(2)]
        assert store.take(sent) == [Verdict.KNOWN, Verdict.CLOSED, Verdict.CONFLICT, Verdict.CLOSED]
        assert store.take([numbered(3)]) == [Verdict.CLOSED]
        assert list(assert_sound(store)) == [numbered(1).id]


def test_the_same_in_a_later_window_is_known(place: Places) -> None:
    """A device that was away for weeks sends again what it did not hear of."""
    with open_store(place()) as store:
        assert store.take([numbered(1, window=3)]) == [Verdict.TAKEN]
        assert store.take([numbered(1, window=9)]) == [Verdict.KNOWN]
        assert [window for _, window, _ in store.entries()] == [3]


def test_a_store_that_came_to_belong_to_another_campaign_takes_nothing(place: Places) -> None:
    address = place()
    with open_store(address) as store, open_store(address) as other:
        store.set_meta("fingerprint", b"first")
        store.fingerprint = b"first"
        other.set_meta("fingerprint", b"second")  # nobody has answered yet
        with pytest.raises(IncompatibleEvidenceError, match="another version"):
            store.take([numbered(1)])
        assert store.count() == 0


def test_who_withdraws_is_counted_with_the_deletion(place: Places) -> None:
    with open_store(place()) as store:
        store.take([numbered(number) for number in range(9)])
        for ids, counted in (([0, 1, 20], b"2"), ([20], b"2"), ([0, 5], b"3")):
            store.delete([numbered(number).id for number in ids], sums_of)
            assert store.meta()["withdrawn"] == counted


def test_two_writers_of_one_store_add_up(place: Places) -> None:
    """Groups of two connections follow each other; none reads a tally that the other is about to change."""
    address = place()
    open_store(address).close()
    verdicts: list[list[Verdict]] = [[], []]

    def write(who: int) -> None:
        with open_store(address, make=False) as store:
            for group in range(25):
                verdicts[who] += store.take([numbered(100 * who + 4 * group + i) for i in range(8)])

    threads = [threading.Thread(target=write, args=(who,)) for who in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_store(address, make=False) as store:
        assert len(assert_sound(store)) == 204
    assert sum(some.count(Verdict.TAKEN) for some in verdicts) == 204
    assert sum(map(len, verdicts)) == 400


def test_people_who_are_let_in_by_two_at_once_all_come_in(place: Places) -> None:
    """Each of two reads who is there, and writes them all: within one transaction, or some are lost."""
    address = place()
    open_store(address).close()
    salts: list[bytes] = []

    def admit(who: int) -> None:
        with open_store(address, make=False) as store:
            salts.append(store.set_first("salt", bytes([who])))
            for number in range(25):
                store.add_people([bytes([who, number]) * 16])

    threads = [threading.Thread(target=admit, args=(who,)) for who in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_store(address, make=False) as store:
        everybody = {bytes([who, number]) * 16 for who in (0, 1) for number in range(25)}
        assert hashes_in(store.meta()["people"]) == everybody
        assert salts == 2 * [store.meta()["salt"]]
        with pytest.raises(InputError, match="32 bytes"):
            store.add_people([b"short"])


def test_entries_come_in_pages_by_id(place: Places) -> None:
    with open_store(place()) as store:
        store.take([numbered(i, window=i % 3) for i in range(9_000)])
        ids = [row[0] for row in store.entries()]
        assert ids == sorted(ids)
        assert len(ids) == 9_000
        assert {row[1] for row in store.entries(2)} == {2}
        assert len(list(store.entries(2))) == 3_000
        assert store.delete_windows_before(2) == 6_000
        assert set(store.tallies()) == {("a", 2)}


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entry",
    [
        Entry(bytes(15), b""),
        Entry("0123456789abcdef", b""),  # type: ignore[arg-type]
        Entry(bytes(16), "text"),  # type: ignore[arg-type]
        Entry(bytes(16), b"", b"a token itself.."),
        Entry(bytes(16), b"", None, -1),
        Entry(bytes(16), b"", None, 1 << 63),
        Entry(bytes(16), b"", None, 0, {"": np.array([1])}),
        Entry(bytes(16), b"", None, 0, {"a": np.array([0.5])}),
        Entry(bytes(16), b"", None, 0, {"a": np.array([1, 2, 3])}),
        Entry(bytes(16), b"", None, 0, {"a": np.array([1 << 62, 0])}),
    ],
)
def test_an_entry_that_cannot_be_kept_is_refused_with_its_group(place: Places, entry: Entry) -> None:
    with open_store(place()) as store:
        store.take([Entry(numbered(9).id, b"large", None, 0, {"a": np.array([1 << 62, 0])})])
        with pytest.raises(InputError):
            store.take([numbered(1), entry])
        assert store.count() == 1
        assert store.take([numbered(1)]) == [Verdict.TAKEN]


def test_the_first_answer_fixes_the_campaign(place: Places) -> None:
    with open_store(place()) as store:
        for value in (b"first draft", b"second draft"):
            store.set_meta("campaign", value)
        store.take([numbered(1)])
        store.set_meta("campaign", b"second draft")
        store.set_meta("administrator", b"one")
        store.set_meta("administrator", b"two")
        with pytest.raises(InputError, match=r"campaign of this store is fixed: it has 1 answers.*new wave"):
            store.set_meta("campaign", b"third draft")
        with pytest.raises(InputError, match="name is 'schema'"):
            store.set_meta("schema", b"9")
        with pytest.raises(InputError, match="hashes are no hashes"):
            store.add_tokens([b"short"])
        assert store.meta() == {"campaign": b"second draft", "administrator": b"two"}


# -- versions ----------------------------------------------------------------------------------------------------------


def newer(address: str, steps: tuple[tuple[str, ...], ...]) -> TableStore:
    """The store of an askance that knows these versions."""
    kind = PostgresStore if address.startswith("postgresql:") else SqliteStore
    later = type("Later", (kind,), {"steps": steps})
    return later(address) if kind is PostgresStore else later.open(address)  # type: ignore[no-any-return, attr-defined]


def test_a_newer_askance_upgrades_in_one_transaction(place: Places) -> None:
    """All steps with their number, or none: a step that fails leaves the version that was there."""
    address, entries = place(), [numbered(i) for i in range(50)]
    with open_store(address) as store:
        store.take(entries)
        steps = store.steps
    wrong = (*steps, ("CREATE TABLE extra (name TEXT PRIMARY KEY) {table}",), ("CREATE TABLE entries (id {blob})",))
    with pytest.raises(Exception, match="already exists"):
        newer(address, wrong)
    with open_store(address) as store:
        assert not any("extra" in str(row) for row in tables_of(store))
        assert len(assert_sound(store)) == 50
    right = (*steps, ("CREATE TABLE extra (name TEXT PRIMARY KEY) {table}", "INSERT INTO extra VALUES ('kept')"))
    with newer(address, right) as store:
        assert store.take(entries) == [Verdict.KNOWN] * 50
        assert store._rows("SELECT name FROM extra") == [("kept",)]
        assert store._version() == len(steps) + 1
    with pytest.raises(FormatError, match=rf"version {len(steps) + 1} of its tables; allowed: up to {len(steps)}\."):
        open_store(address)


def tables_of(store: TableStore) -> list[tuple[object, ...]]:
    if isinstance(store, SqliteStore):
        return store._rows("SELECT name FROM sqlite_master")
    return store._rows("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")


def test_a_store_of_the_first_version_is_read_by_all_that_follow(tmp_path: Path) -> None:
    """The statements below are those of a file that the first version wrote, and never change."""
    path = tmp_path / "first.sqlite"
    entry = numbered(1, token=TOKENS[0])
    with sqlite3.connect(path) as old:
        old.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
        old.execute(
            'CREATE TABLE entries (id BLOB PRIMARY KEY, "window" BIGINT NOT NULL, content BLOB NOT NULL) WITHOUT ROWID'
        )
        old.execute(
            'CREATE TABLE tallies (question TEXT, "window" BIGINT, n BIGINT NOT NULL, sums BLOB NOT NULL,'
            ' PRIMARY KEY (question, "window")) WITHOUT ROWID'
        )
        old.execute("CREATE TABLE tokens (hash BLOB PRIMARY KEY, spent SMALLINT NOT NULL) WITHOUT ROWID")
        old.executemany("INSERT INTO meta VALUES (?, ?)", [("schema", b"1"), ("salt", SALT)])
        old.execute("INSERT INTO entries VALUES (?, 0, ?)", (entry.id, entry.content))
        old.execute("INSERT INTO tokens VALUES (?, 1)", (entry.token,))
        counted = [("", 0, 1, b""), ("a", 0, 1, bytes(8) + b"\x01" + bytes(7))]
        old.executemany("INSERT INTO tallies VALUES (?, ?, ?, ?)", counted)
    old.close()
    with open_store(path) as store:
        assert assert_sound(store) == {entry.id: (0, entry.content)}
        assert store.take([entry, numbered(2, token=TOKENS[0])]) == [Verdict.KNOWN, Verdict.SPENT]
        assert (store.meta(), store.token_count()) == ({"salt": SALT}, (1, 1))


def test_a_backup_of_another_campaign_fills_nothing(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as store:
        store.set_meta("fingerprint", b"exams")
        store.take([numbered(1)])
        store.backup(tmp_path / "backup")
    with pytest.raises(IncompatibleEvidenceError, match="another campaign"):
        restore(tmp_path / "backup", tmp_path / "again", b"phones")
    assert not (tmp_path / "again").exists()
    restore(tmp_path / "backup", tmp_path / "again", b"exams")
    with open_store(tmp_path / "again") as store:
        assert store.count() == 1


def test_no_name_of_a_file_keeps_answers_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite takes ":memory:" for no file at all: what was acknowledged would be gone."""
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file::memory:", "file:x?mode=memory"):
        with open_store(name) as store:
            store.take([numbered(1)])
        with open_store(tmp_path / name, make=False) as store:
            assert store.count() == 1


def test_a_folder_where_nothing_may_be_written_is_said_to_be_one(tmp_path: Path) -> None:
    """The file itself may be written, and its log cannot be made beside it: room on the disk does not help."""
    SqliteStore.open(tmp_path / "store").close()
    known = sqlite3.connect(f"file:{tmp_path / 'store'}?mode=ro", uri=True, isolation_level=None)
    with pytest.raises(StoreUnavailableError, match="cannot be written") as caught:
        SqliteStore(known)._rows("INSERT INTO meta VALUES (?, ?)", ("a", b"b"))
    assert caught.value.remedy == "Give a path in a folder where you may write."
    known.close()


def test_other_files_are_refused(tmp_path: Path) -> None:
    text, foreign, nothing = tmp_path / "text", tmp_path / "foreign", tmp_path / "nothing"
    text.write_text("this is a text of more than sixteen characters, and of no SQLite. " * 20)
    with sqlite3.connect(foreign) as other:
        other.execute("CREATE TABLE people (name)")
    other.close()
    with pytest.raises(FormatError, match="no SQLite file"):
        open_store(text)
    with pytest.raises(FormatError, match="no store of askance"):
        open_store(foreign)
    with pytest.raises(StoreUnavailableError, match="No such file"):
        open_store(nothing, make=False)
    for wrong in (text, foreign, tmp_path / "not there"):
        with pytest.raises(FormatError):
            restore(wrong, nothing)
    assert not nothing.exists()
    with pytest.raises(InputError, match=r"address is mysql://…; allowed: a path, or postgresql://…\."):
        open_store("mysql://somebody:secret@host/surveys")
    open_store(nothing).close()
    assert nothing.stat().st_mode & 0o777 == 0o600


def test_postgresql_that_does_not_keep_its_word_is_refused(cluster: Cluster) -> None:
    import psycopg

    address = cluster.address()
    with open_store(f"{address}%20-csynchronous_commit%3Doff") as store:
        assert store._rows("SHOW synchronous_commit") == [("on",)]
    with psycopg.connect(address, autocommit=True) as connection:
        for setting, refused in (("off", True), ("on", False)):
            connection.execute(f"ALTER SYSTEM SET fsync = {setting}".encode())
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute("SHOW fsync").fetchone() != (setting,):
                pass
            if refused:
                with pytest.raises(InputError, match="fsync of this PostgreSQL is off"):
                    open_store(address)
    open_store(address).close()
