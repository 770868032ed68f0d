"""Tables that are too large, that come through a pipe, or that hold what no float is equal to."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from askance import Enumerated
from askance.cli.command import askance
from askance.cli.planning.guesses import read_guess
from askance.errors import FormatError, InputError
from askance.survey import Columns, read_table

TEXT = b"said,age\n" + b"yes,30\nno,45\n" * 50
DESIGN = ["--design", "forced-response", "--truth", "2/3", "--yes", "1/6"]


# -- limits ------------------------------------------------------------------------------------------------------------


def zipped(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", data)
    return packed.getvalue()


def of_parquet(table: pa.Table) -> bytes:
    parquet.write_table(table, sink := io.BytesIO())
    return sink.getvalue()


ZEROS = b"a\n" + b"0" * 3_000_000 + b"\n"
LARGE = {
    "packed.csv.gz": gzip.compress(ZEROS),
    "packed.zip": zipped(ZEROS),
    "plain.csv": ZEROS,
    "cells.csv": b"a,b,c,d\n" + b"1,1,1,1\n" * 50_000,
    "texts.parquet": of_parquet(pa.table({"a": ["x" * 100_000] * 30, "b": ["", None] * 15})),
    "cells.parquet": of_parquet(pa.table({"a": np.zeros(200_000)})),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_tables_are_refused_until_the_limit_is_raised(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    path.write_bytes(LARGE[name])
    with pytest.raises(FormatError, match=r"more than 1,000,000 bytes.*ASKANCE_MAX_BYTES"):
        read_table(path, max_bytes=1_000_000)
    monkeypatch.setenv("ASKANCE_MAX_BYTES", "1e6")
    with pytest.raises(FormatError, match="more than 1,000,000 bytes"):
        read_table(path)
    monkeypatch.setenv("ASKANCE_MAX_BYTES", "5e6")
    assert len(read_table(path)) > 0


@pytest.mark.parametrize("limit", ["", "much", "0", "-5", "nan", "inf"])
def test_limits_are_numbers(limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_bytes(TEXT)
    monkeypatch.setenv("ASKANCE_MAX_BYTES", limit)
    with pytest.raises(InputError, match="ASKANCE_MAX_BYTES is"):
        read_table(tmp_path / "a.csv")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell the peak of memory so")
def test_a_small_file_that_unpacks_to_gigabytes_takes_little_memory(tmp_path: Path) -> None:
    """4 GB of text in a few MB: refused at the limit."""
    path = tmp_path / "a.csv.gz"
    block = gzip.compress(b"1,2,3,4,5,6,7,8\n" * 100_000)
    path.write_bytes(gzip.compress(b"a,b,c,d,e,f,g,h\n") + block * 2500)
    code = (
        # Not the peak that `resource` knows, which is also that of the process this one was forked from.
        "import atexit, re, sys\n"
        "atexit.register(lambda: print(re.search('VmHWM:\\\\s*(\\\\d+)', open('/proc/self/status').read())[1]))\n"
        "sys.argv = ['askance', 'fit', sys.argv[1], '--formula', 'a ~ b', *sys.argv[2:]]\n"
        "from askance.cli import main; main()"
    )
    environment = {**os.environ, "ASKANCE_MAX_BYTES": "100e6"}
    command = [sys.executable, "-c", code, str(path), *DESIGN]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith("askance: ")
    assert "takes more than 100,000,000 bytes" in ran.stderr
    assert int(ran.stdout) < 1_000_000  # kB, of which the libraries take a third


def test_memory_that_runs_out_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's error for it is one of Arrow's errors too: taken for a wrong type, the file would be read once more."""

    def exhausted(*_: Any, **__: Any) -> Any:
        raise pa.ArrowMemoryError("malloc failed")

    (tmp_path / "a.csv").write_bytes(TEXT)
    monkeypatch.setattr("askance.survey.files._parsed", exhausted)
    with pytest.raises(MemoryError):
        read_table(tmp_path / "a.csv")


# -- pipes -------------------------------------------------------------------------------------------------------------


def through_pipe(data: bytes, use: Callable[[str], Any]) -> Any:
    """What is made of bytes that come through a pipe, as <(…) gives one."""
    reader, writer = os.pipe()

    def write() -> None:
        with os.fdopen(writer, "wb") as file:
            file.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        return use(f"/dev/fd/{reader}")
    finally:
        os.close(reader)
        thread.join()


PIPED = {
    "csv": TEXT,
    "gz": gzip.compress(TEXT),
    "zip": zipped(TEXT),
    "parquet": of_parquet(pa.table({"said": ["yes", "no"] * 50, "age": [30, 45] * 50})),
}


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes have no names here")
@pytest.mark.parametrize("kind", PIPED)
def test_pipes_are_read_once_and_told_by_their_first_bytes(kind: str) -> None:
    table = through_pipe(PIPED[kind], read_table)
    assert table["age"].values.tolist() == [30.0, 45.0] * 50


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes have no names here")
def test_commands_read_pipes() -> None:
    rng = np.random.default_rng(1)
    lines = [f"{'yes' if rng.random() < 0.4 else 'no'},{rng.integers(20, 70)}" for _ in range(400)]
    data = gzip.compress("\n".join(["said,age", *lines, ""]).encode())
    arguments = ["--formula", "said ~ I(age - 45)", *DESIGN, "--json"]
    fit = through_pipe(data, lambda path: CliRunner().invoke(askance, ["fit", path, *arguments]))
    assert fit.exit_code == 0, fit.output
    assert json.loads(fit.stdout)["prevalence"]


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes have no names here")
def test_guesses_come_through_a_pipe() -> None:
    """They were read twice: for the names of columns, and for their values."""
    model = Enumerated.saturated(["no", "yes"])
    (name,) = model.parameter_names
    given = {"theta": None, "fit": None}
    data = f"{name},other\n0.5,a\n1.5,b\n".encode()
    found = through_pipe(data, lambda path: read_guess(model, {**given, "prior": Path(path)}))
    assert found["prior"].tolist() == [[0.5], [1.5]]


def test_spss_does_not_come_through_a_pipe() -> None:
    with pytest.raises(InputError, match="Write it to a file first"):
        through_pipe(b"$FL2@(#)", read_table)


# -- values ------------------------------------------------------------------------------------------------------------

EXTREMES = [-(2**63), 2**63 - 1, 2**53 + 1, None]


@pytest.mark.parametrize(
    "make",
    [
        lambda: pa.table({"x": pa.array(EXTREMES, pa.int64())}),
        lambda: pl.DataFrame({"x": EXTREMES}),
        lambda: pl.DataFrame({"x": EXTREMES}).to_pandas(use_pyarrow_extension_array=True),
    ],
)
def test_whole_numbers_that_no_float_equals_are_rounded(make: Callable[[], Any]) -> None:
    column = Columns.of(make())["x"]
    assert column.values[:3].tolist() == [-(2.0**63), 2.0**63, 2.0**53]
    assert column.missing.tolist() == [False, False, False, True]


def test_extremes_in_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n-9223372036854775808,1e308\n9223372036854775807,-1e308\n1,\n")
    table = read_table(tmp_path / "a.csv")
    assert table["x"].values.tolist() == [-(2.0**63), 2.0**63, 1.0]
    assert table["y"].distinct() == [-1e308, 1e308]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([-(2**63) + 1, 2**63 - 1], pa.timestamp("us")),
        pa.array([2**31 - 1, 0], pa.date32()),
    ],
)
def test_columns_that_cannot_be_used_are_named(values: Any, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"odd": values, "age": [1, 2]}), tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table["age"].values.tolist() == [1, 2]
    with pytest.raises(InputError, match="column 'odd' holds values that cannot be read"):
        table["odd"]


def test_lines_that_end_in_carriage_returns_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    assert read_table(tmp_path / "a.csv")["b"].values.tolist() == [2, 4]


@pytest.mark.parametrize(
    "content", [b"a,b\nhiv,1\nhiv,2,3\n", b'a,b\n"hiv,1\n', b"a,b\nhiv\n" + b"1,2\n" * 9], ids=range(3)
)
def test_refusals_quote_no_cell(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(FormatError) as caught:
        read_table(tmp_path / "a.csv")
    assert "hiv" not in str(caught.value)
