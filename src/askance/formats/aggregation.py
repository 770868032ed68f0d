"""Files of reports, and states, added up to one state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from askance._checks import as_count, shown
from askance.channels.differences import differences, way_out
from askance.channels.purposes import as_purpose
from askance.channels.registry import AnyChannel
from askance.errors import FormatError, IncompatibleEvidenceError, InputError
from askance.evidence.protocols import Engine
from askance.evidence.sources import NO_SOURCES, IdPart, Sources
from askance.evidence.tally import Tally
from askance.formats.disk import opened
from askance.formats.files import load_opened
from askance.formats.places import Place, Places, RowGroups, listed_places
from askance.formats.report_ids import MOST_PARTS, SeenIds
from askance.formats.report_schema import Block, Refusals, ReportSchema, kind_of
from askance.formats.reports import blocks_of, sound_reports
from askance.formats.source_digests import SeenSources, SourceDigest

#: What report files add up to.
Evidence: TypeAlias = Tally[Any]
#: How files are split by id: into so many parts, or one part of so many.
Split: TypeAlias = int | tuple[int, int]

_Named = TypeVar("_Named")
# Long files tell how far they were read after this many reports.
_TOLD_EVERY = 1 << 22


@dataclass(frozen=True)
class Aggregation:
    """What files of reports, and states, add up to.

    Attributes:
        evidence: the sums of all good reports: a `Tally`; `save` keeps it, with the
            digests of the files of reports (`evidence.sources`).
        refused: how many reports were left out, by reason.
        first_refused: the first one of each reason: where it is and what is wrong.
        with_ids: whether some reports have ids.
    """

    evidence: Evidence
    refused: Mapping[str, int]
    first_refused: Mapping[str, str]
    with_ids: bool = False


def aggregate(
    paths: Places,
    skip_bad: bool = False,
    *,
    channel: AnyChannel | None = None,
    split: Split | None = None,
    purpose_of_unnamed: str = "",
    engine: Engine | None = None,
    doing: Callable[[str], None] = lambda _: None,
) -> Aggregation:
    """Add up files of reports and state files, all of one channel; every split of the reports gives the same sums.

    A report is bad when it comes from another channel, is for another purpose, repeats an id, or is malformed. Ids are
    compared among all files of one call. States keep no ids, but the digests of the files that were added up: a file
    that is in a state already is refused, and so are two states that share one. (A single report that comes again in
    another file cannot be recognised.)

    Args:
        paths: files of reports (`write_reports`, `askance randomize`) and states (`save`, `askance aggregate`); also
            folders, patterns, addresses such as s3://bucket/day=*/*.parquet (read by fsspec), "-" for standard input,
            and `RowGroups` of Parquet files without ids.
        skip_bad: leave bad reports out and count them, instead of stopping at the first.
        channel: what made the reports, where Parquet files of other programs do not say so; they may have columns
            beside those of the channel.
        split: N where files are split by id into N parts, and all are here: ids are compared part by part, and those of
            one part are forgotten before the next is read. (k, N) where only part k is here: the state goes with states
            of other parts, until all are together. A report in a file of another part is refused.
        purpose_of_unnamed: what reports and states without a purpose are for.
        engine: of `askance.scale`, which opens the files where it works; the state is the same. Several files with ids
            must then be split by id. Default: one file after the other, here.
        doing: is told what is being read.

    >>> import tempfile
    >>> from askance import Warner
    >>> from askance.formats import write_reports
    >>> folder, channel = Path(tempfile.mkdtemp()), Warner("2/3")
    >>> write_reports(folder / "a.jsonl", ["yes", "no"], channel=channel, ids=["1", "2"])
    >>> write_reports(folder / "b.jsonl", ["no", "no"], channel=channel, ids=["2", "3"])
    >>> found = aggregate(folder, skip_bad=True)
    >>> found.evidence.counts, found.refused
    (array([2, 1]), {'duplicate id': 1})
    """
    if channel is not None and not hasattr(channel, "fingerprint"):
        remedy = "Read one from a file: askance.formats.read_channel(path)."
        raise InputError(argument="channel", got=shown(channel), allowed="a channel", remedy=remedy)
    places = listed_places(paths)
    if engine is not None:
        from askance.formats.spread_aggregation import aggregate_on

        doing(f"reading {len(places):,} files")
        return aggregate_on(engine, places, skip_bad, channel, split, as_purpose(purpose_of_unnamed))
    total = _Total(Refusals(skip=skip_bad), channel, as_purpose(purpose_of_unnamed), split, doing)
    for place, part in _in_order(places, total.schema(), split):
        total.add(place, part)
    return total.result()


class _Total:
    """What was added up so far."""

    def __init__(
        self,
        refusals: Refusals,
        channel: AnyChannel | None,
        purpose: str,
        split: Split | None,
        doing: Callable[[str], None],
    ) -> None:
        self._refusals, self._purpose, self._doing = refusals, purpose, doing
        self._takes_tables = channel is not None
        self._evidence: Evidence | None = None if channel is None else Tally(_for_purpose(channel, purpose))
        self._sources, self._seen = SeenSources(), SeenIds()
        self._part: IdPart | None = None
        self._with_ids = False
        # What all files of reports together hold, which is remembered with the first.
        self._parts: frozenset[IdPart] | None = frozenset({split} if isinstance(split, tuple) else ())

    def schema(self) -> ReportSchema | None:
        """What the next file of reports must hold; None for anything."""
        if self._evidence is None:
            return None
        return ReportSchema(self._evidence.channel, self._purpose, of_any_table=self._takes_tables)

    def result(self) -> Aggregation:
        """The sums, and what was left out."""
        assert self._evidence is not None
        evidence = self._evidence.from_sources(self._sources.all())
        return Aggregation(evidence, self._refusals.counts, self._refusals.first, self._with_ids)

    def add(self, place: Place | RowGroups, part: IdPart | None) -> None:
        """Add a state, or a file of reports of which all ids are of that part."""
        self._doing(f"reading {place}")
        if part != self._part:  # ids of the other part are in none of the files that follow
            self._part, self._seen = part, SeenIds()
        with opened(place.path if isinstance(place, RowGroups) else place) as file:
            if kind_of(file) == "other" and not isinstance(place, RowGroups):
                self._evidence = self._with_state(file, place)
                return
            if self._parts is not None:
                self._sources.add_parts(self._parts, place)
                self._parts = None
            self._add_reports(file, place)

    def _add_reports(self, file: BufferedReader, place: Place | RowGroups) -> None:
        digest, before = SourceDigest(), self._evidence.n_observations if self._evidence else 0
        expected, rows, read, told = self.schema(), None, 0, _TOLD_EVERY
        for block in blocks_of(file, self._refusals, expected, _numbers(place)):
            if block.extent is not None:
                _require_whole(place, block)
                rows = block.extent.rows
                self._seen.expect(rows if block.extent.with_ids else 0)
            digest.add(block)
            self._add_block(block)
            read += len(block.places)
            if read >= told:
                self._doing(f"reading {place}: {read:,} reports")
                told += _TOLD_EVERY
        assert self._evidence is not None
        if isinstance(place, RowGroups):
            self._sources.add(_sources_of(place, expected), place, "its reports")
        elif self._evidence.n_observations > before:
            self._sources.add(Sources(frozenset({digest.digest(rows)})), place, "its reports")
        elif read:  # all were left out; in another call they would not be
            self._sources.remember(digest.digest(rows), place)

    def _add_block(self, block: Block) -> None:
        self._with_ids = self._with_ids or block.ids is not None
        if self._part is not None and block.ids is not None:
            block = _of_part(block, self._part, self._refusals)
        reports, _ = sound_reports(block, self._refusals, self._seen)
        if self._evidence is None:
            self._evidence = Tally(_for_purpose(reports.channel, self._purpose))
        self._evidence = self._evidence.add(_for_purpose(reports, self._evidence.channel.purpose))

    def _with_state(self, file: BufferedReader, place: Place) -> Evidence:
        _refuse_headless(file)
        state = load_opened(file)
        if not isinstance(state, Tally):
            raise FormatError(f"{file.name} holds a fit; allowed: reports, and states of them.", remedy="Leave it out.")
        self._sources.add(state.sources, place, "the reports of files in it")
        self._sources.add_parts(state.sources.id_parts, place)
        state, evidence = _for_purpose(state, self._purpose).from_sources(NO_SOURCES), self._evidence
        if evidence is None or evidence.channel.fingerprint == state.channel.fingerprint:
            return state if evidence is None else evidence.merge(state)
        raise IncompatibleEvidenceError(
            f"{file.name} is a state of another channel: {state.channel!r} ({state.channel.fingerprint[:16]}), not "
            f"{evidence.channel!r} ({evidence.channel.fingerprint[:16]}). "
            f"{differences(state.channel, evidence.channel)}",
            remedy=way_out(state.channel, evidence.channel) or "Keep one state per channel.",
        )


def _for_purpose(thing: _Named, purpose: str) -> _Named:
    """A channel, a state or reports for that purpose, where they are for none."""
    known: Any = thing
    return thing if getattr(known, "channel", known).purpose or not purpose else known.for_purpose(purpose)


def _refuse_headless(file: BufferedReader) -> None:
    """Say what is wrong with the likeliest files that are neither reports nor states."""
    beginning = file.peek(256)[:256]
    if not beginning.strip():
        raise FormatError(f"{file.name} is empty.", remedy="Leave it out.")
    if re.match(rb'\s*\{\s*"(id|channel)"', beginning):
        raise FormatError(
            f"{file.name} holds reports without the header that says which channel made them.",
            remedy="Put the line that `askance randomize KIND … --header` prints in front.",
        )


def source_of(path: Path, reports: int) -> Sources:
    """What a state says of a file of so many reports, of which the first, or more, are in `path`."""
    digest = SourceDigest()
    with opened(path) as file:
        for block in blocks_of(file, Refusals(skip=True), None):
            digest.add(block)
    return Sources(frozenset({digest.digest(reports)}))


# -- row groups --------------------------------------------------------------------------------------------------------


def _numbers(place: Place | RowGroups) -> range | None:
    return place.numbers if isinstance(place, RowGroups) else None


def _require_whole(place: Place | RowGroups, block: Block) -> None:
    """Refuse a part of a file with ids: they could be compared with no others of the file."""
    if isinstance(place, RowGroups) and block.extent is not None and block.extent.with_ids:
        raise InputError(
            f"{place.path} has ids, which are compared among all its reports.",
            remedy="Read the file whole; files that are split by id can be read one by one.",
        )


def _sources_of(place: RowGroups, expected: ReportSchema | None) -> Sources:
    """The row groups of a file, by the digest of the whole: its first reports are looked at."""
    digest, extent = SourceDigest(), None
    with opened(place.path) as file:
        for block in blocks_of(file, Refusals(skip=True), expected):
            digest.add(block)
            extent = extent or block.extent
            if digest.is_settled:
                break
    assert extent is not None
    name, of = digest.digest(extent.rows), extent.row_groups
    return Sources(row_groups=frozenset((name, number, of) for number in place.numbers)).completed()


# -- files that are split by id ----------------------------------------------------------------------------------------


def _in_order(
    places: list[Place | RowGroups], expected: ReportSchema | None, split: Split | None
) -> Iterator[tuple[Place | RowGroups, IdPart | None]]:
    """Files with the part that their ids are of, part by part; what has no ids is of any."""
    if split is None:
        yield from ((place, None) for place in places)
    elif isinstance(split, tuple):
        part, of = require_split(split)
        yield from ((place, (part, of)) for place in places)
    else:
        of, _ = require_split((0, split))[::-1]
        parts = [(place, part_of(place, of, expected)) for place in places]
        yield from ((place, None if part is None else (part, of)) for place, part in sorted(parts, key=_by_part))


def _by_part(entry: tuple[Place | RowGroups, int | None]) -> int:
    return -1 if entry[1] is None else entry[1]


def require_split(split: tuple[int, int]) -> IdPart:
    """Refuse a part that is none of so many."""
    if not isinstance(split, tuple) or len(split) != 2:
        raise InputError(f"split is {shown(split)}; allowed: N, or (k, N).", remedy="Give the number of parts.")
    of = as_count(split[1], "split", minimum=1, maximum=MOST_PARTS)
    return as_count(split[0], "split", maximum=of - 1), of


def part_of(place: Place | RowGroups, of: int, expected: ReportSchema | None = None) -> int | None:
    """The part of the first id of a file; None for a state, and for reports without ids."""
    path = place.path if isinstance(place, RowGroups) else place
    if isinstance(path, Path) and not path.is_file() and path.exists():
        raise InputError(
            f"{path} can be read only once; allowed with all parts of a split: files.",
            remedy="Name one part, or write the reports to files first.",
        )
    with opened(path) as file:
        if kind_of(file) != "other":
            for block in blocks_of(file, Refusals(skip=True), expected):
                if block.ids is not None and block.ids.lengths.any():
                    first = int(np.argmax(block.ids.lengths > 0))
                    return int(block.ids.take(slice(first, first + 1)).parts(of)[0])
    return None


def _of_part(block: Block, part: IdPart, refusals: Refusals) -> Block:
    """The reports of a block whose ids are of that part, or that have none; the others are refused."""
    assert block.ids is not None
    number, of = part
    parts = block.ids.parts(of)
    other = (parts != number) & (block.ids.lengths > 0)
    for i in np.flatnonzero(other).tolist():
        what = f"its id {shown(block.ids[i])} is of part {parts[i]} of {of}; allowed: {number}."
        refusals.refuse("malformed", block.place(i), what)
    return block.take(~other) if other.any() else block
