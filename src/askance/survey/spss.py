"""SPSS files, read in a process of their own: damaged ones can crash the library that reads them.

`python -m askance.survey.spss FILE LIMIT` writes the table to standard output as an Arrow stream, or one line that says
what is wrong; nothing is left on the disk, and standard error, where values might be told, goes nowhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from askance.errors import FormatError, InputError
from askance.survey.packed import too_large
from askance.survey.tables import first_line, without_empty_texts

if TYPE_CHECKING:
    import pandas as pd

_REFUSED, _TOO_LARGE = 3, 4
_AGAIN = "Get the file again."


def read_spss(path: Path, limit: int) -> Any:
    """The table of an SPSS file (.sav, .zsav), as Arrow has it."""
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
    command = [sys.executable, "-P", "-W", "ignore", "-m", "askance.survey.spss", str(path.absolute()), str(limit)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, check=False)
    if ran.returncode == 0:
        return pa.ipc.open_stream(ran.stdout).read_all()
    if ran.returncode == _TOO_LARGE:
        raise too_large(path, limit)
    reason = ran.stdout.decode(errors="replace") if ran.returncode == _REFUSED else "the reader crashed"
    raise FormatError(f"{path} is not an SPSS file, or damaged ({reason}).", remedy=_AGAIN)


def frame_of(path: str, limit: int) -> pd.DataFrame:
    """The table with labels in place of values; run it where it may crash."""
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
    for name, labels in about.variable_value_labels.items():
        present = frame[name].dropna().unique()
        if len(present) and all(value in labels for value in present) and len(set(labels.values())) == len(labels):
            ordered = [labels[value] for value in sorted(labels)]
            frame[name] = pd.Categorical(frame[name].map(labels), categories=ordered)
    return frame


def write_table(path: str, limit: int, sink: IO[bytes]) -> int:
    """Read a table and write it, or what is wrong with it; returns the exit code."""
    import pyarrow as pa

    try:
        table = pa.Table.from_pandas(frame_of(path, limit), preserve_index=False)
    except OverflowError:
        return _TOO_LARGE
    except Exception as error:  # whatever a damaged file brings about
        sink.write(first_line(error).encode(errors="replace"))
        return _REFUSED
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return 0


if __name__ == "__main__":
    sys.exit(write_table(sys.argv[1], int(sys.argv[2]), sys.stdout.buffer))
