"""Somebody reads the file of a store, its log, or a backup, byte by byte, and looks for an order, a time, a person."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import pytest

from askance.collect.store import Entry, SqliteStore, Writer, token_hash

from .signals import until
from .stores import SALT, numbered

N = 160
PAGE = 4096
TOKENS = [token_hash(number.to_bytes(8, "big"), b"tokens")[:16] for number in range(N)]
PEOPLE = [numbered(number, token=token) for number, token in enumerate(TOKENS)]


def filled(path: Path, order: Sequence[int]) -> SqliteStore:
    """A store into which people answered one after the other, in this order."""
    store = SqliteStore.open(path)
    store.add_tokens(token_hash(token, SALT) for token in TOKENS)
    for person in order:
        store.take([PEOPLE[person]])
    return store


def orders() -> list[list[int]]:
    return [list(range(N)), list(range(N))[::-1], random.Random(5).sample(range(N), N)]


def order_within_pages(data: bytes) -> list[list[bytes]]:
    """Per page of entries, their ids in the order in which SQLite put them there.

    It fills a page from its end: the later a row came, the further in front it lies (file format, section 1.6).
    """
    pages = []
    for start in range(0, len(data), PAGE):
        page = data[start : start + PAGE]
        if page[0] != 10:  # no leaf of an index, which is what a table without row numbers is
            continue
        (n_cells,) = struct.unpack_from(">H", page, 3)
        cells = struct.unpack_from(f">{n_cells}H", page, 8)
        ids = {place: _id_at(page, place) for place in cells}
        pages.append([ids[place] for place in sorted(cells, reverse=True) if ids[place]])
    return [page for page in pages if page]


def _id_at(page: bytes, place: int) -> bytes:
    for entry in PEOPLE:
        found = page.find(entry.id, place, place + 64)
        if 0 <= found - place < 12:
            return entry.id
    return b""


def told(data: bytes, order: Sequence[int]) -> float:
    """The share of pairs on a page whose order the reader gets right: one half if the page tells nothing."""
    when = {PEOPLE[person].id: moment for moment, person in enumerate(order)}
    pairs = [when[a] < when[b] for page in order_within_pages(data) for a, b in combinations(page, 2)]
    return sum(pairs) / len(pairs)


@pytest.mark.parametrize("order", orders())
def test_a_file_that_is_not_tidy_tells_the_order(tmp_path: Path, order: list[int]) -> None:
    """This reader can read: who shares a page that was never split lies there as they came, all 80 of them."""
    with filled(tmp_path / "store", order[:80]) as store:
        store.truncate_log()
        assert told((tmp_path / "store").read_bytes(), order) == 1.0
        for person in order[80:]:
            store.take([PEOPLE[person]])
        store.truncate_log()
        assert told((tmp_path / "store").read_bytes(), order) > 0.6


def test_a_tidy_file_depends_on_who_answered_and_on_nothing_else(tmp_path: Path) -> None:
    """Byte by byte: people who answer one by one, in three orders, leave one and the same file."""
    files = []
    for number, order in enumerate(orders()):
        path = tmp_path / str(number)
        with filled(path, order) as store:
            store.tidy()
            assert (tmp_path / f"{number}-wal").stat().st_size == 0
            files.append(path.read_bytes())
        assert sorted(path.parent.glob(f"{number}*")) == [path]  # the log is gone
        assert path.read_bytes() == files[-1]
    assert files == [files[0]] * 3
    rows = order_within_pages(files[0])
    assert sum(map(len, rows)) > N - 10  # all but those on pages that lead to others


def test_a_tidy_file_does_not_tell_how_often_it_was_tidied(tmp_path: Path) -> None:
    """SQLite counts that in the header of the file: seconds in which answers came in."""
    files = []
    for every in (1, 7, N):
        with filled(tmp_path / str(every), []) as store, SqliteStore.open(tmp_path / str(every)) as other:
            for person in range(N):
                store.take([PEOPLE[person]])
                if person % every == 0:
                    store.tidy()
                    assert other.count() == person + 1  # who has read where tables are goes on
            store.tidy()
            files.append((tmp_path / str(every)).read_bytes())
    assert files == [files[0]] * 3


def test_a_backup_at_any_moment_depends_on_what_is_stored_and_on_nothing_else(tmp_path: Path) -> None:
    """Also while the file itself is untidy, and its log full of answers in their order."""
    backups = []
    for number, order in enumerate(orders()):
        with filled(tmp_path / str(number), order) as store:
            assert (tmp_path / f"{number}-wal").stat().st_size > 0
            store.backup(tmp_path / f"{number}.backup")
        backups.append((tmp_path / f"{number}.backup").read_bytes())
    assert backups == [backups[0]] * 3
    assert (tmp_path / "0.backup").stat().st_mode & 0o777 == 0o600


def test_the_index_of_the_log_tells_nothing_once_the_file_is_tidy(tmp_path: Path) -> None:
    """The file beside the log lists pages in the order in which they were written: 1, 2, 3, …, and the header again."""
    for number, order in enumerate(orders()):
        with filled(tmp_path / str(number), order) as store:
            store.tidy()
            index = (tmp_path / f"{number}-shm").read_bytes()
        pages = [page for page in struct.unpack("<4062I", index[136:16384]) if page]
        assert pages == [*range(1, len(pages)), 1]


def is_tidy(path: Path) -> bool:
    """Whether the log is empty, and every page filled by id."""
    pages = order_within_pages(path.read_bytes())
    empty = path.with_name(f"{path.name}-wal").stat().st_size == 0
    return empty and bool(pages) and all(page in (sorted(page), sorted(page)[::-1]) for page in pages)


def has_tidied(writer: Writer) -> bool:
    return not writer._untidy


def test_a_writer_tidies_when_nobody_writes_and_at_its_end(tmp_path: Path) -> None:
    files = []
    for number, order in enumerate(orders()):
        path = tmp_path / str(number)
        with filled(path, []), Writer(partial(SqliteStore.open, path), tidy_after=0.01) as writer:
            for person in order:
                writer.submit([PEOPLE[person]]).result()
            until(partial(has_tidied, writer))
            assert is_tidy(path)
            files.append(path.read_bytes())
    for number, order in enumerate(orders()[:2]):
        path = tmp_path / f"{number}.ended"
        filled(path, []).close()
        with Writer(partial(SqliteStore.open, path), tidy_after=1e6) as writer:
            for person in order:
                writer.submit([PEOPLE[person]]).result()
        files.append(path.read_bytes())
    assert files == [files[0]] * 5


def test_tidying_waits_for_nobody_who_reads(tmp_path: Path) -> None:
    """A backup reads what is in the log: writers go on, and tidy up when it is done."""
    with filled(tmp_path / "store", range(20)) as store, SqliteStore.open(tmp_path / "store") as reader:
        with reader._snapshot():
            assert len(list(reader.entries())) == 20
            store.take(PEOPLE[20:30])
            assert not store.tidy()
            assert len(list(reader.entries())) == 20
        assert store.tidy()
        assert is_tidy(tmp_path / "store")
        assert len(list(reader.entries())) == 30


def test_a_group_that_is_written_together_has_no_order_even_before(tmp_path: Path) -> None:
    files = []
    for number, order in enumerate(orders()):
        with filled(tmp_path / str(number), []) as store:
            store.take([PEOPLE[person] for person in order])
            store.truncate_log()
            files.append((tmp_path / str(number)).read_bytes())
    assert files == [files[0]] * 3


def test_what_is_deleted_is_gone_from_file_and_log(tmp_path: Path) -> None:
    path = tmp_path / "store"
    entry = Entry(b"this id is known", b"this content is known")
    with filled(path, range(50)) as store:
        store.take([entry])
        assert any(entry.content in file.read_bytes() for file in tmp_path.iterdir())
        store.delete([entry.id], lambda content: {})
        for file in tmp_path.iterdir():
            assert entry.content not in file.read_bytes()
            assert entry.id not in file.read_bytes()


def test_tokens_say_who_answered_and_not_what(tmp_path: Path) -> None:
    """No token is in the file; with all of them in hand, two ways of handing them out still leave one and the same."""
    files = []
    for shift in (0, 1):
        path = tmp_path / str(shift)
        store = filled(path, [])
        for person, entry in enumerate(PEOPLE):
            store.take([entry._replace(token=PEOPLE[person - shift].token)])
        store.tidy()
        store.close()
        files.append(path.read_bytes())
    assert files[0] == files[1]
    assert not any(token in files[0] for token in TOKENS)


def test_spending_a_token_moves_nothing(tmp_path: Path) -> None:
    """Tokens are rows of one length, spent or not: their pages keep every row where it was."""
    places = []
    for n in (0, N // 2, N):
        path = tmp_path / str(n)
        with filled(path, range(n)) as store:
            store.tidy()
        data = path.read_bytes()
        places.append([data.find(token_hash(token, SALT)) % PAGE for token in TOKENS])
    assert places == [places[0]] * 3
