"""Tables from files: CSV, TSV, JSON, Parquet, Stata, SPSS."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from askance.errors import FormatError, InputError
from askance.formats.disk import as_path
from askance.survey.exports import Source, check_source, csv_of_records, in_utf8, notes_on, without_lines_of_qualtrics
from askance.survey.packed import PACKED, limit_of, read_bounded, too_large, unpacked
from askance.survey.spss import read_spss
from askance.survey.tables import Columns, first_line, without_empty_texts

if TYPE_CHECKING:
    import pandas as pd

#: Cells of a text file that mean "no answer", beside empty ones: what R, pandas and spreadsheets write.
MISSING_CELLS = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null")
_READABLE = ".csv, .tsv and .json (also .gz, .bz2, .xz, .zip), .parquet, .dta, .sav"
_TEXTS = (".csv", ".tsv", ".tab", ".txt", ".json")
_BINARY = (".parquet", ".pq", ".dta", ".sav", ".zsav")
#: All ends of names that are read.
SUFFIXES = (*_TEXTS, *(kind + packed for kind in _TEXTS for packed in PACKED), ".zip", *_BINARY)
# How files begin, where a pipe has no name that tells what it holds.
_BEGINNINGS = {
    b"\x1f\x8b": ".csv.gz",
    b"BZh": ".csv.bz2",
    b"\xfd7zXZ\x00": ".csv.xz",
    b"PK\x03\x04": ".zip",
    b"PAR1": ".parquet",
    b"<stata_dta>": ".dta",
    # Older versions of Stata begin with their number and the order of bytes.
    **{bytes([version, order]): ".dta" for version in (105, 108, 110, 111, 113, 114, 115) for order in (1, 2)},
    b"$FL": ".sav",
}
# What is looked at to tell how cells are separated.
_FIRST = 1 << 16
_Bytes: TypeAlias = bytes | bytearray
_AGAIN = "Get the file again."


def read_table(
    path: str | Path,
    *,
    source: Source | None = None,
    labels: bool = True,
    texts: bool = False,
    max_bytes: int | None = None,
) -> Columns:
    """Read a table: CSV, TSV or JSON (plain, .gz, .bz2, .xz, .zip), Parquet, Stata (.dta), SPSS (.sav).

    In text files the first line holds the names; empty cells and NA, N/A, NaN, NULL are missing values. A CSV file may
    use commas, semicolons (then also decimal commas) or tabs. Exports of Qualtrics, LimeSurvey and formr are recognised
    by what they hold, and `notes` of the table says so. SPSS needs `pip install "askance[files]"`, and is read in a
    process of its own. A pipe is read once; where its name does not tell what it holds, its first bytes do.

    Args:
        path: where it is.
        source: "qualtrics", "limesurvey" or "formr", which is refused where it is none; "plain" for none of them, for
            a file that only looks like one; default: as it looks.
        labels: values of Stata and SPSS files are replaced by their labels in columns where every value has one; what
            the file declares missing is missing either way.
        texts: cells of text files stay as they are written, and only empty ones are missing.
        max_bytes: refuse a table with more bytes than this, unpacked and with 8 for every cell; default: what the
            environment variable ASKANCE_MAX_BYTES says, or 1 GiB.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "survey.csv"
    >>> _ = path.write_text("answer,age\\nyes,31\\nno,\\n")
    >>> table = read_table(path)
    >>> table, int(table["age"].missing.sum())
    (Columns(2 rows of 'answer', 'age'), 1)
    """
    place, limit = as_path(path), limit_of(max_bytes)
    check_source(source)
    kind = next((suffix for suffix in reversed(SUFFIXES) if place.name.lower().endswith(suffix)), "")
    is_stream = str(place).startswith("/dev/") or (
        os.path.exists(place) and not os.path.isfile(place) and not os.path.isdir(place)
    )
    if not kind and not is_stream:
        raise InputError(f"{path} is of no known kind; allowed: {_READABLE}.", remedy="Rename or convert it.")
    if kind in (".sav", ".zsav") and (not is_stream or os.path.isfile(place)):
        read_bounded(place, limit)  # says why where it cannot
        data_of_spss, weight = read_spss(place, limit, labels)
        return _noted(Columns.of(data_of_spss), path, source, weight=weight)
    data = read_bounded(place, limit)
    kind = kind or next((name for start, name in _BEGINNINGS.items() if data.startswith(start)), ".csv")
    if kind in (".sav", ".zsav"):
        raise InputError(f"{path} is a pipe; allowed for SPSS: files.", remedy="Write it to a file first.")
    if kind == ".dta":
        return _noted(Columns.of(_read_stata(place, data, labels)), path, source)
    if kind in (".parquet", ".pq"):
        return _noted(Columns.of(_read_parquet(place, data, limit)), path, source)
    content = in_utf8(bytes(unpacked(place, data, f".{kind.rpartition('.')[2]}", limit)), str(path))
    if kind.startswith(".json"):
        content = csv_of_records(content, str(path))
    tabs, of_qualtrics = kind.startswith((".tsv", ".tab")), False
    if content:
        content, of_qualtrics = without_lines_of_qualtrics(content, _dialect(content, tabs)[0], str(path), source)
    table = Columns.of(_read_text(content, str(path), limit, tabs=tabs, texts=texts))
    return _noted(table, path, source, of_qualtrics=of_qualtrics)


def _noted(
    table: Columns, path: str | Path, source: str | None, *, of_qualtrics: bool = False, weight: str = ""
) -> Columns:
    """The table with what is to be said about how it was read."""
    table.notes = (*table.notes, *notes_on(table, str(path), source, of_qualtrics=of_qualtrics))
    if weight in table:
        table.notes += (f"in SPSS this file is weighted by {weight!r}: name it as the weights to do the same here",)
    return table


def _read_text(content: _Bytes, name: str, limit: int, *, tabs: bool, texts: bool = False) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    if not content[:_FIRST].strip() and not content.strip():
        raise FormatError(f"{name} is empty.", remedy="The first line must hold the column names.")
    delimiter, decimal = _dialect(content, tabs)
    # Cells become numbers of 8 bytes, and "1," is one of two.
    if 8 * (content.count(delimiter.encode()) + content.count(b"\n")) > limit:
        raise too_large(name, limit)
    convert = csv.ConvertOptions(
        null_values=list(MISSING_CELLS), strings_can_be_null=True, decimal_point=decimal, check_utf8=True
    )
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    # Types are inferred from the first block: where later ones disagree, the whole file is one block.
    for block in (1 << 20, len(content) + 1):
        try:
            read = csv.ReadOptions(block_size=min(block, 2**31 - 1))
            table = _parsed(content, read, parse, convert)
            names = table.column_names  # where they are not UTF-8, this is what says so
            if len(names) == 1 and parse.ignore_empty_lines and _has_empty_lines(content):
                # In a single column an empty line is a gap: dropping it would shift all rows below. At the end it is
                # nothing.
                content = content.strip(b"\r\n") + b"\n"
                parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False)
                table = _parsed(content, read, parse, convert)
            if texts:
                types = dict.fromkeys(names, pa.string())
                convert = csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
                table = _parsed(content, read, parse, convert)
        except UnicodeDecodeError:
            raise FormatError(f"{name} is not UTF-8 text.", remedy="Save the file as UTF-8.") from None
        except MemoryError:  # which one of Arrow's own is; with the whole file as one block there would be less still
            raise
        except pa.ArrowException as error:
            reason = _without_cells(first_line(error))
            continue
        foreign = [field.name for field in table.schema if pa.types.is_binary(field.type)]
        if foreign:
            raise FormatError(f"{name}: column {foreign[0]!r} is not UTF-8 text.", remedy="Save the file as UTF-8.")
        return table
    if "invalid UTF8" in reason:
        raise FormatError(f"{name} is not UTF-8 text.", remedy="Save the file as UTF-8.")
    raise FormatError(
        f"{name} is not a table ({reason}).", remedy="Check that all lines have the same number of cells."
    )


def _without_cells(reason: str) -> str:
    """What Arrow says without the cells that it quotes, which may be somebody's secret."""
    reason = re.sub(r"(Expected \d+ columns, got \d+).*", r"\1", reason, flags=re.DOTALL)
    return re.sub(r"(invalid value|error to \w+).*", r"\1", reason, flags=re.DOTALL)


def _parsed(content: _Bytes, read: Any, parse: Any, convert: Any) -> Any:
    """The table of Arrow."""
    import pyarrow as pa
    from pyarrow import csv

    return csv.read_csv(pa.BufferReader(content), read_options=read, parse_options=parse, convert_options=convert)


def _has_empty_lines(content: _Bytes) -> bool:
    inner = content.strip(b"\r\n")
    return b"\n\n" in inner or b"\n\r\n" in inner


def _dialect(content: _Bytes, tabs: bool) -> tuple[str, str]:
    """What separates cells, and the decimal mark."""
    lines = content[:_FIRST].decode("utf-8", errors="replace").splitlines()
    counts = {mark: lines[0].count(mark) for mark in ",;\t"}
    delimiter = "\t" if tabs else max(counts, key=lambda mark: counts[mark]) if any(counts.values()) else ","
    decimal_comma = delimiter != "," and re.search(
        r'(?:^|[;\t])"?-?\d+,\d+"?(?:[;\t]|$)', "\n".join(lines), re.MULTILINE
    )
    return delimiter, "," if decimal_comma else "."


def _read_parquet(path: Path, data: bytes, limit: int) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(pa.BufferReader(data))
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        file = parquet.ParquetFile(pa.BufferReader(data), page_checksum_verification=True, read_dictionary=texts)
        if file.metadata.num_rows * file.metadata.num_columns * 8 > limit:
            raise too_large(path, limit)
        table = file.read()
        table.validate(full=True)
        if sum(_length(table.column(i)) for i, name in enumerate(table.column_names) if name in texts) > limit:
            raise too_large(path, limit)
        table = table.cast(pa.schema([pa.field(f.name, pa.string()) if f.name in texts else f for f in table.schema]))
    except FormatError:
        raise
    except Exception as error:  # Arrow's own errors, OSError where bytes are damaged, MemoryError where sizes are
        raise FormatError(f"{path} is not Parquet, or damaged ({first_line(error)}).", remedy=_AGAIN) from None
    return table


def _length(column: Any) -> int:
    """How many bytes a column of texts has when each is written out; in a file, equal ones may be written once."""
    import pyarrow.compute as pc

    if not hasattr(column.type, "value_type"):
        return int(pc.sum(pc.binary_length(column)).as_py() or 0)
    sizes = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
    return sum(int(pc.sum(pc.cast(size, "int64")).as_py() or 0) for size in sizes)


class _Noticing(io.BytesIO):
    """Bytes that notice when fewer are left than asked for; of labels, pandas takes what there is."""

    fell_short = False

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        # Only at the end, where the next labels would be announced by four bytes, may there be none.
        self.fell_short |= size is not None and size > len(data) and (size, data) != (4, b"")
        return data


def _read_stata(path: Path, data: bytes, labels: bool) -> pd.DataFrame:
    import pandas as pd
    from pandas.io.stata import StataReader

    source = _Noticing(data)
    try:
        with StataReader(source, convert_categoricals=False) as reader:
            frame, known = reader.read(), reader.value_labels()
            named = {name for name in getattr(reader, "_lbllist", ()) if name}
    except Exception as error:  # whatever a damaged file brings about
        raise FormatError(f"{path} is not a Stata file, or damaged ({first_line(error)}).", remedy=_AGAIN) from None
    if source.fell_short or (data.startswith(b"<stata_dta>") and b"</stata_dta>" not in data[-64:]):
        raise FormatError(f"{path} is cut, and has perhaps lost labels of its values.", remedy=_AGAIN)
    if named - set(known):
        raise FormatError(
            f"{path} is cut: it lacks the labels {sorted(named - set(known))[0]!r} that a column has.",
            remedy="Get the file again; if there never were such labels, take them off the column in Stata.",
        )
    if frame.columns.has_duplicates:
        return frame  # which is refused, as of all brands
    if not labels:
        return without_empty_texts(frame)
    try:
        labelled = pd.read_stata(io.BytesIO(data), order_categoricals=False)
    except ValueError:  # two values with one label: the numbers say more
        return without_empty_texts(frame)
    except Exception as error:
        raise FormatError(f"{path} is damaged ({first_line(error)}).", remedy=_AGAIN) from None
    frame = without_empty_texts(frame)
    for name in frame.columns:
        if isinstance(labelled[name].dtype, pd.CategoricalDtype):
            values = labelled[name].cat.remove_unused_categories()
            if all(isinstance(label, str) for label in values.cat.categories):
                frame[name] = values
    return frame
