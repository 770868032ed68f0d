"""No file of reports counts twice: states remember which they were made from."""

from __future__ import annotations

import gzip
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import PerValue, RandomizedResponse, Tally, Warner, load, save
from askance.errors import FormatError, IncompatibleEvidenceError
from askance.evidence import pool
from askance.evidence.sources import NO_SOURCES, Sources
from askance.formats import aggregate, source_digests, write_reports
from askance.formats.container import pack, unpack
from askance.formats.report_ids import Ids
from askance.formats.report_schema import Block, ReportSchema
from askance.formats.source_digests import SourceDigest

from .golden.contents import FOLDER, golden_reports
from .report_examples import SUFFIXES, both_formats
from .test_cli import assert_one_line, call, parsed

WARNER = Warner("2/3")
ANSWERS = ["yes", "no", "no", "yes", "yes", "no", "yes"]
TWICE = "would count twice"


def bits(n: int) -> Any:
    channel = PerValue(3, 2)
    return channel.simulate(np.eye(3)[np.arange(n) % 3], np.random.default_rng(n))


def write_some(path: Path, n: int = 7, ids: list[str | None] | None = None) -> str:
    write_reports(path, ANSWERS[:n], channel=WARNER, ids=ids)
    return str(path)


# -- files -------------------------------------------------------------------------------------------------------------


@both_formats
def test_a_file_is_added_to_a_state_once(suffix: str, tmp_path: Path) -> None:
    reports, state = tmp_path / f"r.{suffix}", tmp_path / "day.state"
    write_reports(tmp_path / "other.jsonl", bits(5))
    write_reports(reports, bits(9))
    parsed(call("aggregate", str(tmp_path / "other.jsonl"), "-o", str(state), "--json"))
    told = parsed(call("aggregate", str(state), str(reports), "-o", str(state), "--json"))
    assert (told["reports"], told["sources"]) == (14, 2)
    before = state.read_bytes()
    for paths in ((state, reports), (reports, state)):
        outcome = call("aggregate", *map(str, paths), "-o", str(state))
        assert_one_line(outcome, (str(reports), str(state), TWICE))
        assert_one_line(call("aggregate", *map(str, paths), "-o", str(state), "--skip-bad"), (TWICE,))
    assert state.read_bytes() == before


def test_copies_are_known_however_they_are_written(tmp_path: Path) -> None:
    ids = [f"né {i}" if i % 3 else None for i in range(7)]
    state = tmp_path / "day.state"
    save(aggregate(write_some(tmp_path / "a.jsonl", 7, ids)).evidence, state)
    data = (tmp_path / "a.jsonl").read_bytes()
    copies = {
        "a.jsonl.gz": gzip.compress(data),
        "crlf.jsonl": data.replace(b"\n", b"\r\n"),
        "blanks.jsonl": data.replace(b",", b" , "),
        "again.jsonl": data,
        "headers.jsonl": data + data.split(b"\n")[0] + b"\n",
    }
    for name, content in copies.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(IncompatibleEvidenceError, match=TWICE):
            aggregate([state, tmp_path / name])
    write_some(tmp_path / "a.parquet", 7, ids)
    with pytest.raises(IncompatibleEvidenceError, match=TWICE):
        aggregate([state, tmp_path / "a.parquet"])
    others = {"fewer": (6, ids[:6]), "no ids": (7, None), "shifted ids": (7, [*ids[1:], None])}
    for name, (n, some) in others.items():
        assert aggregate([state, write_some(tmp_path / f"{name}.jsonl", n, some)]).evidence.n_observations == 7 + n


def test_copies_within_one_call(tmp_path: Path) -> None:
    one, other = (write_some(tmp_path / f"{name}.jsonl") for name in "ab")
    with pytest.raises(IncompatibleEvidenceError, match=TWICE) as caught:
        aggregate([one, other])
    assert one in str(caught.value)
    assert other in str(caught.value)
    # What ids keep from counting twice needs no refusal of the file.
    ids: list[str | None] = [str(i) for i in range(7)]
    named = [write_some(tmp_path / f"{name}.jsonl", 7, ids) for name in "cd"]
    found = aggregate(named, skip_bad=True)
    assert (found.evidence.n_observations, found.refused) == (7, {"duplicate id": 7})
    assert len(found.evidence.sources) == 1


def test_short_files_in_one_file(tmp_path: Path) -> None:
    """The way out that the refusal names."""
    one, other = (write_some(tmp_path / f"{name}.jsonl", 1) for name in "ab")
    with pytest.raises(IncompatibleEvidenceError, match="into one larger file"):
        aggregate([one, other])
    (tmp_path / "both.jsonl").write_bytes(Path(one).read_bytes() + Path(other).read_bytes())
    assert aggregate(tmp_path / "both.jsonl").evidence.n_observations == 2


def test_files_without_reports_are_no_sources(tmp_path: Path) -> None:
    paths = [write_some(tmp_path / f"{i}.jsonl", 0) for i in range(2)]
    assert aggregate(paths).evidence.sources == NO_SOURCES


#: Of golden files: somebody's states hold such digests.
DIGESTS = {
    "per_value": "d86a279424f11d923f8850a25c107d17",
    "coordinate_release": "80a9da2d4efa795aed0f0c89efee0ee3",
    "forced_response": "13c5a31d56f20c823d69e216d9bbe7e1",
    "randomized_response": "a20ae48dfa962888a421bff02eb2b14a",
    "strange_labels": "6853d9999597ef54340d260fa8521a4f",
    "named": "30f7afd59df3c0ea28f3f4080768d36d",
}


@pytest.mark.parametrize("name", list(golden_reports()))
def test_golden_digests(name: str) -> None:
    for suffix in SUFFIXES:
        (digest,) = aggregate(FOLDER / f"{name}.{suffix}").evidence.sources.files
        assert digest.hex() == DIGESTS[name]


def digest_of(n: int, cuts: list[int], *, changed: int | None = None, ids: bool = True) -> bytes:
    """Of n reports about two labels, cut into blocks; every third of the last ones has an id."""
    schema = ReportSchema(RandomizedResponse("1/2", outputs=2))
    codes = np.random.default_rng(5).integers(0, 2, n)
    if changed is not None:
        codes[changed] ^= 1
    names = [f"person {i}" if ids and i > n // 2 and i % 3 == 0 else None for i in range(n)]
    digest = SourceDigest()
    for low, high in pairwise([0, *cuts, n]):
        own = names[low:high]
        some = Ids.of(own) if any(own) else None
        digest.add(Block(schema, {"answer": codes[low:high]}, some, np.arange(low, high)))
    return digest.digest()


def test_digests_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_digests, "HASHED", 20)
    whole = digest_of(60, [])
    for cuts in ([1], [20], [7, 21, 22], [30, 31, 32, 59], list(range(1, 60))):
        assert digest_of(60, cuts) == whole
    assert len({digest_of(60, [], changed=place) for place in range(60)} - {whole}) == 20
    assert digest_of(60, [], changed=20) == whole  # of those behind, their number tells
    assert digest_of(59, []) != whole
    monkeypatch.setattr(source_digests, "HASHED", 40)
    assert digest_of(60, []) != digest_of(60, [], ids=False)


def test_a_file_of_duplicates_is_remembered(tmp_path: Path) -> None:
    """All its reports were left out in this call; in the next, nothing else would know them."""
    monday = write_some(tmp_path / "monday.jsonl", 5, [str(i) for i in range(5)])
    again = write_some(tmp_path / "again.jsonl", 3, [str(i) for i in range(3)])
    both = aggregate([monday, again], skip_bad=True)
    assert both.evidence.n_observations == 5
    save(both.evidence, tmp_path / "monday.state")
    with pytest.raises(IncompatibleEvidenceError, match=TWICE):
        aggregate([tmp_path / "monday.state", again])


# -- states ------------------------------------------------------------------------------------------------------------


def test_states_that_share_a_file(tmp_path: Path) -> None:
    for day, n in (("monday", 4), ("tuesday", 5), ("wednesday", 6)):
        save(aggregate(write_some(tmp_path / f"{day}.jsonl", n)).evidence, tmp_path / f"{day}.state")
    monday, tuesday, wednesday, week = (
        str(tmp_path / f"{name}.state") for name in ("monday", "tuesday", "wednesday", "week")
    )
    assert call("aggregate", monday, tuesday, "-o", week).code == 0
    assert_one_line(call("aggregate", week, tuesday, "-o", week), (week, tuesday, TWICE))
    assert_one_line(call("estimate", week, tuesday), (week, tuesday, TWICE))
    assert call("aggregate", week, wednesday, "-o", week).code == 0
    assert load(week).n_observations == 15
    for join in (lambda one, other: one + other, lambda one, other: pool([one, other])):
        with pytest.raises(IncompatibleEvidenceError, match="reports of 1 file, which would count twice"):
            join(load(week), load(monday))
    again: Any = load(monday)
    with pytest.raises(IncompatibleEvidenceError, match=TWICE):
        again.add(["yes"]) + again
    both = again.sources.joined(load(wednesday).sources)  # type: ignore[union-attr]
    assert (again + load(wednesday)).sources == both


def test_pooled_tallies_remember_their_files(tmp_path: Path) -> None:
    other = RandomizedResponse("1/2", outputs=["no", "yes"])
    write_reports(tmp_path / "b.jsonl", ANSWERS, channel=other)  # the same answers, of other people
    one, two = (aggregate(path).evidence for path in (write_some(tmp_path / "a.jsonl"), tmp_path / "b.jsonl"))
    assert isinstance(one, Tally)
    assert isinstance(two, Tally)
    both = pool([one, two])
    assert both.sources == one.sources.joined(two.sources)
    assert len(both.sources) == 2
    with pytest.raises(IncompatibleEvidenceError, match=TWICE):
        pool([both, one])


def test_what_a_state_is_written_as(tmp_path: Path) -> None:
    path, channel = tmp_path / "a.state", PerValue(3, 2)
    known, unknown = Sources(frozenset({b"0" * 16, b"1" * 16})), NO_SOURCES
    for evidence, formats in (
        (lambda sources: Tally(WARNER, [3, 4], sources=sources), ("tally/1", "tally/2")),
        (lambda sources: Tally(channel, [1, 2, 3], 5, sources=sources), ("statistics/1", "statistics/2")),
    ):
        for sources, version in zip((unknown, known), formats, strict=True):
            save(evidence(sources), path)
            assert unpack(path.read_bytes(), "a")[0]["askance"] == version
            again: Any = load(path)
            assert again == evidence(unknown) == evidence(known)  # the value is what was counted
            assert again.sources == sources


def test_a_state_of_many_files(tmp_path: Path) -> None:
    many = Sources(frozenset(i.to_bytes(16, "big") for i in range(10_000)))
    save(Tally(WARNER, [3, 4], sources=many), tmp_path / "a.state")
    assert (tmp_path / "a.state").stat().st_size < 10_000 * 16 + 1_000
    assert load(tmp_path / "a.state").sources == many  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["named.tally", "named.statistics"])
@pytest.mark.parametrize("change", ["none", "fewer", "more", "too many", "negative", "text", "twice", "unordered"])
def test_forged_sources(name: str, change: str, tmp_path: Path) -> None:
    header, payload = unpack((FOLDER / name).read_bytes(), "original")
    kept = {key: value for key, value in header.items() if key not in ("payload_bytes", "sha256")}
    sources: Any = {"none": 0, "fewer": header["sources"] - 1, "more": header["sources"] + 1, "too many": 10**9}
    sources |= {"negative": -1, "text": "2"}
    ends = {"twice": [payload[-16:]], "unordered": [b"\xff" * 16, b"\0" * 16]}
    kept["sources"] = header["sources"] + len(ends[change]) if change in ends else sources[change]
    path = tmp_path / "a.state"
    path.write_bytes(pack(kept, b"".join([payload, *ends.get(change, [])])))
    with pytest.raises(FormatError, match=r"a\.state"):
        load(path)


def test_a_state_survives_a_kill_while_it_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, later = tmp_path / "day.state", write_some(tmp_path / "b.jsonl", 5)
    save(aggregate(write_some(tmp_path / "a.jsonl", 4)).evidence, state)
    before = state.read_bytes()

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(os, "replace", killed)
        assert call("aggregate", str(state), later, "-o", str(state)).code != 0
    assert state.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl", "day.state"]
    assert call("aggregate", str(state), later, "-o", str(state)).code == 0  # nothing was counted: it may come again
    assert_one_line(call("aggregate", str(state), later, "-o", str(state)), (TWICE,))
    assert load(state).n_observations == 9
