"""Tables of every brand and files of every kind show the same columns, with the same missing values."""

from __future__ import annotations

import builtins
import bz2
import datetime as dt
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from askance import Crosswise, ForcedResponse, Tally
from askance.errors import EmptyDataError, FormatError, InputError, MissingValueError, ShapeError
from askance.survey import Columns, read_table
from askance.survey.tables import complete_rows

FRAME = pd.DataFrame(
    {
        "said": ["yes", "no", None, "yes"],
        "age": [31.0, 45.5, 28.0, np.nan],
        "code": pd.array([1, None, 3, 2], dtype="Int64"),
        "rural": [True, False, True, True],
    }
)
RECORDS = np.array(
    [("yes", 31.0, 1.0, True), ("no", 45.5, np.nan, False), (None, 28.0, 3.0, True), ("yes", np.nan, 2.0, True)],
    dtype=[("said", object), ("age", float), ("code", float), ("rural", bool)],
)
BRANDS: dict[str, Callable[[], Any]] = {
    "pandas": lambda: FRAME,
    "pandas nullable": lambda: FRAME.convert_dtypes(),
    "pandas on Arrow": lambda: FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda: pl.from_pandas(FRAME),
    "polars lazy": lambda: pl.from_pandas(FRAME).lazy(),
    "Arrow": lambda: pa.Table.from_pandas(FRAME, preserve_index=False),
    "records": lambda: RECORDS,
    "dict of lists": lambda: {name: FRAME[name].tolist() for name in FRAME},
    "dict of series": lambda: {name: pl.from_pandas(FRAME)[name] for name in FRAME},
    "dict of arrays": lambda: {name: FRAME[name].to_numpy() for name in FRAME},
    "columns": lambda: Columns.of(FRAME),
}


def check(table: Columns) -> None:
    assert table.names == ("said", "age", "code", "rural")
    assert len(table) == 4
    assert [table[name].kind for name in table.names] == ["text", "number", "number", "boolean"]
    assert table["said"].missing.tolist() == [False, False, True, False]
    assert table["age"].missing.tolist() == [False, False, False, True]
    assert table["code"].missing.tolist() == [False, True, False, False]
    assert not table["rural"].missing.any()
    assert table["said"].distinct() == ["no", "yes"]
    assert table["age"].distinct() == [28.0, 31.0, 45.5]
    assert table["code"].distinct() == [1.0, 2.0, 3.0]
    assert table["rural"].values.tolist() == [True, False, True, True]


@pytest.mark.parametrize("make", BRANDS.values(), ids=list(BRANDS))
def test_every_brand_shows_the_same(make: Callable[[], Any]) -> None:
    check(Columns.of(make()))


def written(path: Path) -> bytes:
    FRAME.to_csv(path, index=False)
    return path.read_bytes()


def zipped(data: bytes, *names: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, data)
    return packed.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "a.csv": bytes,
    "a.CSV": bytes,
    "a.csv.gz": gzip.compress,
    "a.csv.bz2": bz2.compress,
    "a.csv.xz": lzma.compress,
    "a.csv.zip": lambda data: zipped(data, "a.csv"),
    "a.zip": lambda data: zipped(data, "a.csv"),
    "a.tsv": lambda data: data.replace(b",", b"\t"),
    "tabs.csv": lambda data: data.replace(b",", b"\t"),
    "semicolons.csv": lambda data: data.replace(b",", b";").replace(b".", b","),
    "mark.csv": lambda data: b"\xef\xbb\xbf" + data,
    "of R.csv": lambda data: data.replace(b",,", b",NA,").replace(b"\n,", b"\nNA,"),
}


@pytest.mark.parametrize("name", PACKED)
def test_text_files(name: str, tmp_path: Path) -> None:
    data = written(tmp_path / "plain")
    (tmp_path / name).write_bytes(PACKED[name](data))
    check(read_table(tmp_path / name))


def test_parquet(tmp_path: Path) -> None:
    parquet.write_table(pa.Table.from_pandas(FRAME, preserve_index=False), tmp_path / "a.parquet")
    check(read_table(str(tmp_path / "a.parquet")))


def test_stata_labels_replace_values_where_all_have_one(tmp_path: Path) -> None:
    frame = pd.DataFrame({"said": [1.0, 2.0, 1.0], "age": [30.0, -9.0, 50.0], "place": ["a", "", "b"]})
    labels: Any = {"said": {1: "yes", 2: "no"}, "age": {-9: "refused"}}
    frame.to_stata(tmp_path / "a.dta", write_index=False, value_labels=labels)
    table = read_table(tmp_path / "a.dta")
    assert table["said"].kind == "category"
    assert table["said"].levels == ("yes", "no")
    assert table["age"].distinct() == [-9.0, 30.0, 50.0]
    assert table["place"].missing.tolist() == [False, True, False]


def test_spss_names_the_extra_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pyreadstat":
            raise ImportError(name)
        return plain(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(FormatError, match="No such file"):
        read_table(tmp_path / "a.sav")
    (tmp_path / "a.sav").write_bytes(b"$FL2")
    with pytest.raises(InputError, match=r"pyreadstat is not installed.*askance\[files\]"):
        read_table(tmp_path / "a.sav")


def test_spss(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="the extra `files` is not installed")
    frame = pd.DataFrame({"said": [1.0, 2.0, 1.0], "age": [30.0, -9.0, 50.0], "place": ["a", "", "b"]})
    labels = {"said": {1: "yes", 2: "no"}, "age": {-9: "refused"}}
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), variable_value_labels=labels)
    table = read_table(tmp_path / "a.sav")
    assert table["said"].levels == ("yes", "no")
    assert table["age"].distinct() == [-9.0, 30.0, 50.0]
    assert table["place"].missing.tolist() == [False, True, False]


def test_types_that_change_late_in_a_file(tmp_path: Path) -> None:
    lines = ["id,note", *(f"{i}," for i in range(200_000)), "A12,late"]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    table = read_table(tmp_path / "a.csv")
    assert table["id"].kind == table["note"].kind == "text"
    assert int(table["note"].missing.sum()) == 200_000


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("\n\na\n1\n\n3\n", [1, None, 3]),
        ("a\r\n1\r\n\r\n3\r\n", [1, None, 3]),
        ("a\n1\n2\n\n\n", [1, 2]),
    ],
)
def test_empty_lines_of_a_single_column_are_gaps(content: str, rows: list[Any], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(content.encode())
    table = read_table(tmp_path / "a.csv")
    assert list(table.names) == ["a"]
    assert [None if gap else value for value, gap in zip(table["a"].values, table["a"].missing, strict=True)] == rows


def test_empty_lines_between_rows_are_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"a\nb",c\n1,2\n\n3,4\n')
    assert read_table(tmp_path / "a.csv")["c"].values.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.csv", None, "none.csv"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"a,b\n1,2,3\n", "Expected 2 columns, got 3"),
        ("a.csv", "a,b\n1,caf\xe9\n".encode("latin-1"), "'b' is not UTF-8"),
        ("a.csv", b"a,a\n1,2\n", "'a' appears twice"),
        ("a.csv.gz", b"junk", "cannot be unpacked"),
        ("a.csv.gz", gzip.compress(b"a,b\n" * 1000)[:30], "cannot be unpacked"),
        ("a.csv.xz", b"junk", "cannot be unpacked"),
        ("a.zip", b"junk", "cannot be unpacked"),
        ("a.zip", zipped(b"a\n1\n", "a.csv", "b.csv"), "holds 2 files"),
        ("a.parquet", b"junk", "not Parquet"),
        ("a.dta", b"junk", "not a Stata file"),
        ("a.xlsx", b"junk", "no known kind"),
        ("a", b"a\n1\n", "no known kind"),
    ],
)
def test_files_that_are_refused(name: str, content: bytes | None, words: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises((FormatError, InputError), match=words):
        read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("values", "kind", "missing"),
    [
        ([1, None, 2.5], "number", [1]),
        ([True, None], "boolean", [1]),
        ([Decimal("1.5"), pd.NA], "number", [1]),
        (["a", float("nan"), pd.NaT], "text", [1, 2]),
        ([1, "a"], "mixed", []),
        ([True, 1], "mixed", []),
        ([dt.date(2020, 1, 1), None], "time", [1]),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), "time", [1]),
        (np.ma.masked_array([1.0, 2.0], mask=[True, False]), "number", [0]),
        (pd.Categorical(["a", None]), "category", [1]),
        ([None, None], "number", [0, 1]),
        (range(3), "number", []),
    ],
)
def test_what_a_column_holds(values: Any, kind: str, missing: list[int]) -> None:
    column = Columns.of({"x": values})["x"]
    assert column.kind == kind
    assert np.flatnonzero(column.missing).tolist() == missing


def test_order_of_categories_is_kept() -> None:
    values, levels = ["mid", "lo", "mid"], ["lo", "mid", "hi"]
    for data in (
        pd.DataFrame({"x": pd.Categorical(values, categories=levels)}),
        pl.DataFrame({"x": pl.Series(values, dtype=pl.Enum(levels))}),
        pa.Table.from_pandas(pd.DataFrame({"x": pd.Categorical(values, categories=levels)})),
    ):
        assert Columns.of(data)["x"].distinct() == ["lo", "mid"]
    unordered = pl.DataFrame({"x": pl.Series(values, dtype=pl.Categorical)})
    assert Columns.of(unordered)["x"].distinct() == ["lo", "mid"]


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (np.ones((2, 2)), InputError, "without column names"),
        ("survey.csv", InputError, "read_table"),
        (Path("survey.csv"), InputError, "read_table"),
        (7, InputError, "allowed: a pandas"),
        ({"x": 3}, InputError, "'x' is 3"),
        ({"x": "text"}, InputError, "not a column"),
        ({"x": [1], "y": [1, 2]}, ShapeError, "different lengths"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), InputError, "'a' appears twice"),
    ],
)
def test_data_that_are_refused(data: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Columns.of(data)


@pytest.mark.parametrize(
    ("values", "array"),
    [
        (["yes", None], ["yes", None]),
        ([True, None], [True, None]),
        ([True, False], [True, False]),
        (pd.Categorical(["a", None, "b"]), ["a", None, "b"]),
        ([2, 3], [2.0, 3.0]),
        ([dt.date(2020, 1, 1), None], [dt.date(2020, 1, 1), None]),
    ],
)
def test_a_column_is_an_array_for_numpy(values: Any, array: list[Any]) -> None:
    column = Columns.of({"x": values})["x"]
    assert np.asarray(column).tolist() == array
    assert len(column) == len(array)
    again = Columns.of({"y": column})["y"]
    assert (again.name, again.kind, again.missing.tolist()) == ("y", column.kind, column.missing.tolist())


def test_gaps_of_numbers_and_times_are_their_own() -> None:
    table = Columns.of({"x": [1.0, None], "t": np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")})
    table = Columns.of({**{name: table[name] for name in table.names}})
    assert np.isnan(np.asarray(table["x"])).tolist() == [False, True]
    assert np.isnat(np.asarray(table["t"])).tolist() == [False, True]
    assert table["x"].values.tolist()[0] == np.array(table["x"], copy=True).tolist()[0] == 1.0


def test_a_column_counts_as_labels(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("said,cross,code\nyes,same,1\nno,different,0\n,same,1\n")
    table = read_table(tmp_path / "a.csv")
    assert Tally(Crosswise("1/6")).add(table["cross"]).counts.tolist() == [1, 2]
    assert Tally(ForcedResponse("2/3", "1/6", outputs=2)).add(table["code"]).counts.tolist() == [1, 2]
    with pytest.raises(MissingValueError, match=r"observed\[2\] is missing"):
        Tally(ForcedResponse("2/3", "1/6")).add(table["said"])


@pytest.mark.parametrize("make", [list, pd.Categorical, lambda v: pd.Categorical(v, categories=[" ", "b", "a ", "a"])])
def test_blanks_at_the_ends_of_texts_are_trimmed(make: Callable[[list[str]], Any]) -> None:
    table = Columns.of({"x": make(["a ", "a", " ", "b"]), "n": [1, 2, 3, 4]}).trimmed()
    assert sorted(table["x"].distinct()) == ["a", "b"]
    assert table["x"].missing.tolist() == [False, False, True, False]
    assert table["n"].values.tolist() == [1, 2, 3, 4]
    assert table["x"].trimmed().distinct() == table["x"].distinct()


def test_a_column_of_columns_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"\(2, 2\)"):
        Columns.of({"x": np.ones((2, 2))})["x"]


def test_unknown_column_says_what_was_meant() -> None:
    with pytest.raises(InputError, match=r"'Agee'.*Did you mean 'age'\?"):
        Columns.of(FRAME)["Agee"]


def test_missing_values_are_counted() -> None:
    table = Columns.of(FRAME)
    assert complete_rows(table, ["rural"], "error") is None
    with pytest.raises(MissingValueError, match=r"3 of 4 rows miss a value \(said 1, age 1, code 1\)"):
        complete_rows(table, table.names, "error")
    kept = complete_rows(table, table.names, "drop")
    assert kept is not None
    assert kept.tolist() == [True, False, False, False]
    with pytest.raises(EmptyDataError, match="all 2 rows"):
        complete_rows(Columns.of({"x": [None, None]}), ["x"], "drop")
    with pytest.raises(EmptyDataError, match="no rows"):
        complete_rows(Columns.of({"x": []}), ["x"], "drop")
