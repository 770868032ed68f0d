"""The harness of the benchmarks on a tiny comparison of its own; no peer is needed."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from benchmarks.command import main
from benchmarks.comparisons import discover
from benchmarks.harness import timing, tiny
from benchmarks.harness.comparison import Case, Reading, Sizes, Target, Throughput, no_warm_up
from benchmarks.harness.figures import Figures, flat, keep, kept, section
from benchmarks.harness.page import render
from benchmarks.harness.progress import Progress
from benchmarks.harness.results import Failure, Origin, Record, Row
from benchmarks.harness.session import HOME, Session
from benchmarks.harness.store import Store, StoreError
from benchmarks.harness.tiny import COMPARISON
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

MODULE = tiny.__name__
FOUND = {"tiny": (MODULE, COMPARISON)}
ORIGIN = Origin("python -m benchmarks --only tiny", "2026-01-02 03:04 UTC", "a machine", "abc1234", sources_clean=True)


def row(values: tuple[float, ...], *, ours: bool = False, side: str = "peer", size: int = 1) -> Row:
    return Row({"size": size}, "askance" if ours else side, "askance" if ours else "peer", ours, 1, 1, values)


def record(*rows: Row, target: Target | None = None, failures: tuple[Failure, ...] = ()) -> Record:
    versions = {"askance": {"python": "3.12.1"}, "peer": {"python": "3.12.1", "peer-package": "1.2"}}
    return Record("tiny", "things", 3, ORIGIN, 1.5, target, list(rows), list(failures), versions)


# -- a whole sitting ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sitting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Session, Record]:
    session = Session(FOUND, tmp_path_factory.mktemp("benchmarks"))
    with Progress() as progress:
        (measured,) = session.measure(["tiny"], 3, progress)
    return session, measured


def test_readings_come_through_unchanged(sitting: tuple[Session, Record]) -> None:
    _, measured = sitting
    assert [(r.case, r.side, r.values) for r in measured.rows] == [
        ({"size": 1}, "askance", tiny.OURS),
        ({"size": 2}, "askance", tiny.OURS),
        ({"size": 2}, "other", tiny.OTHERS),
    ]
    assert measured.repetitions == 3
    assert measured.seconds > 0
    assert measured.versions["askance"]["askance"]
    assert measured.origin.command == "python -m benchmarks --only tiny --repetitions 3"


def test_who_fails_is_left_out_and_named(sitting: tuple[Session, Record]) -> None:
    session, measured = sitting
    (failure,) = measured.failures
    assert failure.side == "failing"
    assert "WrongResultError: the result is 7" in failure.message
    page = (session.folder / "RESULTS.md").read_text(encoding="utf-8")
    assert "- **not measured**: failing: size = 1:" in page
    assert "the result is 7" in page


def test_it_is_stored_and_rendered_at_once(sitting: tuple[Session, Record]) -> None:
    session, measured = sitting
    assert session.store.load("tiny") == measured
    page = (session.folder / "RESULTS.md").read_text(encoding="utf-8")
    assert page == render(session.comparisons, session.store.load_all())
    assert "Is it tiny?" in page
    assert "Not measured yet" not in page


def test_what_is_stored_is_not_missing(sitting: tuple[Session, Record]) -> None:
    session, _ = sitting
    both = Session({**FOUND, "small": (MODULE, replace(COMPARISON, name="small"))}, session.folder)
    assert both.chosen(missing=True) == ["small"]
    assert both.chosen(["tiny"], missing=True) == []
    assert both.chosen() == ["small", "tiny"]  # what took no time, or is not known, comes first
    assert "## Not measured yet" in render(both.comparisons, both.store.load_all())


class Impatient(Progress):
    """Somebody presses Ctrl-C as soon as the second comparison says something."""

    def say(self, text: str) -> None:
        if text.startswith("small"):
            raise KeyboardInterrupt


def test_an_interrupted_run_keeps_what_was_finished(tmp_path: Path) -> None:
    short = replace(COMPARISON, peers=(), cases=({"size": 1},))
    session = Session({"tiny": (MODULE, short), "small": (MODULE, replace(short, name="small"))}, tmp_path)
    with pytest.raises(KeyboardInterrupt), Impatient() as progress:
        session.measure(["tiny", "small"], 3, progress)
    assert session.store.names() == ["tiny"]
    assert session.chosen(missing=True) == ["small"]


def test_missing_data_leave_the_stored_result_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKANCE_DATA", str(tmp_path))
    session = Session({"tiny": (MODULE, replace(COMPARISON, data=("nowhere.csv.gz",)))}, tmp_path)
    session.store.save(record(row((1.0,), ours=True)))
    with Progress() as progress:
        assert session.measure(["tiny"], 3, progress) == []
    assert session.skipped == ["tiny"]
    assert session.store.load("tiny") == record(row((1.0,), ours=True))


# -- the store ---------------------------------------------------------------------------------------------------------

numbers = st.floats(allow_nan=False, allow_infinity=False)
values = st.lists(numbers, min_size=3, max_size=5).map(tuple)
cases = st.dictionaries(st.text(), st.integers() | st.text())
rows = st.builds(Row, cases, st.text(), st.text(), st.booleans(), st.integers(), st.integers(), values)
records = st.builds(
    Record,
    st.just("tiny"),
    st.text(),
    st.integers(3, 9),
    st.builds(Origin, st.text(), st.text(), st.text(), st.text(), st.none() | st.booleans()),
    numbers,
    st.none() | st.builds(Target, numbers, st.booleans()),
    st.lists(rows, max_size=4),
    st.lists(st.builds(Failure, st.text(), st.text()), max_size=2),
    st.dictionaries(st.text(), st.dictionaries(st.text(), st.text())),
)


@settings(max_examples=40)
@given(records)
def test_a_record_comes_back_from_the_store(tmp_path_factory: pytest.TempPathFactory, kept: Record) -> None:
    store = Store(tmp_path_factory.getbasetemp() / "round-trip")
    store.save(kept)
    assert store.load("tiny") == kept
    assert store.names() == ["tiny"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, old = Store(tmp_path), record(row((1.0, 2.0, 3.0), ours=True))
    store.save(old)

    def interrupt(source: object, target: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.save(record(row((4.0, 5.0, 6.0), ours=True)))
    assert store.load("tiny") == old
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "another"}', '{"format": "askance benchmark 1"}'])
def test_a_damaged_file_is_named_with_the_way_out(tmp_path: Path, text: str) -> None:
    (tmp_path / "tiny.json").write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match=r"tiny\.json is no result .* --only tiny"):
        Store(tmp_path).load("tiny")


def test_the_way_out_of_a_damaged_file_works(tmp_path: Path) -> None:
    short = replace(COMPARISON, peers=(), cases=({"size": 1},))
    session = Session({"tiny": (MODULE, short)}, tmp_path)
    session.store.folder.mkdir()
    (session.store.folder / "tiny.json").write_text("{}", encoding="utf-8")
    outcome = CliRunner().invoke(main, ["--render", "--out", str(tmp_path)])
    assert outcome.exit_code == 1
    assert "Measure again: python -m benchmarks --only tiny" in outcome.output
    assert session.chosen(missing=True) == session.chosen(["tiny"]) == ["tiny"]
    with Progress() as progress:
        (measured,) = session.measure(["tiny"], 3, progress)
    assert session.store.load("tiny") == measured


# -- figures -----------------------------------------------------------------------------------------------------------


def test_ratios_are_of_one_repetition_and_their_median_is_shown() -> None:
    mine, theirs = row((6.0, 8.0, 12.0), ours=True), row((3.0, 2.0, 4.0))
    kept = record(mine, theirs)
    assert mine.value == 8.0
    assert kept.gains(COMPARISON, theirs) == (2.0, 4.0, 3.0)
    assert kept.gains(COMPARISON, mine) == ()
    assert "× 3 (2–4)" in render({"tiny": COMPARISON}, {"tiny": kept})


def test_small_values_may_be_good_and_differences_may_be_taken() -> None:
    mine, theirs = row((6.0, 8.0, 12.0), ours=True), row((3.0, 2.0, 3.0))
    kept = record(mine, theirs)
    assert kept.gains(replace(COMPARISON, better="less"), theirs) == (0.5, 0.25, 0.25)
    assert kept.gains(replace(COMPARISON, by_difference=True), theirs) == (3.0, 6.0, 9.0)
    assert kept.gains(replace(COMPARISON, by_difference=True, better="less"), theirs) == (-3.0, -6.0, -9.0)


positive = st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=3).map(tuple)


@given(positive, positive)
def test_the_gain_of_one_is_the_loss_of_the_other(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    gain = record(row(a, ours=True), row(b)).gains(COMPARISON, row(b))
    loss = record(row(b, ours=True), row(a)).gains(COMPARISON, row(a))
    assert median(gain) == pytest.approx(1 / median(loss))


def summary(*rows_: Row, target: Target | None = None, failures: tuple[Failure, ...] = ()) -> list[str]:
    page = render({"tiny": COMPARISON}, {"tiny": record(*rows_, target=target, failures=failures)})
    part = page.partition("## Summary")[2].partition("\n## Where")[0]
    return [line for line in part.splitlines() if line.startswith("| ") and "---" not in line][1:]


def test_the_summary_names_peer_version_and_verdict() -> None:
    mine = row((4.0, 4.0, 4.0), ours=True)
    assert summary(mine, row((1.0, 2.0, 1.0))) == [
        "| Is it tiny? ([tiny](#tiny)) | peer-package 1.2 | × 4 (2–4) | ahead |"
    ]
    assert summary(mine, row((8.0, 8.0, 5.0)))[0].endswith("| × 0.5 (0.5–0.8) | **behind** |")
    assert summary(mine, row((2.0, 8.0, 2.0)))[0].endswith("| × 2 (0.5–2) | even |")


def test_the_summary_takes_the_best_use_of_a_peer_in_each_case() -> None:
    lines = summary(
        row((4.0, 4.0, 4.0), ours=True),
        row((1.0, 1.0, 1.0), side="loop"),
        row((5.0, 5.0, 5.0), side="batch"),
        row((6.0, 6.0, 6.0), ours=True, size=2),
        row((1.0, 1.0, 1.0), side="loop", size=2),
    )
    assert lines[0].endswith("| × 3.4 (0.8–6) | ahead in 1 of 2 cases; **behind** in 1 of 2 cases (size = 1) |")


def test_losses_are_stated_plainly() -> None:
    kept = record(row((4.0,) * 3, ours=True), row((5.0,) * 3), target=Target(7.0, at_least=True))
    page = render({"tiny": COMPARISON}, {"tiny": kept})
    part = page.partition("## Where askance is behind")[2].partition("\n## ")[0]
    assert "- [tiny](#tiny), size = 1: peer, × 0.8 (0.8–0.8)\n" in part
    assert "- [tiny](#tiny), size = 1: 4 things, wanted ≥ 7 things\n" in part
    assert "MISSED" in page
    won = render({"tiny": COMPARISON}, {"tiny": record(row((4.0,) * 3, ours=True), row((1.0,) * 3))})
    assert "Nowhere in what was measured." in won


def test_a_failure_of_ours_is_no_victory() -> None:
    (line,) = summary(row((1.0,) * 3), failures=(Failure("askance", "out of memory"),))
    assert line.endswith("| askance |  | **not measured**: out of memory |")


# -- timing ------------------------------------------------------------------------------------------------------------


class Work:
    """Counts its runs, each of which burns a hundredth of a CPU second."""

    def __init__(self, *, warm_up: bool) -> None:
        self.runs, self.warm_ups, self._has_warm_up = 0, 0, warm_up

    def run(self) -> int:
        start = time.process_time()
        while time.process_time() - start < 0.01:
            pass
        self.runs += 1
        return self.runs

    def warm(self) -> None:
        self.warm_ups += 1

    def build(self, case: Case, n: int) -> Throughput:
        return Throughput(self.run, warm_up=self.warm if self._has_warm_up else None)


@pytest.mark.parametrize(("warm_up", "runs"), [(True, 3), (False, 4)])
def test_a_long_sizing_run_is_the_first_repetition(warm_up: bool, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "TARGET_SECONDS", 0.01)
    monkeypatch.setattr(timing, "_LONG_SECONDS", 0.005)
    work = Work(warm_up=warm_up)
    prepared = timing.prepare(work.build, {}, Sizes(1, 1))
    taken = [prepared.take() for _ in range(3)]
    assert (work.runs, work.warm_ups) == (runs, int(warm_up))
    assert all(0 < value <= 100.5 for value in taken)


def test_short_runs_are_repeated_until_they_fill_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "TARGET_SECONDS", 0.05)
    prepared = timing.prepare(Work(warm_up=False).build, {}, Sizes(1, 1))
    assert prepared.first is None
    assert 2 <= prepared.calls <= 5


def test_a_reading_is_read_once_before_it_counts_unless_it_says_otherwise() -> None:
    for given_up, first in ((None, 2.0), (no_warm_up, 1.0)):
        counter = iter((1.0, 2.0))
        reading = Reading(lambda source=counter: next(source), given_up)  # type: ignore[misc]
        assert timing.prepare(lambda case, n, found=reading: found, {}, Sizes()).take() == first  # type: ignore[misc]


# -- what is committed -------------------------------------------------------------------------------------------------


def test_the_committed_page_is_what_the_committed_results_give() -> None:
    comparisons = {name: comparison for name, (_, comparison) in discover().items()}
    page = render(comparisons, Store().load_all(), section(kept(HOME)))
    assert (HOME / "RESULTS.md").read_text(encoding="utf-8") == page, "run python -m benchmarks --render"


def test_every_committed_result_belongs_to_a_comparison() -> None:
    assert set(Store().names()) <= set(discover())


def test_questions_are_asked_once_and_in_words() -> None:
    questions = [comparison.question for _, comparison in discover().values()]
    assert len(set(questions)) == len(questions)
    assert all("?" in question for question in questions)


def test_the_command_renders_without_measuring(tmp_path: Path) -> None:
    Store(tmp_path / "results").save(replace(record(row((1.0,) * 3, ours=True)), name="tally"))
    result = CliRunner().invoke(main, ["--render", "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0
    assert "### tally" in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "results" / "tally.json").read_text(encoding="utf-8"))["seconds"] == 1.5


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    result = CliRunner().invoke(main, ["--only", "nothing"])
    assert result.exit_code == 2
    assert "'nothing' is none of" in result.output
    assert "chain-training" in result.output


def test_figures_of_programs_are_kept_and_shown(tmp_path: Path) -> None:
    """Parts of a figure are rows; those that miss a column leave it empty."""
    figure = {
        "reports": 5,
        "here": {"driver": 12_345.6, "wall": 0.123456},
        "Dask": {"wall": 1.5, "equal": True, "told": ["a", "b"]},
    }
    rows = [*flat("aggregate", figure), *flat("start", 2.0), *flat("a task", [0.1, 0.2])]
    figures = Figures("engines", "What?", Origin("python -m x", "today", "here", "abc", True), 3.0, rows)
    keep(figures, tmp_path)
    assert kept(tmp_path) == [figures]
    lines = section(kept(tmp_path))
    assert "| what | reports | side | driver | wall | equal | told | value |" in lines
    assert "| aggregate |  | here | 12,346 | 0.1235 |  |  |  |" in lines
    assert "| aggregate |  | Dask |  | 1.5 | True | a, b |  |" in lines
    assert "| start |  |  |  |  |  |  | 2 |" in lines
    assert section([]) == []
