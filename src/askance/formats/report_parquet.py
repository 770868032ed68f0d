"""Reports as Parquet: the header in the schema's metadata, one column per column of a report.

| column   | type                                                                  |
|----------|-----------------------------------------------------------------------|
| bits     | fixed-size binary, ⌈width/8⌉ bytes, the first bit lowest in the first  |
| integer  | the smallest unsigned integers that hold it                            |
| integers | fixed-size list of such                                                |
| seed     | uint64                                                                 |
| answer   | as the labels are: string, int64, double, bool; mixed: their JSON text |

pyarrow is loaded when the first file is read or written, and nowhere else. Pages carry checksums, which are verified.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from typing import Any, BinaryIO

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shorten, shown
from askance._kernels import bits
from askance.categories import Label
from askance.channels.statistics.reports import Column
from askance.errors import FormatError
from askance.formats.disk import with_seeking
from askance.formats.fields import NO_REPORTS
from askance.formats.report_schema import (
    LONGEST_ID,
    STRICT_JSON,
    Block,
    Header,
    LabelColumn,
    Refusals,
    ReportSchema,
    bytes_of,
    require_id,
)

_KEY = b"askance"
# Columns of at most this many different values are kept as codes.
_FEW = 1 << 12
_DAMAGED = "Get the file again, or write it again with `askance randomize`."


# -- columns -----------------------------------------------------------------------------------------------------------


def _type_of(column: Column | LabelColumn) -> Any:
    """The Arrow type of a column."""
    import pyarrow as pa

    if isinstance(column, LabelColumn):
        kinds = {type(label) for label in column.labels}
        types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
        return types[kinds.pop()] if len(kinds) == 1 else pa.string()
    if column.kind == "bits":
        return pa.binary(bytes_of(column))
    entry = pa.from_numpy_dtype(column.dtype)
    return pa.list_(entry, column.width) if column.kind == "integers" else entry


def _to_arrow(column: Column | LabelColumn, values: AnyArray) -> Any:
    """Values as they are held in memory, as an Arrow array."""
    import pyarrow as pa

    kind = _type_of(column)
    if isinstance(column, LabelColumn):
        names = pa.array([_name(label, column) for label in column.labels], type=kind)
        return names.take(pa.array(values.astype(np.int64)))
    if column.kind == "bits":
        raw = np.ascontiguousarray(values.astype("<u8").view(np.uint8)[:, : bytes_of(column)])
        return pa.FixedSizeBinaryArray.from_buffers(kind, len(values), [None, pa.py_buffer(raw)])
    if column.kind == "integers":
        return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), column.width)
    return pa.array(values)


def _name(label: Label, column: LabelColumn) -> Label:
    """A label as it stands in its column: itself, or its JSON text among labels of several kinds."""
    mixed = len({type(other) for other in column.labels}) > 1
    return json.dumps(label, ensure_ascii=False) if mixed else label


def _from_arrow(column: Column | LabelColumn, array: Any) -> AnyArray:
    """An Arrow array without gaps, as values are held in memory; −1 for what is no label."""
    if isinstance(column, LabelColumn):
        coded = array if hasattr(array, "dictionary") else array.dictionary_encode()
        code_of = {_name(label, column): code for code, label in enumerate(column.labels)}
        codes = np.array([code_of.get(value, -1) for value in coded.dictionary.to_pylist()], dtype=np.int64)
        return np.asarray(codes[coded.indices.to_numpy()])
    if column.kind == "bits":
        size = bytes_of(column)
        raw = np.frombuffer(array.buffers()[1], dtype=np.uint8, count=size * len(array), offset=size * array.offset)
        padded = np.zeros((len(array), 8 * bits.words_for(column.width)), dtype=np.uint8)
        padded[:, :size] = raw.reshape(len(array), size)
        return padded.view("<u8").astype(np.uint64, copy=False)
    if column.kind == "integers":
        return np.asarray(array.flatten().to_numpy(zero_copy_only=False)).reshape(len(array), column.width)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _fits(column: Column | LabelColumn, stored: Any) -> bool:
    """Whether a column of that Arrow type can be read: integers of any width will do, their range is checked later."""
    import pyarrow as pa

    wanted = _type_of(column)
    if stored == wanted or (pa.types.is_string(wanted) and pa.types.is_large_string(stored)):
        return True
    if isinstance(column, LabelColumn) or column.kind in ("bits", "seed"):
        return False
    if column.kind == "integers":
        return bool(
            pa.types.is_fixed_size_list(stored)
            and stored.list_size == column.width
            and pa.types.is_integer(stored.value_type)
        )
    return bool(pa.types.is_integer(stored))


# -- writing -----------------------------------------------------------------------------------------------------------


class ParquetWriter:
    """Writes reports into an open file, one row group per call."""

    def __init__(self, file: BinaryIO, schema: ReportSchema, *, with_ids: bool) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self._columns = schema.columns
        fields = [pa.field(column.name, _type_of(column), nullable=False) for column in schema.columns]
        named = [pa.field("id", pa.string())] if with_ids else []
        header = json.dumps(schema.header(), ensure_ascii=False, allow_nan=False)
        self._schema = pa.schema([*named, *fields], metadata={_KEY: header.encode()})
        # Noised bits and seeds do not compress; names of answers, and numbers of few values, become short codes.
        few = [c.name for c in schema.columns if isinstance(c, LabelColumn) or (c.limit <= _FEW and c.kind != "bits")]
        self._writer = parquet.ParquetWriter(
            file,
            self._schema,
            use_dictionary=few,
            compression={field.name: "zstd" if field.name == "id" else "none" for field in self._schema},
            write_statistics=False,
            write_page_checksum=True,
        )

    def write(self, columns: Mapping[str, AnyArray], ids: Sequence[str | None] | None) -> None:
        """Add some reports."""
        import pyarrow as pa

        arrays = [_to_arrow(column, columns[column.name]) for column in self._columns]
        if "id" in self._schema.names:
            named = [None] * len(arrays[0]) if ids is None else [None if id is None else require_id(id) for id in ids]
            arrays.insert(0, pa.array(named, type=pa.string()))
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def close(self) -> None:
        """Write what stands at the end of the file."""
        self._writer.close()


# -- reading -----------------------------------------------------------------------------------------------------------


def read_parquet(file: BufferedReader, refusals: Refusals, expected: ReportSchema | None = None) -> Iterator[Block]:
    """The reports of a file, in blocks, the first of which is empty; arguments as of `read_lines`."""
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
            header = _read_header(source.schema_arrow.metadata, name)
            schema = header.schema_within(expected)
            yield schema.empty()
            wrong = header.differs_from(schema)
            if wrong:
                refusals.refuse("another channel", name, wrong, source.metadata.num_rows)
                return
            _require_columns(source.schema_arrow, schema, name)
            number = 1
            for batch in source.iter_batches(batch_size=schema.rows_at_a_time, use_threads=False):
                yield from _block_of(batch, number, schema, name, refusals)
                number += len(batch)
            if number - 1 != source.metadata.num_rows:
                raise FormatError(
                    f"{name} is damaged: it announces {source.metadata.num_rows} reports and holds {number - 1}.",
                    remedy=_DAMAGED,
                )
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # the disk, not the content
                raise
            first = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
            reason = first.encode("unicode_escape").decode()  # it may repeat bytes of the file
            raise FormatError(f"{name} is damaged ({reason}).", remedy=_DAMAGED) from None


def _read_header(metadata: Mapping[bytes, bytes] | None, name: str) -> Header:
    written = (metadata or {}).get(_KEY)
    if written is None:
        what = f"{name} is no file of reports: its metadata has no {_KEY.decode()!r}."
        raise FormatError(what, remedy=NO_REPORTS)
    try:
        content = STRICT_JSON.decode(written.decode())
    except (ValueError, RecursionError):
        raise FormatError(f"{name} is damaged: its header is not JSON.", remedy=_DAMAGED) from None
    return Header.read(content, name)


def _require_columns(stored: Any, schema: ReportSchema, name: str) -> None:
    """Refuse columns of another name or type: the file as a whole is not what it says."""
    import pyarrow as pa

    wanted = {column.name: column for column in schema.columns}
    for column_name, column in wanted.items():
        if column_name not in stored.names:
            raise FormatError(f"{name} has no column {column_name!r}.", remedy=_DAMAGED)
        kind = stored.field(column_name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not _fits(column, kind):
            raise FormatError(
                f"column {column_name!r} of {name} is {kind}; allowed: {_type_of(column)}.", remedy=_DAMAGED
            )
    unknown = [column_name for column_name in stored.names if column_name not in wanted and column_name != "id"]
    if unknown or len(set(stored.names)) < len(stored.names):
        what = f"an unknown column {shown(unknown[0])}" if unknown else "a column twice"
        raise FormatError(f"{name} has {what}; allowed: id, {', '.join(wanted)}.", remedy=_DAMAGED)
    if "id" in stored.names and stored.field("id").type not in (pa.string(), pa.large_string()):
        raise FormatError(f"column 'id' of {name} is {stored.field('id').type}; allowed: string.", remedy=_DAMAGED)


def _block_of(batch: Any, number: int, schema: ReportSchema, name: str, refusals: Refusals) -> Iterator[Block]:
    """The complete rows of a batch, then a refusal of the others."""
    rows = np.arange(number, number + len(batch))
    lost = _without_value(batch, schema)
    bad = [(int(rows[i]), f"it has no value in column {column!r}.") for i, column in sorted(lost.items())]
    ids = None
    if "id" in batch.schema.names:
        ids, wrong = _read_ids(batch.column("id"))
        bad += [(int(rows[i]), what) for i, what in wrong.items() if i not in lost]
        lost |= dict.fromkeys(wrong, "id")
    if lost:
        import pyarrow as pa

        kept = np.ones(len(batch), dtype=bool)
        kept[list(lost)] = False
        batch, rows = batch.filter(pa.array(kept)), rows[kept]
        ids = None if ids is None else [id for id, keep in zip(ids, kept, strict=True) if keep]
    columns = {column.name: _from_arrow(column, batch.column(column.name)) for column in schema.columns}
    block = Block(schema, columns, ids, rows, f"{name}, row")
    unknown = _no_labels(block, batch)
    if unknown:
        bad += unknown
        block = block.take(columns["answer"] >= 0)
    bad.sort()
    if not refusals.skip and bad:
        block = block.take(block.places < bad[0][0])
    yield block
    for place, what in bad:
        refusals.refuse("malformed", f"{name}, row {place}", what)


def _without_value(batch: Any, schema: ReportSchema) -> dict[int, str]:
    """Rows with a gap, and the column that it is in."""
    gaps_at: dict[int, str] = {}
    for column in schema.columns:
        array = batch.column(column.name)
        gaps = np.zeros(len(array), dtype=bool)
        if array.null_count:
            gaps |= array.is_null().to_numpy(zero_copy_only=False)
        if isinstance(column, Column) and column.kind == "integers" and array.values.null_count:
            entries = array.fill_null([0] * column.width).flatten() if array.null_count else array.flatten()
            gaps |= entries.is_null().to_numpy(zero_copy_only=False).reshape(len(array), column.width).any(axis=1)
        for i in np.flatnonzero(gaps).tolist():
            gaps_at.setdefault(i, column.name)
    return gaps_at


def _read_ids(array: Any) -> tuple[list[str | None] | None, dict[int, str]]:
    """Ids, None where a report has none, and the rows whose id is not usable."""
    if array.null_count == len(array):
        return None, {}
    ids: list[str | None] = array.to_pylist()
    wrong = {}
    for i, id in enumerate(ids):
        if id is not None and not 1 <= len(id) <= LONGEST_ID:
            wrong[i] = f"an id is {shown(id)}; allowed: a text of 1 to {LONGEST_ID} characters."
    return ids, wrong


def _no_labels(block: Block, batch: Any) -> list[tuple[int, str]]:
    """Rows whose answer is no label of the channel."""
    column = block.schema.columns[0]
    if not isinstance(column, LabelColumn):
        return []
    wrong = np.flatnonzero(block.columns[column.name] < 0).tolist()
    values = batch.column(column.name)
    return [
        (int(block.places[i]), f"its answer is {shown(values[i].as_py())}; allowed: {shorten(column.labels.labels)}.")
        for i in wrong
    ]
