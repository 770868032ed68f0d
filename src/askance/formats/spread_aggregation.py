"""Files of reports and states, added up by an engine: every file where it is read."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from askance._words import words
from askance.channels.registry import AnyChannel
from askance.errors import InputError
from askance.evidence.protocols import Engine, require_engine
from askance.evidence.sources import IdPart
from askance.formats.aggregation import Aggregation, Split, aggregate, part_of, require_split
from askance.formats.places import Place, RowGroups
from askance.formats.report_schema import ReportSchema

#: Files that are read by one task, with the part that their ids are of, and the place of the first among all.
_Task: TypeAlias = tuple[int, tuple[Place | RowGroups, ...], IdPart | None]


class _Added(NamedTuple):
    """What tasks added up, and the first report of every kind that was left out, with the place of its file."""

    sums: Aggregation
    first: dict[str, tuple[int, str]]


@dataclass(frozen=True)
class _Adding:
    """What is done with the files of a task: small, so that it travels."""

    skip_bad: bool
    channel: AnyChannel | None
    purpose: str

    def __call__(self, task: _Task) -> _Added:
        place, files, part = task
        added = aggregate(files, self.skip_bad, channel=self.channel, split=part, purpose_of_unnamed=self.purpose)
        return _Added(added, {why: (place, first) for why, first in added.first_refused.items()})


def aggregate_on(
    engine: Engine,
    places: Sequence[Place | RowGroups],
    skip_bad: bool,
    channel: AnyChannel | None,
    split: Split | None,
    purpose: str,
) -> Aggregation:
    """`aggregate` by an engine; it has the arguments.

    Ids are compared among the files of one task: where several files have some, they must be split by id.
    """
    require_engine(engine)
    files = [_everywhere(place) for place in places]
    adding, tasks = _Adding(skip_bad, channel, purpose), _tasks(engine, files, split, channel, purpose)
    with_ids, others = [task for task in tasks if task[2] is not None], [task for task in tasks if task[2] is None]
    # Parts of ids are put together first: before all are there, nothing else goes with them.
    added = [engine.fold(own, adding, _both) for own in (with_ids, others) if own]
    if with_ids and isinstance(split, int):  # all parts are here
        added[0] = _without_parts(added[0])
    whole: _Added = added[0] if len(added) == 1 else _both(*added)
    return replace(whole.sums, first_refused={why: first for why, (_, first) in sorted(whole.first.items())})


def _tasks(
    engine: Engine, files: list[Place | RowGroups], split: Split | None, channel: AnyChannel | None, purpose: str
) -> list[_Task]:
    numbered = list(enumerate(files))
    if split is None:
        return [(number, (file,), None) for number, file in numbered]
    if isinstance(split, tuple):
        return [(0, tuple(files), require_split(split))]
    _, of = require_split((0, split))
    expected = None if channel is None else (channel, purpose)
    part_of: dict[int, int | None] = engine.fold(numbered, partial(_part_of, of=of, expected=expected), _union)
    tasks: list[_Task] = [(number, (file,), None) for number, file in numbered if part_of[number] is None]
    for part in sorted({part for part in part_of.values() if part is not None}):
        own = [number for number, its in part_of.items() if its == part]
        tasks.append((min(own), tuple(files[number] for number in sorted(own)), (part, of)))
    return tasks


def _part_of(
    numbered: tuple[int, Place | RowGroups], of: int, expected: tuple[AnyChannel, str] | None
) -> dict[int, int | None]:
    number, file = numbered
    schema = None if expected is None else ReportSchema(*expected, of_any_table=True)
    return {number: part_of(file, of, schema)}


def _union(one: dict[int, Any], other: dict[int, Any]) -> dict[int, Any]:
    return one | other


def _both(one: _Added, other: _Added) -> _Added:
    """What two sets of files add up to; sums are integers, so that every order gives the same."""
    if one.sums.with_ids and other.sums.with_ids and not (one.sums.evidence.sources.id_parts):
        raise InputError(
            "several files have ids, which one task compares among its own files only.",
            remedy=words("Leave {engine} out, or split the files by id: see {split}."),
        )
    refused = dict(one.sums.refused)
    for why, count in other.sums.refused.items():
        refused[why] = refused.get(why, 0) + count
    first = dict(one.first)
    for why, place in other.first.items():
        first[why] = min(place, first.get(why, place))
    with_ids = one.sums.with_ids or other.sums.with_ids
    return _Added(Aggregation(one.sums.evidence.merge(other.sums.evidence), refused, {}, with_ids), first)


def _without_parts(added: _Added) -> _Added:
    evidence = added.sums.evidence
    known = evidence.from_sources(replace(evidence.sources, id_parts=frozenset()))
    return added._replace(sums=replace(added.sums, evidence=known))


def _everywhere(place: Place | RowGroups) -> Place | RowGroups:
    """The same for a process in another folder; refused is what only this process can read."""
    if isinstance(place, RowGroups):
        path = _everywhere(place.path)
        assert not isinstance(path, RowGroups)
        return replace(place, path=path)
    if not isinstance(place, Path):
        return place
    if place.exists() and not stat.S_ISREG(place.stat().st_mode):
        raise InputError(
            f"{place} is no file that an engine could open; allowed: files and addresses.",
            remedy=words("Leave {engine} out."),
        )
    return place.absolute()
