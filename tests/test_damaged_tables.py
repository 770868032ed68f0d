"""Damaged tables: whatever is wrong with the bytes, a reader says so in one line, and no process dies of it.

300 files are damaged for every end of a name that `read_table` knows, always the same ones.
"""

from __future__ import annotations

import bz2
import contextlib
import functools
import gzip
import io
import lzma
import random
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from askance.errors import AskanceError, FormatError
from askance.survey import Columns, read_table
from askance.survey.files import SUFFIXES

N_FILES = 300
ROWS = 40
FRAME = pd.DataFrame(
    {
        "said": np.arange(ROWS) % 3 % 2 + 1.0,
        "age": np.arange(ROWS) * 1.5 + 20,
        "place": [["north", "süd", "", "west"][i % 4] for i in range(ROWS)],
    }
)
LABELS: dict[Any, Any] = {"said": {1: "yes", 2: "no"}, "age": {-9: "refused"}}


def text(mark: str = ",") -> bytes:
    return str(FRAME.to_csv(index=False, sep=mark)).encode()


def zipped() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", text())
    return packed.getvalue()


def of_parquet() -> list[bytes]:
    """With checksums of pages, as other programs write it, and with columns that are no numbers or texts."""
    more = {"when": pd.date_range("2020-01-01", periods=ROWS), "whole": np.arange(ROWS), "flag": np.arange(ROWS) > 3}
    plain = pa.Table.from_pandas(FRAME.assign(**more), preserve_index=False)
    odd = plain.append_column("list", pa.array([[i] for i in range(ROWS)])).append_column(
        "level", pa.array(FRAME["place"]).dictionary_encode()
    )
    made = []
    for table, options in ((plain, {"write_page_checksum": True}), (plain, {}), (odd, {"compression": "none"})):
        parquet.write_table(table, sink := io.BytesIO(), **options)
        made.append(sink.getvalue())
    return made


def records() -> bytes:
    return str(FRAME.to_json(orient="records")).encode()


def of_stata() -> list[bytes]:
    """Of old and of new versions."""
    made = []
    for version in (114, 117, 118, 119):
        frame = FRAME.replace({"place": {"süd": "south"}})
        frame.to_stata(sink := io.BytesIO(), write_index=False, value_labels=LABELS, version=version)
        made.append(sink.getvalue())
    return made


def of_spss(suffix: str) -> list[bytes]:
    pyreadstat = pytest.importorskip("pyreadstat", reason="the extra `files` is not installed")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        pyreadstat.write_sav(FRAME, str(path), variable_value_labels=LABELS, compress=suffix == ".zsav")
        return [path.read_bytes()]


PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
MAKERS: dict[str, Callable[[], list[bytes]]] = {
    **{
        f"{kind}{packed}": functools.partial(lambda pack, mark: [pack(text(mark))], pack, mark)
        for kind, mark in {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ";"}.items()
        for packed, pack in PACKERS.items()
    },
    **{f".json{packed}": functools.partial(lambda pack: [pack(records())], pack) for packed, pack in PACKERS.items()},
    ".zip": lambda: [zipped()],
    ".parquet": of_parquet,
    ".pq": of_parquet,
    ".dta": of_stata,
    ".sav": lambda: of_spss(".sav"),
    ".zsav": lambda: of_spss(".zsav"),
}
CAN_CRASH = (".sav", ".zsav")


def damaged(data: bytes, draw: random.Random) -> bytes:
    """The bytes with one to three things wrong."""
    found = bytearray(data)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        size = len(found)
        at = draw.randrange(size + 1) if draw.random() < 0.6 else min(size, draw.randrange(400))
        length = draw.choice([1, 1, 2, 4, 8, 40, 400])
        noise = draw.choice([bytes(length), b"\xff" * length, draw.randbytes(length), b"\x7f" + b"\xff" * (length - 1)])
        way = draw.randrange(7)
        if way == 0:
            del found[at:]
        elif way == 1:
            del found[at : at + length]
        elif way == 2:
            found[at:at] = noise
        elif way == 3:
            found[at : at + length] = noise[: len(found[at : at + length])]
        elif way == 4 and at < size:
            found[at] ^= 1 << draw.randrange(8)
        elif way == 5:
            other = draw.randrange(size + 1)
            found[at:at] = found[other : other + length]
        else:
            found[at : at + length] = draw.choice(
                [b"9223372036854775807", b"-9223372036854775808", b"1e308", b"\r", b'"']
            )
    return bytes(found)


def files(suffix: str, count: int = N_FILES) -> Iterator[bytes]:
    """Damaged files of a kind."""
    draw, whole = random.Random(f"damaged {suffix}"), MAKERS[suffix]()
    for i in range(count):
        yield damaged(whole[i % len(whole)], draw)


def look_at(table: Columns) -> None:
    """Use all columns; those that cannot be used are refused."""
    for name in table.names:
        with contextlib.suppress(AskanceError):
            table[name].trimmed().distinct()


def test_every_reader_is_covered() -> None:
    assert set(MAKERS) == set(SUFFIXES)


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix not in CAN_CRASH])
def test_damaged_files_are_read_or_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    messages = []
    for content in files(suffix):
        path.write_bytes(content)
        try:
            look_at(read_table(path))
        except AskanceError as error:
            messages.append(str(error))
    assert [message for message in messages if len(message.splitlines()) > 1] == []
    assert len(messages) > (0 if suffix in (".csv", ".tsv", ".tab", ".txt") else N_FILES // 3)


CHILD = """
import io, pathlib, sys
from askance.survey.spss import write_table
for path in sorted(pathlib.Path(sys.argv[1]).iterdir())[int(sys.argv[2]):]:
    print(path.name, flush=True)
    sink = io.BytesIO()
    if write_table(str(path), 1 << 30, sink) == 0:
        (path.parent.parent / "read" / path.name).write_bytes(sink.getvalue())
"""


@pytest.mark.parametrize("suffix", CAN_CRASH)
def test_damaged_files_crash_no_more_than_the_process_that_reads_them(suffix: str, tmp_path: Path) -> None:
    """One process goes through all files; where it dies, another goes on with the next."""
    for folder in ("damaged", "read"):
        (tmp_path / folder).mkdir()
    for i, content in enumerate(files(suffix)):
        (tmp_path / "damaged" / f"{i:03}{suffix}").write_bytes(content)
    seen, crashed = 0, []
    while seen < N_FILES:
        command = [sys.executable, "-c", CHILD, str(tmp_path / "damaged"), str(seen)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        seen += len(ran.stdout.split())
        if seen < N_FILES or ran.returncode:
            assert ran.returncode < 0, ran.stderr  # a signal; anything else would be a traceback
            crashed.append(ran.stdout.split()[-1])
    for path in (tmp_path / "read").iterdir():
        look_at(Columns.of(pa.ipc.open_stream(path.read_bytes()).read_all()))
    for name in crashed[:1]:
        with pytest.raises(FormatError, match="the reader crashed"):
            read_table(tmp_path / "damaged" / name)


# -- damage that a reader may not see ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(4))
def test_a_stata_file_whose_end_is_cut_is_refused(version: int, tmp_path: Path) -> None:
    """Its values are all there, its labels are not."""
    data, path = of_stata()[version], tmp_path / "a.dta"
    path.write_bytes(data)
    assert read_table(path)["said"].levels == ("yes", "no")
    for cut in (*range(1, 40), *range(40, len(data), 97)):
        path.write_bytes(data[:-cut])
        with pytest.raises(FormatError, match=r"cut|damaged"):
            read_table(path)


def test_checksums_of_pages_are_verified(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    numbers = pa.table({"age": np.arange(1000.0)})
    options: Any = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    parquet.write_table(numbers, path, write_page_checksum=True, **options)
    data = bytearray(path.read_bytes())
    data[data.index(np.float64(500.0).tobytes()) + 6] ^= 1
    path.write_bytes(data)
    with pytest.raises(FormatError, match="checksum"):
        read_table(path)


def test_a_cut_spss_file_is_refused(tmp_path: Path) -> None:
    (data,), path = of_spss(".sav"), tmp_path / "a.sav"
    path.write_bytes(data[:-200])
    with pytest.raises(FormatError, match="damaged"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.dta", b""),
        ("a.parquet", b""),
        ("a.csv.bz2", bz2.compress(b"a,b\n1,2\n" * 999)[:-9]),
        ("a.csv.xz", lzma.compress(b"a,b\n1,2\n" * 999)[:-9]),
        ("a.csv.gz", gzip.compress(b"a,b\n1,2\n" * 999)[:-9]),
        ("a.zip", b"PK\x05\x06" + bytes(18)),
        ("a.zip", zipped().replace(b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00")),
    ],
    ids=["dta", "parquet", "bz2", "xz", "gz", "zip without files", "zip with a password"],
)
def test_files_that_ended_in_a_traceback(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AskanceError, match=name):
        read_table(tmp_path / name)
