"""What was collected, as files: responses/1, reports/1, states, regions/1. Rows come by their random ids."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

from askance._arrays import AnyArray
from askance._checks import did_you_mean, shorten
from askance.channels.finite import FiniteChannel
from askance.channels.registry import AnyChannel
from askance.channels.reports import Reports
from askance.collect.campaign import Asked, Campaign, Counting
from askance.collect.counts import Count, counted
from askance.collect.store import Store
from askance.errors import EmptyDataError, InputError
from askance.evidence.sources import NO_SOURCES, Sources
from askance.evidence.tally import Tally
from askance.formats.aggregation import source_of
from askance.formats.disk import as_path, whole_file
from askance.formats.files import save
from askance.formats.report_ids import Ids
from askance.formats.report_schema import ReportSchema
from askance.formats.report_texts import text_of
from askance.formats.reports import report_writer, split_names
from askance.formats.source_digests import HASHED

if TYPE_CHECKING:
    from askance.text.corpus.regions import RegionCounts

RESPONSES_FORMAT = "responses/1"
Shape: TypeAlias = Literal["responses", "reports", "state", "regions"]
# Rows that are held at once.
_ROWS = 1 << 14


def shape_of(campaign: Campaign, path: Path, shape: Shape | None) -> Shape:
    """What is written: as it is asked for, or as the name of the file says."""
    allowed: tuple[Shape, ...] = {
        "survey": ("responses", "reports", "state"),
        "devices": ("reports", "state"),
        "counting": ("regions",),
    }[campaign.kind]  # type: ignore[assignment]
    lines = path.suffix.lower() in (".jsonl", ".gz")
    usual: Shape = "state" if path.suffix.lower() == ".state" else "reports" if lines else allowed[0]
    chosen = shape or (usual if usual in allowed else allowed[0])
    if chosen not in allowed:
        raise InputError(argument="shape", got=chosen, allowed=", ".join(allowed), remedy="Take one of them.")
    return chosen


def export(
    campaign: Campaign,
    store: Store,
    path: str | Path,
    *,
    shape: Shape | None = None,
    question: str | None = None,
    split: int | None = None,
    window: int | None = None,
) -> tuple[int, list[Path]]:
    """Write what was collected, whole or not at all.

    Args:
        campaign: that was collected.
        store: where it is kept.
        path: where to. Responses are .csv or .parquet, reports .jsonl or .parquet.
        shape: "responses" (a row per person, all questions), "reports" (of one question), "state" (their tally) or
            "regions" (counts).
        question: which one, where there are several that are noised.
        split: into so many files by the hash of ids.
        window: of devices: this one only.

    Returns:
        How many rows were written, and to which files.
    """
    target = as_path(path)
    chosen = shape_of(campaign, target, shape)
    _require_window(campaign, store, window)
    if split is not None and chosen not in ("responses", "reports"):
        raise InputError("is given for a file that has no ids", argument="split", remedy="Leave it out.")
    names = [target] if split is None else split_names(target, split)
    if chosen == "responses":
        return _responses(campaign, store, target, names), names
    if chosen == "regions":
        return _regions(campaign, store, target), names
    asked = _noised(campaign, question)
    if chosen == "state":
        tally = tally_of(asked, store, window)
        save(tally.from_sources(_sources(campaign, asked, store, window, tally.n_observations)), target)
        return tally.n_observations, names
    return _reports(campaign, asked, store, target, split, window), names


def require_windows(campaign: Campaign, window: int, argument: str = "window") -> None:
    """Refuse a window of a campaign that has none: all answers to a survey are of window 0."""
    if campaign.kind != "devices":
        raise InputError(
            f"is {window}, and a campaign of kind {campaign.kind!r} has no windows",
            argument=argument,
            remedy="Leave it out.",
        )


def _require_window(campaign: Campaign, store: Store, window: int | None) -> None:
    """Refuse a window of which nothing is there, and any where a campaign has none."""
    if window is None:
        return
    require_windows(campaign, window)
    there = sorted({number for _, number in store.tallies()})
    if window not in there:
        raise InputError(
            argument="window",
            got=window,
            allowed=shorten(there) or "none, since no report is there",
            remedy="Give the number of a window that has reports.",
        )


def _noised(campaign: Campaign, name: str | None) -> Asked:
    """The question that is meant."""
    noised = [question.name for question in campaign.questions if question.channel is not None]
    if name is None and len(noised) == 1:
        return campaign.by_name[noised[0]]
    if name not in noised:
        raise InputError(
            "is missing" if name is None else f"is {name}",
            argument="question",
            allowed=shorten(noised) or "none is noised",
            remedy=did_you_mean(name or "", noised, "Say which question."),
        )
    return campaign.by_name[name]


def tally_of(asked: Asked, store: Store, window: int | None = None) -> Tally[Any]:
    """What the reports to a question add up to, in all windows or in one."""
    assert asked.channel is not None
    tallies = [
        Tally(asked.channel, sums.sums, sums.n)
        for (name, number), sums in sorted(store.tallies().items())
        if name == asked.name and window in (None, number)
    ]
    return sum(tallies[1:], tallies[0]) if tallies else Tally(asked.channel)


def answers_of(campaign: Campaign, store: Store) -> dict[str, list[Any]]:
    """All answers to a survey, by question: a column each, None where somebody declined."""
    contents = [content for _, content in _contents(store)]
    return {name: [content[name] for content in contents] for name in campaign.by_name}


def _contents(store: Store, window: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Ids and contents, by id."""
    for id, _, content in store.entries(window):
        yield id.hex(), json.loads(content)


def _pieces(store: Store, window: int | None = None) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """The same in pieces, so that memory does not grow with their number."""
    contents = _contents(store, window)
    while rows := list(islice(contents, _ROWS)):
        yield rows


# -- reports -----------------------------------------------------------------------------------------------------------


def _reports(
    campaign: Campaign,
    asked: Asked,
    store: Store,
    path: Path,
    split: int | None,
    window: int | None,
    most: float = math.inf,
) -> int:
    """Write all reports, or a few more than so many; how many were written."""
    channel = asked.channel
    assert channel is not None
    reader = _columns_of_answers if campaign.kind == "survey" else _columns_of_reports
    with report_writer(path, channel, ids=True, split=split) as writer:
        for rows in _pieces(store, window):
            ids, reports = reader(asked.name, channel, rows)
            if ids:
                writer.write(reports, ids)
            if writer.written >= most:
                break
        return writer.written


def _sources(campaign: Campaign, asked: Asked, store: Store, window: int | None, reports: int) -> Sources:
    """The file of reports that this export would be, so that a state and that file are not added up."""
    if not reports:
        return NO_SOURCES
    with TemporaryDirectory(prefix="askance-") as folder:
        path = Path(folder) / "first.jsonl"
        _reports(campaign, asked, store, path, None, window, HASHED)
        return source_of(path, reports)


def _columns_of_answers(name: str, channel: AnyChannel, rows: Sequence[tuple[str, Any]]) -> tuple[list[str], Any]:
    """The reports of one question among answers; who declined sent none."""
    told = [(id, content[name]) for id, content in rows if content[name] is not None]
    return [id for id, _ in told], [value for _, value in told]


def _columns_of_reports(name: str, channel: AnyChannel, rows: Sequence[tuple[str, Any]]) -> tuple[list[str], Any]:
    """The reports of one channel among those of devices."""
    schema = ReportSchema(channel)
    told = [(id, content) for id, content in rows if content["channel"] == schema.tag]
    columns = {c.name: (text := text_of(c)).gather([text.read(v[c.name]) for _, v in told]) for c in schema.columns}
    ids = [id for id, _ in told]
    if not ids or not isinstance(channel, FiniteChannel):
        return ids, Reports(channel, columns) if ids else None
    return ids, channel.observations.decode(columns["answer"])


# -- responses ---------------------------------------------------------------------------------------------------------


class _RowWriter(Protocol):
    def write(self, ids: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> None:
        """Add some rows."""

    def close(self) -> None:
        """Write what stands at the end."""


def _responses(campaign: Campaign, store: Store, path: Path, names: Sequence[Path]) -> int:
    ending, n = path.suffix.lower(), 0
    if ending not in (".csv", ".parquet"):
        raise InputError(
            f"{path} has no ending of responses; allowed: .csv or .parquet.", remedy=f"Write {path.stem}.csv."
        )
    with ExitStack() as stack:
        writers = [stack.enter_context(_row_writer(campaign, name)) for name in names]
        for rows in _pieces(store):
            ids = [id for id, _ in rows]
            parts = np.zeros(len(ids), np.int64) if len(writers) == 1 else Ids.of(ids).parts(len(writers))
            for part, writer in enumerate(writers):
                _write_part(writer, rows, parts == part, list(campaign.by_name))
            n += len(ids)
    return n


def _write_part(writer: _RowWriter, rows: Sequence[tuple[str, Any]], mask: AnyArray, names: Sequence[str]) -> None:
    own = [row for row, inside in zip(rows, mask.tolist(), strict=True) if inside]
    if own:
        writer.write([id for id, _ in own], {name: [content[name] for _, content in own] for name in names})


@contextmanager
def _row_writer(campaign: Campaign, path: Path) -> Iterator[_RowWriter]:
    with whole_file(path) as file:
        writer: _RowWriter = (_CsvRows if path.suffix.lower() == ".csv" else _ParquetRows)(file, campaign)
        yield writer
        writer.close()


class _CsvRows:
    """Rows as CSV; what was declined is an empty cell."""

    def __init__(self, file: Any, campaign: Campaign) -> None:
        self._file = file
        self._put([["id", *campaign.by_name]])

    def _put(self, rows: Sequence[Sequence[Any]]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._file.write(text.getvalue().encode())

    def write(self, ids: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> None:
        self._put([*zip(ids, *columns.values(), strict=True)])

    def close(self) -> None:
        """All is written."""


class _ParquetRows:
    """Rows as Parquet; the metadata says of which campaign."""

    def __init__(self, file: Any, campaign: Campaign) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        fields = [pa.field("id", pa.string()), *(pa.field(q.name, _arrow_type(q)) for q in campaign.questions)]
        about = {"askance": RESPONSES_FORMAT, "campaign": campaign.name, "fingerprint": campaign.fingerprint}
        self._schema = pa.schema(fields, metadata={b"askance": json.dumps(about).encode()})
        self._writer = parquet.ParquetWriter(file, self._schema)

    def write(self, ids: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.table({"id": ids, **columns}, schema=self._schema))

    def close(self) -> None:
        """Write what stands at the end of the file."""
        self._writer.close()


def _arrow_type(question: Asked) -> Any:
    import pyarrow as pa

    channel = question.channel
    values = channel.observations.labels if isinstance(channel, FiniteChannel) else question.values
    kinds = {type(value) for value in values} if not isinstance(values, range) else {int}
    types = {int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
    return types.get(kinds.pop(), pa.string()) if len(kinds) == 1 else pa.string()


# -- counts ------------------------------------------------------------------------------------------------------------


def _regions(campaign: Campaign, store: Store, path: Path) -> int:
    """Counts as regions/1."""
    from askance.text.io.region_file import write_regions

    assert campaign.counting is not None
    regions = regions_of(campaign.counting, counted(campaign.counting, store.entries()).counts)
    write_regions(path, regions)
    return len(regions)


def regions_of(counting: Counting, counts: Sequence[Count]) -> RegionCounts:
    """Counts as a tagger learns from them; of a single word they are a label."""
    from askance.text.corpus.corpus import Corpus
    from askance.text.corpus.regions import Region, RegionCounts

    if not counts:
        raise EmptyDataError("nothing was counted yet.", remedy="Wait for the first count.")
    regions = []
    for count in counts:
        sentence, start, end = vars(counting.stretches[count.stretch]).values()
        told = {tag: n for tag, n in zip(counting.tags, count.counts, strict=True) if n is not None}
        if is_label := end - start == 1:
            told = {next((tag for tag, n in told.items() if n), counting.rest): 1}
        regions.append(Region(sentence, start, end, told, is_label, annotator=count.annotator or None))
    corpus = Corpus.of([list(words) for words in counting.sentences])
    return RegionCounts.of(corpus, counting.tagset, regions, may_miscount=True)
