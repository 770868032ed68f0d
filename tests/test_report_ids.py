"""Ids of reports in arrays: their digests, and the set of those that were met."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance._kernels import digest_table, siphash
from askance.formats import report_ids
from askance.formats.report_ids import Ids, SeenIds

#: Of the authors' test vectors, the digest of the bytes 0, 1, … up to this length.
VECTORS = {
    0: "a3817f04ba25a8e66df67214c7550293",
    1: "da87c1d86b99af44347659119b22fc45",
    7: "a1f1ebbed8dbc153c0b84aa61ff08239",
    8: "3b62a9ba6258f5610f83e264f31497b4",
    15: "5493e99933b0a8117e08ec0f97cfc3d9",
    63: "5150d1772f50834a503e069a973fbd7c",
}
TEXTS = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20), max_size=40)


@pytest.mark.parametrize("compiled", [False, True])
def test_digests_are_those_of_the_authors(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(siphash, "COMPILED_PAYS_FROM", 0 if compiled else 100)
    texts = [bytes(range(length)) for length in VECTORS]
    for shift in range(9):  # wherever a text begins within a word
        ids = Ids.of_bytes([b"x" * shift, *texts])
        found = siphash.digests_of_texts(ids.letters, ids.bounds)[1:]
        assert [row.astype("<u8").tobytes().hex() for row in found] == list(VECTORS.values())


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.data())
def test_ids_are_the_texts_they_were_made_of(texts: list[str | None], data: st.DataObject) -> None:
    for kind in (pa.string(), pa.large_string()):
        array = pa.array([None, *texts], kind)[1:]
        for ids in (Ids.of(texts), Ids.of_arrow(array)):
            assert list(ids) == texts
            assert ids.characters.tolist() == [len(text or "") for text in texts]
            start = data.draw(st.integers(0, len(texts)))
            mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), dtype=bool)
            assert list(ids.take(slice(start, None))) == texts[start:]
            assert list(ids.take(mask)) == [text for text, kept in zip(texts, mask, strict=True) if kept]
            assert bytes(ids.take(slice(start, None))) == "".join(text or "" for text in texts[start:]).encode()
            assert ids.take(mask).digests.tolist() == ids.digests[mask].tolist()


def test_what_stands_below_a_gap_is_no_id() -> None:
    letters, bounds = pa.py_buffer(b"abc"), pa.py_buffer(np.array([0, 1, 2, 3], dtype=np.int32))
    array = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x05"), bounds, letters])
    assert list(Ids.of_arrow(array)) == ["a", None, "c"]


@pytest.mark.parametrize("few", [0, 5, 1000])
@settings(max_examples=30, deadline=None)
@given(blocks=st.lists(st.lists(st.none() | st.integers(1, 40).map(str), max_size=30), max_size=6))
def test_the_set_is_a_set(few: int, blocks: list[list[str | None]]) -> None:
    """Few ids as they are, then digests: repeated is what a set of texts says, in whatever blocks they come."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_ids, "COMPILED_PAYS_FROM", few)
        seen, known = SeenIds(), set[str]()
        for block in blocks:
            seen.expect(len(block))
            expected = []
            for id in block:
                expected.append(id in known)
                known |= {id} if id else set()
            assert seen.repeated(Ids.of(block)).tolist() == expected


def test_the_set_grows() -> None:
    seen, names = SeenIds(), [str(i) for i in range(30_000)]
    for start in range(0, len(names), 5_000):
        assert not seen.repeated(Ids.of(names[start : start + 5_000])).any()
    assert seen.repeated(Ids.of(names[::-1])).all()
    assert not seen.repeated(Ids.of([f"{name}x" for name in names])).any()


def test_an_id_takes_sixteen_bytes_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once there are many, which here are a few thousand."""
    monkeypatch.setattr(report_ids, "_LARGE", 1)
    seen, names = SeenIds(), [str(i) for i in range(60_000)]
    for start in range(0, len(names), 500):
        assert not seen.repeated(Ids.of(names[start : start + 500])).any()
        if start > 8_000:
            assert seen._slots.nbytes <= 16 * (start + 500)
    assert seen.repeated(Ids.of(names)).all()


def test_digests_that_want_one_place() -> None:
    """The end of the array goes on at its beginning, and what is found there is compared in both words."""
    slots, secret = np.zeros((8, 5), dtype=np.uint16), np.uint64(0)
    digests = np.array([[7, i] for i in range(6)], dtype=np.uint64)
    repeated = np.zeros(6, dtype=bool)
    assert digest_table.insert(slots, secret, digests, repeated) == 6
    assert not repeated.any()
    assert digest_table.insert(slots, secret, digests, repeated) == 0
    assert repeated.all()
