"""Reports on disk: written in pieces, read in pieces, added up to a state."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from askance._checks import shown
from askance._words import Part, Place
from askance.channels.differences import differences, way_out
from askance.channels.purposes import as_purpose
from askance.channels.registry import AnyChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.reports import Reports
from askance.errors import FormatError, IncompatibleEvidenceError, InputError, ShapeError
from askance.evidence.tally import Tally
from askance.formats.disk import as_path, opened, whole_file
from askance.formats.files import load_opened
from askance.formats.report_lines import LineWriter, read_lines
from askance.formats.report_parquet import ParquetWriter, read_parquet
from askance.formats.report_schema import AnyReports, Block, Refusals, ReportSchema, kind_of
from askance.formats.source_digests import SeenSources, SourceDigest

#: What report files add up to.
Evidence: TypeAlias = Tally[Any]
#: Some reports, and their ids where they have any.
Chunk: TypeAlias = tuple[AnyReports, Sequence[str | None] | None]

_Named = TypeVar("_Named")
_LINES, _PARQUET = (".jsonl", ".ndjson"), (".parquet", ".pq")
_ID_BYTES = 16
# Long files tell how far they were read after this many reports.
_TOLD_EVERY = 1 << 22


# -- writing -----------------------------------------------------------------------------------------------------------


class ReportWriter:
    """Writes reports in pieces; `report_writer` opens one.

    Attributes:
        written: how many reports were written.
    """

    def __init__(self, writer: LineWriter | ParquetWriter, schema: ReportSchema, *, with_ids: bool) -> None:
        self._writer, self._schema, self._with_ids = writer, schema, with_ids
        self.written = 0

    def write(self, reports: AnyReports | Sequence[Any], ids: Sequence[str | None] | None = None) -> None:
        """Add some reports.

        Args:
            reports: `Reports` of a channel on statistics, labels of a channel on answers.
            ids: one per report, None where it has none; for a file with ids.
        """
        columns = self._schema.take_apart(reports)
        n = len(next(iter(columns.values())))
        if ids is not None and (not self._with_ids or len(ids) != n):
            raise ShapeError(
                f"{len(ids)} ids are given for {n} reports{'' if self._with_ids else ' of a file without ids'}.",
                remedy="Give one id per report, to a writer with ids=True.",
            )
        step = self._schema.rows_at_a_time
        for start in range(0, n, step):
            piece = slice(start, start + step)
            self._writer.write(
                {name: values[piece] for name, values in columns.items()}, None if ids is None else ids[piece]
            )
        self.written += n


@contextmanager
def report_writer(path: str | Path, channel: AnyChannel, *, ids: bool = False) -> Iterator[ReportWriter]:
    """Write reports to a file in pieces; the file appears when all are written, or not at all.

    Args:
        path: .jsonl for lines of JSON, .parquet for Parquet.
        channel: what made the reports.
        ids: whether reports have ids.

    >>> import tempfile
    >>> from askance import Warner
    >>> path = Path(tempfile.mkdtemp()) / "reports.jsonl"
    >>> with report_writer(path, Warner("2/3")) as writer:
    ...     writer.write(["yes", "no"])
    ...     writer.write(["no"])
    >>> print(path.read_text().splitlines()[1])
    {"channel":"c5a985cdfbd99c05","answer":"yes"}
    """
    target = as_path(path)
    require_suffix(target)
    schema = ReportSchema(channel)
    with whole_file(target) as file:
        lines = target.suffix.lower() in _LINES
        writer = LineWriter(file, schema) if lines else ParquetWriter(file, schema, with_ids=ids)
        try:
            yield ReportWriter(writer, schema, with_ids=ids)
        except BaseException:
            with suppress(Exception):  # nothing of it stays; it only must not stay open
                writer.close()
            raise
        writer.close()


def require_suffix(path: Path) -> None:
    """Refuse a name that does not say how reports are written."""
    if path.suffix.lower() not in (*_LINES, *_PARQUET):
        raise InputError(
            f"{path} is of no known kind of report file; allowed: {', '.join((*_LINES, *_PARQUET))}.",
            remedy="Call it reports.jsonl or reports.parquet.",
        )


def write_reports(
    path: str | Path,
    reports: AnyReports | Sequence[Any],
    *,
    channel: AnyChannel | None = None,
    ids: Sequence[str | None] | None = None,
) -> None:
    """Write reports to a file, whole or not at all: lines of JSON (.jsonl) or Parquet (.parquet).

    Args:
        path: where to; its suffix says how.
        reports: what `randomize` returned: `Reports`, or noised labels.
        channel: what made them; `Reports` know it themselves.
        ids: one text per report, None where it has none; a report whose id was seen before is refused when reports
            are aggregated.

    >>> import tempfile
    >>> from askance import PerValue
    >>> channel = PerValue(4, 2, l1_norm=1)
    >>> reports = channel.randomize(np.eye(4))
    >>> path = Path(tempfile.mkdtemp()) / "reports.parquet"
    >>> write_reports(path, reports)
    >>> read_reports(path) == reports
    True
    """
    if channel is None:
        if not isinstance(reports, Reports):
            raise InputError("the channel of the answers is not given.", remedy="Say channel=, which made them.")
        channel = reports.channel
    with report_writer(path, channel, ids=ids is not None) as writer:
        writer.write(reports, ids)


# -- reading -----------------------------------------------------------------------------------------------------------


class _SeenIds:
    """Ids that were met, as digests of 128 bits: what grows with the number of reports that have one."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def repeated(self, ids: Sequence[str | None]) -> list[int]:
        """Positions of ids that were met before; all others are remembered."""
        digests = [hashlib.blake2b(id.encode(), digest_size=_ID_BYTES).digest() for id in ids if id]
        fresh = set(digests)
        if len(fresh) == len(digests) and self._digests.isdisjoint(fresh):
            self._digests |= fresh
            return []
        places = []
        for i, digest in zip((i for i, id in enumerate(ids) if id), digests, strict=True):
            if digest in self._digests:
                places.append(i)
            self._digests.add(digest)
        return places


def _blocks(file: BufferedReader, refusals: Refusals, expected: ReportSchema | None) -> Iterator[Block]:
    kind = kind_of(file)
    if kind == "other":
        raise FormatError(
            f"{file.name} is no file of reports.",
            remedy="Give a file as write_reports or `askance randomize` writes it.",
        )
    return (read_lines if kind == "lines" else read_parquet)(file, refusals, expected)


def _sound(block: Block, refusals: Refusals, seen: _SeenIds) -> tuple[Reports[AnyChannel], Sequence[str | None] | None]:
    """The reports of a block that a respondent could have sent, each once; the others are refused."""
    try:
        reports = block.schema.assemble(block.columns)
    except InputError:
        block = _without_impossible(block, refusals)
        reports = block.schema.assemble(block.columns)
    repeated = [] if block.ids is None else seen.repeated(block.ids)
    if repeated:
        assert block.ids is not None
        for i in repeated:
            refusals.refuse("duplicate id", block.place(i), f"its id {shown(block.ids[i])} was seen before.")
        kept = np.ones(len(block.places), dtype=bool)
        kept[repeated] = False
        block = block.take(kept)
        reports = block.schema.assemble(block.columns)
    return reports, block.ids


def _without_impossible(block: Block, refusals: Refusals) -> Block:
    kept = np.ones(len(block.places), dtype=bool)
    for i, error in _impossible(block, 0, len(kept)):
        kept[i] = False
        refusals.refuse("malformed", block.place(i), error.spelled(_it).message)
    return block.take(kept)


def _it(part: Part) -> str | None:
    """What is said of a report where a line says which one it is."""
    return "it" if isinstance(part, Place) else None


def _impossible(block: Block, start: int, stop: int) -> Iterator[tuple[int, InputError]]:
    """Positions of impossible reports and what is wrong with them, found by halving."""
    try:
        block.schema.assemble({name: values[start:stop] for name, values in block.columns.items()})
    except InputError as error:
        if stop - start == 1:
            yield start, error
            return
        middle = (start + stop) // 2
        yield from _impossible(block, start, middle)
        yield from _impossible(block, middle, stop)


def iterate_reports(path: str | Path) -> Iterator[Chunk]:
    """The reports of a file in pieces of at most 2¹⁶, each with the ids: memory does not grow with their number.

    The first piece is empty: it tells the channel even where there are no reports. A bad report is an error.
    """
    refusals, seen = Refusals(skip=False), _SeenIds()
    with opened(path) as file:
        for block in _blocks(file, refusals, None):
            reports, ids = _sound(block, refusals, seen)
            yield _as_told(reports), ids


def _as_told(reports: Reports[AnyChannel]) -> AnyReports:
    """Reports as people take them: answers as labels."""
    channel = reports.channel
    if isinstance(channel, StatisticsChannel):
        return cast("Reports", reports)
    return channel.observations.decode(reports.columns["answer"])


def read_reports(path: str | Path) -> AnyReports:
    """All reports of a file in memory: `Reports`, or an array of noised answers.

    >>> import tempfile
    >>> from askance import Warner
    >>> path = Path(tempfile.mkdtemp()) / "reports.jsonl"
    >>> write_reports(path, ["yes", "no"], channel=Warner("2/3"))
    >>> read_reports(path)
    array(['yes', 'no'], dtype='<U3')
    """
    parts = [reports for reports, _ in iterate_reports(path)]
    statistics = [part for part in parts if isinstance(part, Reports)]
    if statistics:
        return Reports.join(statistics)
    return np.concatenate([part for part in parts if not isinstance(part, Reports)])


# -- adding up ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Aggregation:
    """What files of reports, and states, add up to.

    Attributes:
        evidence: the sums of all good reports: a `Tally`; `save` keeps it, with the
            digests of the files of reports (`evidence.sources`).
        refused: how many reports were left out, by reason.
        first_refused: the first one of each reason: where it is and what is wrong.
    """

    evidence: Evidence
    refused: Mapping[str, int]
    first_refused: Mapping[str, str]


def aggregate(
    paths: str | Path | Iterable[str | Path],
    skip_bad: bool = False,
    *,
    purpose_of_unnamed: str = "",
    doing: Callable[[str], None] = lambda _: None,
) -> Aggregation:
    """Add up files of reports and state files, all of one channel; every split of the reports gives the same sums.

    A report is bad when it comes from another channel, is for another purpose, repeats an id, or is malformed. Ids are
    compared among all files of one call. States keep no ids, but the digests of the files that were added up: a file
    that is in a state already is refused, and so are two states that share one. (A single report that comes again in
    another file cannot be recognised.)

    Args:
        paths: files of reports (`write_reports`, `askance randomize`) and states (`save`, `askance aggregate`).
        skip_bad: leave bad reports out and count them, instead of stopping at the first.
        purpose_of_unnamed: what reports and states without a purpose are for.
        doing: is told what is being read.

    >>> import tempfile
    >>> from askance import Warner
    >>> folder, channel = Path(tempfile.mkdtemp()), Warner("2/3")
    >>> write_reports(folder / "a.jsonl", ["yes", "no"], channel=channel, ids=["1", "2"])
    >>> write_reports(folder / "b.jsonl", ["no", "no"], channel=channel, ids=["2", "3"])
    >>> found = aggregate([folder / "a.jsonl", folder / "b.jsonl"], skip_bad=True)
    >>> found.evidence.counts, found.refused
    (array([2, 1]), {'duplicate id': 1})
    """
    purpose_of_unnamed = as_purpose(purpose_of_unnamed)
    evidence: Evidence | None = None
    refusals, seen, sources = Refusals(skip=skip_bad), _SeenIds(), SeenSources()
    for path in listed_paths(paths):
        doing(f"reading {path}")
        with opened(path) as file:
            if kind_of(file) == "other":
                evidence = _with_state(evidence, file, purpose_of_unnamed, sources)
                continue
            read, told, before, digest = 0, _TOLD_EVERY, evidence, SourceDigest()
            expected = None if evidence is None else ReportSchema(evidence.channel, purpose_of_unnamed)
            for block in _blocks(file, refusals, expected):
                digest.add(block)
                reports, _ = _sound(block, refusals, seen)
                if evidence is None:
                    evidence = Tally(_for_purpose(reports.channel, purpose_of_unnamed))
                evidence = evidence.add(_for_purpose(reports, evidence.channel.purpose))
                read += len(block.places)
                if read >= told:
                    doing(f"reading {path}: {read:,} reports")
                    told += _TOLD_EVERY
            assert evidence is not None
            if evidence.n_observations > (before.n_observations if before else 0):
                sources.add({digest.digest()}, path, "its reports")
            elif read:  # all were left out; in another call they would not be
                sources.remember(digest.digest(), path)
    assert evidence is not None
    return Aggregation(evidence.from_sources(sources.all()), refusals.counts, refusals.first)


def listed_paths(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """One or several paths as a list; one that comes twice is refused."""
    listed = [as_path(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]
    if not listed:
        raise InputError("no files are given.", remedy="Give at least one file of reports, or state.")
    met: set[Path] = set()
    for path in listed:
        if path.resolve() in met:
            raise InputError(f"{path} is given twice.", remedy="Name every file once: its reports would count twice.")
        met.add(path.resolve())
    return listed


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


def _with_state(
    evidence: Evidence | None, file: BufferedReader, purpose_of_unnamed: str, sources: SeenSources
) -> Evidence:
    _refuse_headless(file)
    state = load_opened(file)
    if not isinstance(state, Tally):
        raise FormatError(f"{file.name} holds a fit; allowed: reports, and states of them.", remedy="Leave it out.")
    sources.add(state.sources, Path(file.name), "the reports of files in it")
    state = _for_purpose(state, purpose_of_unnamed).from_sources(frozenset())
    if evidence is None or evidence.channel.fingerprint == state.channel.fingerprint:
        return state if evidence is None else evidence.merge(state)
    raise IncompatibleEvidenceError(
        f"{file.name} is a state of another channel: {state.channel!r} ({state.channel.fingerprint[:16]}), not "
        f"{evidence.channel!r} ({evidence.channel.fingerprint[:16]}). {differences(state.channel, evidence.channel)}",
        remedy=way_out(state.channel, evidence.channel) or "Keep one state per channel.",
    )
