"""Tables from files: CSV, TSV, Parquet, Stata, SPSS."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askance._checks import shorten
from askance.errors import FormatError, InputError
from askance.formats.disk import read_whole
from askance.survey.tables import Columns, first_line

if TYPE_CHECKING:
    import pandas as pd

#: Cells of a text file that mean "no answer", beside empty ones: what R, pandas and spreadsheets write.
MISSING_CELLS = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null")
_READABLE = ".csv and .tsv (also .gz, .bz2, .xz, .zip), .parquet, .dta, .sav"
# What Arrow says about a line or a cell, up to where it quotes it: a cell may be somebody's truth.
_CELLS = re.compile(r"(columns, got [0-9]+|invalid value)\b.*", re.DOTALL)
_UNPACK = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}


def read_table(path: str | Path, *, texts: bool = False) -> Columns:
    """Read a table: CSV or TSV (plain, .gz, .bz2, .xz, .zip), Parquet, Stata (.dta), SPSS (.sav).

    In text files the first line holds the names; empty cells and NA, N/A, NaN, NULL are missing values. A CSV file may
    use commas, semicolons (then also decimal commas) or tabs. Values of Stata and SPSS files are replaced by their
    labels in columns where every value has one. SPSS needs `pip install "askance[files]"`.

    With `texts`, cells of text files stay as they are written, and only empty ones are missing.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "survey.csv"
    >>> _ = path.write_text("answer,age\\nyes,31\\nno,\\n")
    >>> table = read_table(path)
    >>> table, int(table["age"].missing.sum())
    (Columns(2 rows of 'answer', 'age'), 1)
    """
    place = Path(path)
    suffixes = [suffix.lower() for suffix in place.suffixes[-2:]]
    last = suffixes[-1] if suffixes else ""
    if last in (".dta", ".sav", ".zsav"):
        return Columns.of(_read_stata(place) if last == ".dta" else _read_spss(place))
    if last in (".parquet", ".pq"):
        return Columns.of(_read_parquet(place))
    kind = suffixes[-2] if last in _UNPACK and len(suffixes) > 1 else last
    if kind not in (".csv", ".tsv", ".tab", ".txt", ".zip"):
        raise InputError(f"{path} is of no known kind; allowed: {_READABLE}.", remedy="Rename or convert it.")
    content = _unpacked(place, last)
    return Columns.of(_read_text(content, str(path), tabs=kind in (".tsv", ".tab"), texts=texts))


def _unpacked(path: Path, suffix: str) -> bytes:
    data = read_whole(path)
    try:
        if suffix == ".zip":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
                if len(members) != 1:
                    raise InputError(
                        f"{path} holds {len(members)} files ({shorten(members)}); allowed: one.",
                        remedy="Unpack it and name the one you mean.",
                    )
                return archive.read(members[0])
        return _UNPACK[suffix](data) if suffix in _UNPACK else data
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise FormatError(f"{path} cannot be unpacked ({first_line(error)}).", remedy="Get the file again.") from None


def _read_text(content: bytes, name: str, *, tabs: bool, texts: bool = False) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    if not content.strip():
        raise FormatError(f"{name} is empty.", remedy="The first line must hold the column names.")
    delimiter, decimal = _dialect(content, tabs)
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
        except pa.ArrowInvalid as error:
            reason = _CELLS.sub(r"\1", first_line(error))
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


def _parsed(content: bytes, read: Any, parse: Any, convert: Any) -> Any:
    """The table of Arrow."""
    import pyarrow as pa
    from pyarrow import csv

    return csv.read_csv(pa.BufferReader(content), read_options=read, parse_options=parse, convert_options=convert)


def _has_empty_lines(content: bytes) -> bool:
    inner = content.strip(b"\r\n")
    return b"\n\n" in inner or b"\n\r\n" in inner


def _dialect(content: bytes, tabs: bool) -> tuple[str, str]:
    """What separates cells, and the decimal mark."""
    lines = content[:65536].decode("utf-8", errors="replace").splitlines()
    counts = {mark: lines[0].count(mark) for mark in ",;\t"}
    delimiter = "\t" if tabs else max(counts, key=lambda mark: counts[mark]) if any(counts.values()) else ","
    decimal_comma = delimiter != "," and re.search(
        r'(?:^|[;\t])"?-?\d+,\d+"?(?:[;\t]|$)', "\n".join(lines), re.MULTILINE
    )
    return delimiter, "," if decimal_comma else "."


def _read_parquet(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.read_table(pa.BufferReader(read_whole(path)))
    except pa.ArrowInvalid as error:
        raise FormatError(f"{path} is not Parquet ({first_line(error)}).", remedy="Get the file again.") from None


def _read_stata(path: Path) -> pd.DataFrame:
    import pandas as pd

    data = read_whole(path)
    try:
        frame = pd.read_stata(io.BytesIO(data), convert_categoricals=False)
    except (ValueError, KeyError, EOFError, OSError) as error:
        raise FormatError(f"{path} is not a Stata file ({first_line(error)}).", remedy="Get the file again.") from None
    try:
        labelled = pd.read_stata(io.BytesIO(data), order_categoricals=False)
    except ValueError:  # two values with one label: the numbers say more
        return _without_empty_texts(frame)
    frame = _without_empty_texts(frame)
    for name in frame.columns:
        if isinstance(labelled[name].dtype, pd.CategoricalDtype):
            labels = labelled[name].cat.remove_unused_categories()
            if all(isinstance(label, str) for label in labels.cat.categories):
                frame[name] = labels
    return frame


def _read_spss(path: Path) -> pd.DataFrame:
    import pandas as pd

    read_whole(path)  # says why where it cannot
    try:
        import pyreadstat
    except ImportError:
        raise InputError(
            f"{path} is an SPSS file, and pyreadstat is not installed.",
            remedy='Install it with: pip install "askance[files]".',
        ) from None
    try:
        frame, about = pyreadstat.read_sav(str(path))
    except pyreadstat.ReadstatError as error:
        raise FormatError(f"{path} is not an SPSS file ({first_line(error)}).", remedy="Get the file again.") from None
    frame = _without_empty_texts(frame)
    for name, labels in about.variable_value_labels.items():
        present = frame[name].dropna().unique()
        if len(present) and all(value in labels for value in present) and len(set(labels.values())) == len(labels):
            ordered = [labels[value] for value in sorted(labels)]
            frame[name] = pd.Categorical(frame[name].map(labels), categories=ordered)
    return frame


def _without_empty_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Neither Stata nor SPSS knows a missing text: an empty one stands for it."""
    return frame.replace({name: {"": None} for name in frame.columns if frame[name].dtype in ("object", "str")})
