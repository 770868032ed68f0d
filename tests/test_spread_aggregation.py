"""Files of reports that an engine adds up: the state of one process, byte by byte."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import RandomizedResponse, load, save
from askance.errors import AskanceWarning, FormatError, IncompatibleEvidenceError, InputError
from askance.formats import Aggregation, RowGroups, aggregate, report_writer, write_reports
from askance.scale import Here
from tests.test_cli import assert_one_line, call
from tests.test_engines import Shuffled

CHANNEL = RandomizedResponse("1/2", outputs=["no", "yes", "never"])
SAID = CHANNEL.simulate(np.random.default_rng(2).choice(["no", "yes", "never"], 3_000), np.random.default_rng(3))

# Where one file ends and the next begins.
DIVISIONS: tuple[tuple[int, ...], ...] = ((), (1,), (1000, 2000), (10, 20, 30, 2990), tuple(range(100, 3000, 100)))


def written(folder: Path, *ends: int) -> list[Path]:
    """Reports without ids up to each of the ends, lines and Parquet in turn."""
    bounds = [0, *ends, len(SAID)]
    paths = []
    for number, (start, stop) in enumerate(pairwise(bounds)):
        paths.append(folder / f"{number}{('.jsonl', '.parquet')[number % 2]}")
        write_reports(paths[-1], SAID[start:stop], channel=CHANNEL)
    return paths


def state_of(added: Aggregation, folder: Path) -> bytes:
    save(added.evidence, folder / "one.state")
    return (folder / "one.state").read_bytes()


@pytest.mark.parametrize("ends", DIVISIONS)
def test_five_divisions_in_any_order_give_the_state_of_one_process(ends: tuple[int, ...], tmp_path: Path) -> None:
    paths = written(tmp_path, *ends)
    here = aggregate(paths)
    for engine in (Shuffled(), Here(threads=2)):
        with engine:
            assert state_of(aggregate(paths[::-1], engine=engine), tmp_path) == state_of(here, tmp_path)
            assert engine.largest_sent <= 16 << 10
    assert here.evidence.counts.tolist() == [
        np.count_nonzero(np.array(label) == SAID) for label in CHANNEL.outputs.labels
    ]


def test_states_and_row_groups_are_parts_too(tmp_path: Path) -> None:
    first, *others = written(tmp_path, 1000, 2000)
    save(aggregate(first).evidence, tmp_path / "first.state")
    with report_writer(tmp_path / "groups.parquet", CHANNEL) as writer:
        for _ in range(3):
            writer.write(SAID[:500])
    parts: list[Any] = [
        tmp_path / "first.state",
        *others,
        *(RowGroups(tmp_path / "groups.parquet", i, i + 1) for i in range(3)),
    ]
    whole = aggregate(parts, engine=Shuffled())
    assert state_of(whole, tmp_path) == state_of(aggregate(parts), tmp_path)
    assert whole.evidence.n_observations == 4_500
    with pytest.raises(IncompatibleEvidenceError, match="count twice"):
        aggregate([first, tmp_path / "first.state"], engine=Here())


def test_bad_reports_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    paths = written(tmp_path, 1000, 2000)
    for path in (paths[0], paths[2]):
        path.write_text(path.read_text() + '{"channel":"0000000000000000","answer":"no"}\n')
    for engine in (Shuffled(), Here()):
        added, here = aggregate(paths, True, engine=engine), aggregate(paths, True)
        assert (added.refused, added.first_refused) == (here.refused, here.first_refused)
        assert str(paths[0]) in next(iter(added.first_refused.values()))
        with pytest.raises(FormatError, match="its channel is"):
            aggregate(paths, engine=engine)


def test_ids_are_compared_part_by_part(tmp_path: Path) -> None:
    ids = [f"person {i}" for i in range(len(SAID))]
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    write_reports(one, SAID[:2000], channel=CHANNEL, ids=ids[:2000])
    write_reports(other, SAID[2000:], channel=CHANNEL, ids=ids[2000:])
    with pytest.raises(InputError, match="several files have ids"):
        aggregate([one, other], engine=Here())
    flags = ("-o", str(tmp_path / "no.state"), "--engine", "here")
    assert_one_line(call("aggregate", str(one), str(other), *flags), ("Leave --engine out", "see --split."))
    assert state_of(aggregate(one, engine=Here()), tmp_path) == state_of(aggregate(one), tmp_path)
    from askance.formats.report_ids import Ids

    parts = Ids.of(ids).parts(3)
    paths = [tmp_path / f"part-{part}.jsonl" for part in range(3)]
    for part, path in enumerate(paths):
        own = np.flatnonzero(parts == part)
        write_reports(path, SAID[own], channel=CHANNEL, ids=[ids[i] for i in own])
    (alone,) = written(tmp_path)
    whole = aggregate([*paths, alone], split=3, engine=Shuffled())
    assert state_of(whole, tmp_path) == state_of(aggregate([*paths, alone], split=3), tmp_path)
    assert whole.evidence.n_observations == 6_000


def test_the_command_line_names_an_engine(tmp_path: Path) -> None:
    paths = [str(path) for path in written(tmp_path, 1000)]
    for flags in ([], ["--engine", "here"]):
        assert call("aggregate", *paths, "-o", str(tmp_path / f"{len(flags)}.state"), *flags).code == 0
    assert (tmp_path / "0.state").read_bytes() == (tmp_path / "2.state").read_bytes()
    assert load(tmp_path / "2.state") == aggregate(paths).evidence
    assert_one_line(call("aggregate", *paths, "-o", str(tmp_path / "no.state"), "--engine", "ray"), ("here:PROCESSES",))
    with pytest.raises(InputError, match="no file that an engine"):
        aggregate("/dev/null", engine=Here())


def test_warnings_of_an_engine_are_lines_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def engine_of(name: str) -> Here:
        warnings.warn("that of another library", UserWarning, stacklevel=2)
        warnings.warn("Dask: there is no worker", AskanceWarning, stacklevel=2)
        return Here()

    monkeypatch.setattr("askance.scale.engine_of", engine_of)
    done = call("aggregate", *map(str, written(tmp_path)), "-o", str(tmp_path / "a.state"), "--engine", "dask")
    assert done.code == 0
    assert done.err.splitlines() == ["askance: warning: Dask: there is no worker"]
