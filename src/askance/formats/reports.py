"""Reports on disk: written in pieces, read in pieces, added up to a state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from askance._arrays import AnyArray
from askance._checks import as_count, shown
from askance._words import Part, Place
from askance.channels.registry import AnyChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.reports import Reports
from askance.errors import FormatError, InputError, ShapeError
from askance.evidence.tally import Tally
from askance.formats.disk import as_path, opened, whole_file
from askance.formats.places import LINES, PARQUET
from askance.formats.report_ids import MOST_PARTS, Ids, SeenIds
from askance.formats.report_lines import LineWriter, read_lines
from askance.formats.report_parquet import ParquetWriter, read_parquet
from askance.formats.report_schema import AnyReports, Block, Refusals, ReportSchema, kind_of

#: What report files add up to.
Evidence: TypeAlias = Tally[Any]
#: Some reports, and their ids where they have any.
Chunk: TypeAlias = tuple[AnyReports, Sequence[str | None] | None]

_Named = TypeVar("_Named")


# -- writing -----------------------------------------------------------------------------------------------------------


class ReportWriter:
    """Writes reports in pieces; `report_writer` opens one.

    Attributes:
        written: how many reports were written.
    """

    def __init__(self, writers: Sequence[LineWriter | ParquetWriter], schema: ReportSchema, *, with_ids: bool) -> None:
        self._writers, self._schema, self._with_ids = writers, schema, with_ids
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
        if len(self._writers) == 1:
            self._write_to(self._writers[0], columns, ids, n)
        else:
            parts = Ids.of(ids or [None] * n).parts(len(self._writers))
            for part in np.unique(parts).tolist():
                rows = np.flatnonzero(parts == part)
                some = None if ids is None else [ids[row] for row in rows.tolist()]
                own = {name: values[rows] for name, values in columns.items()}
                self._write_to(self._writers[part], own, some, len(rows))
        self.written += n

    def _write_to(
        self,
        writer: LineWriter | ParquetWriter,
        columns: Mapping[str, AnyArray],
        ids: Sequence[str | None] | None,
        n: int,
    ) -> None:
        step = self._schema.rows_at_a_time
        for start in range(0, n, step):
            piece = slice(start, start + step)
            writer.write({name: values[piece] for name, values in columns.items()}, None if ids is None else ids[piece])


@contextmanager
def report_writer(
    path: str | Path, channel: AnyChannel, *, ids: bool = False, split: int | None = None
) -> Iterator[ReportWriter]:
    """Write reports to a file in pieces; the file appears when all are written, or not at all.

    Args:
        path: .jsonl for lines of JSON, .parquet for Parquet.
        channel: what made the reports.
        ids: whether reports have ids.
        split: into how many files (`split_names`) reports go by their id, so that ids can be compared file by file;
            those without an id go to the first.

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
    targets = [target] if split is None else split_names(target, split)
    with ExitStack() as stack:
        writers = [stack.enter_context(_open_writer(name, schema, with_ids=ids)) for name in targets]
        yield ReportWriter(writers, schema, with_ids=ids)


def split_names(path: Path, split: int) -> list[Path]:
    """The names of files that are split by id into so many parts.

    >>> [name.name for name in split_names(Path("monday.jsonl"), 2)]
    ['monday.0-of-2.jsonl', 'monday.1-of-2.jsonl']
    """
    of = as_count(split, "split", minimum=1, maximum=MOST_PARTS)
    return [path.with_name(f"{path.stem}.{part:0{len(str(of - 1))}d}-of-{of}{path.suffix}") for part in range(of)]


@contextmanager
def _open_writer(target: Path, schema: ReportSchema, *, with_ids: bool) -> Iterator[LineWriter | ParquetWriter]:
    with whole_file(target) as file:
        lines = target.suffix.lower() in LINES
        writer = LineWriter(file, schema) if lines else ParquetWriter(file, schema, with_ids=with_ids)
        try:
            yield writer
        except BaseException:
            with suppress(Exception):  # nothing of it stays; it only must not stay open
                writer.close()
            raise
        writer.close()


def require_suffix(path: Path) -> None:
    """Refuse a name that does not say how reports are written."""
    if path.suffix.lower() not in (*LINES, *PARQUET):
        raise InputError(
            f"{path} is of no known kind of report file; allowed: {', '.join((*LINES, *PARQUET))}.",
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


def blocks_of(
    file: BufferedReader, refusals: Refusals, expected: ReportSchema | None, row_groups: range | None = None
) -> Iterator[Block]:
    """The reports of an open file, or of some row groups of it, in blocks: see `read_lines` and `read_parquet`."""
    kind = kind_of(file)
    if kind == "other":
        raise FormatError(
            f"{file.name} is no file of reports.",
            remedy="Give a file as write_reports or `askance randomize` writes it.",
        )
    if kind == "parquet":
        return read_parquet(file, refusals, expected, row_groups)
    if row_groups is not None:
        raise InputError(f"{file.name} has no row groups.", remedy="Give a Parquet file, or read the file whole.")
    return read_lines(file, refusals, expected)


def sound_reports(block: Block, refusals: Refusals, seen: SeenIds) -> tuple[Reports[AnyChannel], Ids | None]:
    """The reports of a block that a respondent could have sent, each once; the others are refused."""
    try:
        reports = block.schema.assemble(block.columns)
    except InputError:
        block = without_impossible(block, refusals)
        reports = block.schema.assemble(block.columns)
    repeated = np.zeros(0, dtype=bool) if block.ids is None else seen.repeated(block.ids)
    if repeated.any():
        assert block.ids is not None
        for i in np.flatnonzero(repeated).tolist():
            refusals.refuse("duplicate id", block.place(i), f"its id {shown(block.ids[i])} was seen before.")
        block = block.take(~repeated)
        reports = block.schema.assemble(block.columns)
    return reports, block.ids


def without_impossible(block: Block, refusals: Refusals) -> Block:
    """The reports of a block that a respondent could have sent; the others are refused."""
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
    refusals, seen = Refusals(skip=False), SeenIds()
    with opened(path) as file:
        for block in blocks_of(file, refusals, None):
            reports, ids = sound_reports(block, refusals, seen)
            yield _as_told(reports), None if ids is None else list(ids)


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
