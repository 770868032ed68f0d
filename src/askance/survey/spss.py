"""SPSS files, read in a process of their own: damaged ones can crash the library that reads them.

`python -m askance.survey.spss FILE LIMIT LABELS` writes the table to standard output as an Arrow stream, or one line
that says what is wrong; nothing is left on the disk, and standard error, where values might be told, goes nowhere.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from askance.errors import FormatError, InputError
from askance.survey.packed import too_large
from askance.survey.tables import first_line, without_empty_texts

if TYPE_CHECKING:
    import pandas as pd

_REFUSED, _TOO_LARGE = 3, 4
_AGAIN = "Get the file again."
# Where the table that the other process writes names its weights.
_WEIGHT = b"askance.weight"
# How far behind the variables their long names are looked for.
_NAMES_WITHIN = 1 << 20


def read_spss(path: Path, limit: int, labels: bool = True) -> tuple[Any, str]:
    """The table of an SPSS file (.sav, .zsav), as Arrow has it, and the column of its weights, if it names one."""
    import pyarrow as pa

    try:
        import pyreadstat  # noqa: F401
    except ImportError:
        raise InputError(
            f"{path} is an SPSS file, and pyreadstat is not installed.",
            remedy='Install it with: pip install "askance[files]".',
        ) from None
    # The same modules as here, and none that happen to lie in the current folder.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    arguments = [str(path.absolute()), str(limit), str(int(labels))]
    command = [sys.executable, "-P", "-W", "ignore", "-m", "askance.survey.spss", *arguments]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, check=False)
    if ran.returncode == 0:
        table = pa.ipc.open_stream(ran.stdout).read_all()
        return table, (table.schema.metadata or {}).get(_WEIGHT, b"").decode()
    if ran.returncode == _TOO_LARGE:
        raise too_large(path, limit)
    reason = ran.stdout.decode(errors="replace") if ran.returncode == _REFUSED else "the reader crashed"
    raise FormatError(f"{path} is not an SPSS file, or damaged ({reason}).", remedy=_AGAIN)


def frame_of(path: str, limit: int, labelled: bool = True) -> pd.DataFrame:
    """The table with labels in place of values, where wanted; run it where it may crash."""
    import pandas as pd
    import pyreadstat

    about = pyreadstat.read_sav(path, metadataonly=True)[1]
    width = sum(max(8, int(size)) for size in about.variable_storage_width.values())
    most, promised = limit // max(width, 1), about.number_rows
    if (promised or 0) > most:
        raise OverflowError(limit)
    # A file need not tell how many rows it has.
    frame, about = pyreadstat.read_sav(path, row_limit=min(most + 1, 2**31 - 1))
    if len(frame) > most:
        raise OverflowError(limit)
    if promised is not None and promised >= 0 and promised != len(frame):
        raise ValueError(f"it has {len(frame)} rows of {promised}")
    frame = without_empty_texts(frame)
    for name, labels in about.variable_value_labels.items() if labelled else ():
        present = frame[name].dropna().unique()
        if len(present) and all(value in labels for value in present) and len(set(labels.values())) == len(labels):
            ordered = [labels[value] for value in sorted(labels)]
            frame[name] = pd.Categorical(frame[name].map(labels), categories=ordered)
    return frame


def weight_of(path: str, names: Sequence[str]) -> str:
    """The column by which SPSS weighs the cases of a file; empty where it names none that is known.

    The header holds its place among the records of variables, each with a name of up to 8 letters; a later record has
    the long names, as in `SHORT=Long name`.
    """
    with open(path, "rb") as file:
        header = file.read(176)
        order = "<" if header[64:68] in (b"\2\0\0\0", b"\3\0\0\0") else ">"
        try:
            place = struct.unpack(f"{order}i", header[76:80])[0]
            short = _short_name(file, order, place) if place > 0 else b""
        except struct.error:  # a damaged file that could be read otherwise
            return ""
        rest = file.read(_NAMES_WITHIN)
    long = re.search(rb"[\t\0]" + re.escape(short) + rb"=([^\0-\x1f]+)", rest) if short else None
    known = [text.decode(errors="replace") for text in (long[1] if long else short, short)]
    return next((name for name in known if name in names), "")


def _short_name(file: IO[bytes], order: str, place: int) -> bytes:
    """The name in one of the records of variables; texts have several records."""
    short = b""
    for _ in range(place):
        kind, _, labelled, gaps = struct.unpack(f"{order}4i", file.read(16))
        if kind != 2:
            return b""
        short = file.read(16)[8:].strip()
        if labelled:
            (length,) = struct.unpack(f"{order}I", file.read(4))
            file.seek(-(-length // 4) * 4, os.SEEK_CUR)  # padded to whole words
        file.seek(8 * abs(gaps), os.SEEK_CUR)
    return short


def write_table(path: str, limit: int, sink: IO[bytes], labels: bool = True) -> int:
    """Read a table and write it, or what is wrong with it; returns the exit code."""
    import pyarrow as pa

    try:
        table = pa.Table.from_pandas(frame_of(path, limit, labels), preserve_index=False)
        table = table.replace_schema_metadata({_WEIGHT: weight_of(path, table.column_names).encode()})
    except OverflowError:
        return _TOO_LARGE
    except Exception as error:  # whatever a damaged file brings about
        sink.write(first_line(error).encode(errors="replace"))
        return _REFUSED
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return 0


if __name__ == "__main__":
    sys.exit(write_table(sys.argv[1], int(sys.argv[2]), sys.stdout.buffer, labels=sys.argv[3] == "1"))
