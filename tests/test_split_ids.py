"""Files that are split by id: ids are compared part by part, and no report counts twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import Tally, Warner, load, save
from askance.errors import FormatError, IncompatibleEvidenceError, InputError
from askance.evidence import pool
from askance.evidence.sources import NO_SOURCES, Sources
from askance.formats import aggregate, aggregation, report_writer, write_reports
from askance.formats.container import pack, unpack
from askance.formats.report_ids import Ids, SeenIds
from askance.formats.reports import split_names

from .report_examples import both_formats
from .test_cli import assert_one_line, call, parsed

WARNER = Warner("2/3")
IDS = [f"device {i}" for i in range(60)]
ANSWERS = ["yes" if i % 3 else "no" for i in range(60)]
TWICE = "would count twice"


def write_split(path: Path, of: int, rows: slice = slice(None)) -> list[Path]:
    with report_writer(path, WARNER, ids=True, split=of) as writer:
        writer.write(ANSWERS[rows], IDS[rows])
    return split_names(path, of)


@both_formats
def test_parts_are_by_the_id_alone(suffix: str, tmp_path: Path) -> None:
    """The published rule: the first eight bytes of the digest, lowest first, modulo the number of parts."""
    names = write_split(tmp_path / f"a.{suffix}", 4)
    digests = [int.from_bytes(row.tobytes()[:8], "little") for row in Ids.of(IDS).digests.astype("<u8")]
    counts = np.bincount([digest % 4 for digest in digests], minlength=4).tolist()
    assert [aggregate(name).evidence.n_observations for name in names] == counts
    assert Ids.of(["b7"]).digests.astype("<u8").tobytes().hex() == "29555daf414fbe2b22ad17c438e0c069"
    assert min(counts) > 0


@both_formats
def test_all_parts_in_one_call(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = write_split(tmp_path / f"a.{suffix}", 4)
    names += write_split(tmp_path / f"b.{suffix}", 4, slice(20, 40))  # sent again
    plain = aggregate(names, skip_bad=True)
    most = 0

    class Counted(SeenIds):
        """How many ids are remembered at once."""

        def repeated(self, ids: Ids) -> Any:
            nonlocal most
            repeated = super().repeated(ids)
            most = max(most, len(self._few))
            return repeated

    monkeypatch.setattr(aggregation, "SeenIds", Counted)
    for order in (names, names[::-1]):
        found = aggregate(order, skip_bad=True, split=4)
        assert found.evidence == plain.evidence == Tally(WARNER).add(ANSWERS)
        assert found.refused == plain.refused == {"duplicate id": 20}
        assert found.evidence.sources == plain.evidence.sources  # nothing is open: any state goes with it
    assert most == max(np.bincount(Ids.of(IDS).parts(4)))
    with pytest.raises(FormatError, match="was seen before"):
        aggregate(names, split=4)


def test_parts_in_calls_of_their_own(tmp_path: Path) -> None:
    names = [*zip(write_split(tmp_path / "a.jsonl", 3), write_split(tmp_path / "b.parquet", 3, slice(30)), strict=True)]
    states = []
    for part, files in enumerate(names):
        states.append(str(tmp_path / f"{part}.state"))
        told = parsed(
            call("aggregate", *map(str, files), "--split", f"{part}/3", "--skip-bad", "-o", states[-1], "--json")
        )
        assert told["refused"]["duplicate id"] > 0
    parts: list[Any] = list(map(load, states))
    assert [part.sources.id_parts for part in parts] == [frozenset({(part, 3)}) for part in range(3)]
    assert sum(parts) == Tally(WARNER).add(ANSWERS)
    assert call("aggregate", *states, "-o", str(tmp_path / "all.state")).code == 0
    whole: Any = load(tmp_path / "all.state")
    assert whole.sources.id_parts == frozenset()
    save(sum(parts[::-1]), tmp_path / "again.state")
    assert (tmp_path / "again.state").read_bytes() == (tmp_path / "all.state").read_bytes()
    # A whole goes with any other day; a part with nothing but the other parts of its own.
    assert (whole + Tally(WARNER, [1, 1])).n_observations == 62
    other = Tally(WARNER, [3, 1], sources=Sources(id_parts=frozenset({(0, 3)})))
    for alien in (other, Tally(WARNER, [1, 1]), Tally(WARNER, [1, 1], sources=Sources(id_parts=frozenset({(1, 2)})))):
        for join in (lambda one, two: one + two, lambda one, two: two + one, lambda one, two: pool([one, two])):
            with pytest.raises(IncompatibleEvidenceError, match=TWICE):
                join(parts[0], alien)
        save(alien, tmp_path / "alien.state")
        for command in (("aggregate", "-o", str(tmp_path / "x.state")), ("estimate",)):
            outcome = call(command[0], states[0], str(tmp_path / "alien.state"), *command[1:])
            assert_one_line(outcome, (states[0], "alien.state", TWICE))
    assert (Tally(WARNER) + parts[0]).sources == (parts[0] + Tally(WARNER)).sources == parts[0].sources


def test_forgotten_ids_stay_safe(tmp_path: Path) -> None:
    """What is forgotten after a part cannot come again: not in another part, a state or a late file."""
    names = write_split(tmp_path / "a.jsonl", 2)
    late = write_split(tmp_path / "late.jsonl", 2, slice(10))
    mixed = tmp_path / "mixed.jsonl"
    write_reports(mixed, ANSWERS, channel=WARNER, ids=IDS)
    with pytest.raises(FormatError, match=r"its id 'device \d+' is of part (0|1) of 2; allowed: (0|1)"):
        aggregate(mixed, split=2)
    first = int(Ids.of(IDS[:1]).parts(2)[0])
    found = aggregate(mixed, split=2, skip_bad=True)
    assert found.refused == {"malformed": int((Ids.of(IDS).parts(2) != first).sum())}
    with pytest.raises(FormatError, match="is of part"):
        aggregate(names[0], split=(1, 2))
    save(aggregate(names[0], split=(0, 2)).evidence, tmp_path / "0.state")
    for split in (None, 2, (0, 2)):
        with pytest.raises(IncompatibleEvidenceError, match=TWICE):
            aggregate([tmp_path / "0.state", late[0]], split=split)
        with pytest.raises(IncompatibleEvidenceError, match=TWICE):
            aggregate([late[0], tmp_path / "0.state"], split=split)
    both = aggregate([tmp_path / "0.state", names[1]], split=(1, 2)).evidence
    assert both == Tally(WARNER).add(ANSWERS)
    assert both.sources.id_parts == frozenset()


def test_reports_without_ids_are_of_any_part(tmp_path: Path) -> None:
    with report_writer(tmp_path / "a.parquet", WARNER, ids=True, split=2) as writer:
        writer.write(["yes", "no"])
        writer.write(["yes"], [None])
    names = split_names(tmp_path / "a.parquet", 2)
    assert aggregate(names, split=2).evidence == Tally(WARNER, [1, 2])
    states = [aggregate(name, split=(part, 2)).evidence for part, name in enumerate(names)]
    assert sum(states).sources.id_parts == frozenset()  # type: ignore[union-attr]


def test_splits_that_cannot_be(tmp_path: Path) -> None:
    (name,) = write_split(tmp_path / "a.jsonl", 1)
    assert aggregate(name, split=1).evidence.n_observations == aggregate(name, split=(0, 1)).evidence.n_observations
    for split in (0, (2, 2), (-1, 2), (0, 1 << 17), (0, 1, 2), "3"):
        with pytest.raises(InputError, match="split"):
            aggregate(name, split=split)  # type: ignore[arg-type]
    assert_one_line(call("aggregate", str(name), "--split", "a/2", "-o", "x.state"), ("--split", "K/N"))
    if Path("/dev/stdin").exists():
        with pytest.raises(InputError, match="only once"):
            aggregation.part_of(Path("/dev/null"), 2)


@pytest.mark.parametrize(
    "change",
    [
        *({"id_parts": [[3, 3]]}, {"id_parts": [[0, 1]]}, {"id_parts": "no"}, {"id_parts": [[0, 2], [0, 3]]}, {}),
        *({"row_groups": 7}, {"row_groups": [["00" * 16, 0, 1]]}, {"row_groups": [["00", 0, 2]]}),
        {"row_groups": [["zz" * 16, 0, 2]]},
    ],
)
def test_forged_parts(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    known = Sources(frozenset({b"0" * 16}), frozenset({(b"1" * 16, 0, 2)}), frozenset({(0, 2)}))
    save(Tally(WARNER, [3, 4], sources=known), path)
    assert load(path).sources == known  # type: ignore[union-attr]
    header, payload = unpack(path.read_bytes(), "a")
    assert header["askance"] == "tally/3"
    kept = {key: value for key, value in header.items() if key not in ("payload_bytes", "sha256")}
    path.write_bytes(pack(kept | (change or {"id_parts": [], "row_groups": []}), payload))
    with pytest.raises(FormatError, match=r"a\.state"):
        load(path)


def test_split_on_the_command_line(tmp_path: Path) -> None:
    people, output = tmp_path / "people.csv", tmp_path / "r.parquet"
    people.write_text("id,smokes\n" + "".join(f"{id},{answer}\n" for id, answer in zip(IDS, ANSWERS, strict=True)))
    noise = ("randomize", "warner", "--question", "2/3", "--input", str(people), "-o", str(output), "--split", "3")
    assert_one_line(call(*noise, "--columns", "smokes"), ("--split", "--id-column"))
    assert "r.0-of-3.parquet and 2 more" in call(*noise, "--id-column", "id").out
    assert not output.exists()
    told = parsed(call("aggregate", f"{tmp_path}/r.*.parquet", "--split", "3", "-o", str(tmp_path / "s"), "--json"))
    assert (told["reports"], told["sources"]) == (60, 3)
    assert_one_line(call(*noise, "--id-column", "id"), ("r.0-of-3.parquet", "there already"))
    assert load(tmp_path / "s").sources != NO_SOURCES  # type: ignore[union-attr]
