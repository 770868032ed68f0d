"""Reports as Parquet: the header in the schema's metadata, one column per column of a report.

`askance.channels.arrow` has the types of columns. A file without that header is read where the channel is told, and may
have other columns beside. Pages carry checksums, which are verified. pyarrow is loaded when the first file is read or
written, and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import BufferedReader
from typing import Any, BinaryIO, cast

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shown
from askance._words import words
from askance.channels.arrow import arrow_type, from_arrow, is_readable, is_text, no_labels, to_arrow, unpacked, unusable
from askance.channels.reports import LabelColumn
from askance.errors import FormatError, InputError
from askance.formats.disk import with_seeking
from askance.formats.fields import NO_REPORTS
from askance.formats.report_ids import Ids
from askance.formats.report_schema import (
    LONGEST_ID,
    STRICT_JSON,
    Block,
    Extent,
    Header,
    Refusals,
    ReportSchema,
    require_id,
)

_KEY = b"askance"
# Columns of at most this many different values are kept as codes.
_FEW = 1 << 12
# So many names of columns are told.
_FEW_NAMES = 9
_SEVERAL = b"PAR1PAR1"
_PIECE = 1 << 20
_DAMAGED = "Get the file again, or write it again with `askance randomize`."


# -- writing -----------------------------------------------------------------------------------------------------------


class ParquetWriter:
    """Writes reports into an open file, one row group per call."""

    def __init__(self, file: BinaryIO, schema: ReportSchema, *, with_ids: bool) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self._columns = schema.columns
        fields = [pa.field(column.name, arrow_type(column), nullable=False) for column in schema.columns]
        named = [pa.field("id", pa.string())] if with_ids else []
        header = json.dumps(schema.header(), ensure_ascii=False, allow_nan=False)
        self._schema = pa.schema([*named, *fields], metadata={_KEY: header.encode()})
        # Noised bits and seeds do not compress; names of answers, and numbers of few values, become short codes.
        few = [c.name for c in schema.columns if isinstance(c, LabelColumn) or (c.limit <= _FEW and c.kind != "bits")]
        self._writer = parquet.ParquetWriter(
            file,
            self._schema,
            use_dictionary=few,
            column_encoding={"id": "DELTA_LENGTH_BYTE_ARRAY"} if with_ids else None,
            compression={field.name: "zstd" if field.name == "id" else "none" for field in self._schema},
            write_statistics=False,
            write_page_checksum=True,
        )

    def write(self, columns: Mapping[str, AnyArray], ids: Sequence[str | None] | None) -> None:
        """Add some reports."""
        import pyarrow as pa

        arrays = [to_arrow(column, columns[column.name]) for column in self._columns]
        if "id" in self._schema.names:
            named = [None] * len(arrays[0]) if ids is None else [None if id is None else require_id(id) for id in ids]
            arrays.insert(0, pa.array(named, type=pa.string()))
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def close(self) -> None:
        """Write what stands at the end of the file."""
        self._writer.close()


# -- reading -----------------------------------------------------------------------------------------------------------


def read_parquet(
    file: BufferedReader, refusals: Refusals, expected: ReportSchema | None = None, row_groups: range | None = None
) -> Iterator[Block]:
    """The reports of a file, in blocks, the first of which is empty; arguments as of `read_lines`.

    `row_groups` are those that are read, where it is not all of them.
    """
    import pyarrow as pa
    from pyarrow import parquet

    name = str(file.name)
    with with_seeking(file) as seekable:
        try:
            # Answers stand as codes in the file, and stay so: turning all into texts takes most of the time.
            coded = [column for column in ("answer",) if column in parquet.read_metadata(seekable).schema.names]
            source = parquet.ParquetFile(
                seekable, pre_buffer=False, page_checksum_verification=True, read_dictionary=coded
            )
            _require_one(seekable, source.metadata, name)
            header = _read_header(source.schema_arrow.metadata, name, expected)
            schema = cast("ReportSchema", expected) if header is None else header.schema_within(expected)
            extent = Extent(source.metadata.num_rows, source.num_row_groups, "id" in source.schema_arrow.names)
            yield replace(schema.empty(), extent=extent)
            wrong = "" if header is None else header.differs_from(schema)
            if wrong:
                refusals.refuse("another channel", name, wrong, source.metadata.num_rows)
                return
            _require_columns(source.schema_arrow, schema, name, foreign=header is None)
            yield from _rows(source, _read_groups(row_groups, extent, name), schema, name, refusals)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # the disk, not the content
                raise
            first = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
            reason = first.encode("unicode_escape").decode()  # it may repeat bytes of the file
            raise FormatError(f"{name} is damaged ({reason}).", remedy=_DAMAGED) from None


def _require_one(file: BinaryIO, metadata: Any, name: str) -> None:
    """Refuse files that stand behind each other, of which readers take pages of the first by the end of the last."""
    if not metadata.num_row_groups or not metadata.num_columns:
        return
    last = metadata.row_group(metadata.num_row_groups - 1)
    chunks = [last.column(i) for i in range(last.num_columns)]
    end = max((c.dictionary_page_offset or c.data_page_offset) + c.total_compressed_size for c in chunks)
    # Behind the pages come indexes, which other programs write, and the end. All else stood before the last file.
    left, seen = file.seek(0, 2) - metadata.serialized_size - end, b""
    file.seek(0)
    while left > len(_SEVERAL) and (piece := file.read(min(left, _PIECE))):
        if _SEVERAL in (seen := seen[1 - len(_SEVERAL) :] + piece):
            raise FormatError(
                f"{name} is several files of Parquet, one behind the other; allowed: one.",
                remedy="Name the files themselves, or a folder that holds them: only lines can be joined.",
            )
        left -= len(piece)


def _read_groups(row_groups: range | None, extent: Extent, name: str) -> range:
    every = range(extent.row_groups)
    if row_groups is None:
        return every
    if not row_groups or row_groups.start not in every or row_groups[-1] not in every:
        raise InputError(
            f"the row groups are {row_groups.start}:{row_groups.stop}; allowed with {name}: from 0 to "
            f"{extent.row_groups}, and at least one.",
            remedy="Write 0:8 for the first eight.",
        )
    return row_groups


def _rows(source: Any, groups: range, schema: ReportSchema, name: str, refusals: Refusals) -> Iterator[Block]:
    """The reports of some row groups, and whether they are as many as announced."""
    sizes = [source.metadata.row_group(i).num_rows for i in range(source.num_row_groups)]
    number, end = 1 + sum(sizes[: groups.start]), 1 + sum(sizes[: groups.stop])
    columns = ["id", *(column.name for column in schema.columns)]
    known = [column for column in columns if column in source.schema_arrow.names]
    for batch in source.iter_batches(schema.rows_at_a_time, row_groups=[*groups], columns=known, use_threads=False):
        yield from _block_of(batch, number, schema, name, refusals)
        number += len(batch)
    announced = source.metadata.num_rows
    if number != end or sum(sizes) != announced:
        held = sum(sizes) + number - end
        raise FormatError(f"{name} is damaged: it announces {announced} reports and holds {held}.", remedy=_DAMAGED)


def _read_header(metadata: Mapping[bytes, bytes] | None, name: str, expected: ReportSchema | None) -> Header | None:
    """What a file says of its reports; None where it says nothing, and need not."""
    written = (metadata or {}).get(_KEY)
    if written is None:
        if expected is not None and expected.of_any_table:
            return None
        raise FormatError(
            f"{name} is no file of reports: its metadata has no {_KEY.decode()!r}.",
            remedy=words(
                "Where another program wrote it, say which channel made the reports with {channel}. {0}", NO_REPORTS
            ),
        )
    try:
        content = STRICT_JSON.decode(written.decode())
    except (ValueError, RecursionError):
        raise FormatError(f"{name} is damaged: its header is not JSON.", remedy=_DAMAGED) from None
    return Header.read(content, name)


def _require_columns(stored: Any, schema: ReportSchema, name: str, *, foreign: bool) -> None:
    """Refuse columns of another name or type: the file as a whole is not what it says."""
    import pyarrow as pa

    remedy = "Name the channel that made its reports, and columns as it calls them." if foreign else _DAMAGED
    wanted = {column.name: column for column in schema.columns}
    for column_name, column in wanted.items():
        if column_name not in stored.names:
            found = ", ".join(map(shown, stored.names[:_FEW_NAMES]))
            raise FormatError(f"{name} has no column {column_name!r}; found: {found}.", remedy=remedy)
        kind = stored.field(column_name).type if stored.names.count(column_name) == 1 else "there twice"
        if not isinstance(kind, pa.DataType) or not is_readable(column, kind):
            raise FormatError(
                f"column {column_name!r} of {name} is {kind}; allowed: {arrow_type(column)}.", remedy=remedy
            )
    unknown = [column_name for column_name in stored.names if column_name not in wanted and column_name != "id"]
    if not foreign and (unknown or len(set(stored.names)) < len(stored.names)):
        what = f"an unknown column {shown(unknown[0])}" if unknown else "a column twice"
        raise FormatError(f"{name} has {what}; allowed: id, {', '.join(wanted)}.", remedy=_DAMAGED)
    if "id" in stored.names and not is_text(stored.field("id").type):
        raise FormatError(f"column 'id' of {name} is {stored.field('id').type}; allowed: string.", remedy=remedy)


def _block_of(batch: Any, number: int, schema: ReportSchema, name: str, refusals: Refusals) -> Iterator[Block]:
    """The complete rows of a batch, then a refusal of the others."""
    rows, ids, wrong = np.arange(number, number + len(batch)), None, dict[int, str]()
    arrays = [unpacked(column, batch.column(column.name)) for column in schema.columns]
    if "id" in batch.schema.names:
        ids, wrong = _read_ids(batch.column("id"))
    for column, array in reversed([*zip(schema.columns, arrays, strict=True)]):  # of a row, the first column is told
        wrong |= unusable(column, array)
    bad = [(int(rows[i]), what) for i, what in wrong.items()]
    if wrong:
        import pyarrow as pa

        kept = np.ones(len(batch), dtype=bool)
        kept[list(wrong)] = False
        arrays, rows = [array.filter(pa.array(kept)) for array in arrays], rows[kept]
        ids = None if ids is None else ids.take(kept)
    columns = {column.name: from_arrow(column, array) for column, array in zip(schema.columns, arrays, strict=True)}
    block = Block(schema, columns, ids, rows, f"{name}, row")
    first = schema.columns[0]
    unknown = no_labels(first, columns[first.name], arrays[0])
    if unknown:
        bad += [(int(rows[i]), what) for i, what in unknown.items()]
        block = block.take(columns[first.name] >= 0)
    bad.sort()
    if not refusals.skip and bad:
        block = block.take(block.places < bad[0][0])
    yield block
    for place, what in bad:
        refusals.refuse("malformed", f"{name}, row {place}", what)


def _read_ids(array: Any) -> tuple[Ids | None, dict[int, str]]:
    """Ids, and the rows whose id is not usable."""
    if array.null_count == len(array):
        return None, {}
    ids = Ids.of_arrow(array)
    lengths = ids.lengths
    if lengths.max() > LONGEST_ID:
        lengths = ids.characters
    unusable = lengths > LONGEST_ID
    if not lengths.all():
        unusable |= (lengths == 0) & array.is_valid().to_numpy(zero_copy_only=False)
    what = "an id is {}; allowed: a text of 1 to {} characters."
    return ids, {i: what.format(shown(ids[i] or ""), LONGEST_ID) for i in np.flatnonzero(unusable).tolist()}
