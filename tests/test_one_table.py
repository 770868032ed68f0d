"""One table: the same rows as text, JSON, a data frame, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from askance.errors import InputError
from askance.tables import Column, Table, error_column, estimate_columns, shown_value

NASTY = 'a & b_1 <script> 50 % "q" \\x {y} ~^#$ | →'


def table() -> Table:
    return Table(
        (Column("answer", "heading"), Column("term"), *estimate_columns(0.95, tests="z")),
        [
            ("yes", NASTY, 1.5, 0.5, 3.0, 0.0027, 0.52, 2.48),
            ("yes", "age", np.float64(12345.678), np.nan, np.nan, np.nan, np.nan, np.nan),
            ("no", "age", 1e-5, 2e-6, 5.0, 1e-9, 6e-6, 1.4e-5),
        ],
        title="Effects & more",
        notes=["note: " + "word " * 40],
        alarms=["these <reports> cannot be"],
    )


def test_text_has_headings_rules_and_wrapped_notes() -> None:
    lines = str(table()).splitlines()
    assert lines[:4] == ["ALARM: these <reports> cannot be", "", "Effects & more", ""]
    assert lines[4].split() == ["term", "estimate", "std.", "error", "z", "P>|z|", "2.5", "%", "97.5", "%"]
    assert lines[5] == lines[-4] == "-" * len(lines[5])
    assert lines[6] == "yes"
    assert lines[7] == NASTY  # too long for its column
    assert lines[8].split() == ["1.5000", "0.5000", "3.00", "0.003", "0.5200", "2.4800"]
    assert lines[9].split() == ["age", "1.23e+04", "–", "–", "–", "–", "–"]
    assert lines[10:12] == ["", "no"]
    assert lines[12].split()[4] == "<0.001"
    assert all(line.startswith("      ") for line in lines[-2:])
    assert max(map(len, lines)) <= 100


def test_long_names_have_lines_of_their_own_and_long_tables_are_cut() -> None:
    long = Table((Column("term"), *estimate_columns(0.9)), [("x" * 150, 1.0, 1.0, 1.0, 1.0)])
    lines = long.to_text().splitlines()
    assert [len(line) <= 100 for line in lines] == [True] * len(lines)
    assert "".join(lines[2:4]) == "x" * 150
    cut = Table((Column("row", "count"),), [(i,) for i in range(12)], most_rows=5, rows_are="items")
    assert cut.to_text().splitlines()[-2:] == ["… and 7 more items", "-" * 3]
    empty = Table((Column("row", "count"),), [])
    assert empty.to_text().splitlines() == ["row", "---", "---"]


def test_programs_get_raw_values() -> None:
    content = table().to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["rows"][1] == {
        "answer": "yes",
        "term": "age",
        "estimate": 12345.678,
        **dict.fromkeys(("std_error", "z", "p_value", "lower", "upper")),
    }
    assert [column["key"] for column in content["columns"]][:3] == ["answer", "term", "estimate"]


def test_rows_stay_rows_and_groups_what_they_are() -> None:
    table = Table((Column("group"), Column("n", "count")), [("north\nand west", 3), ("south", 4)])
    assert table.to_text().splitlines()[2].split() == ["north", "and", "west", "3"]
    years = Table((Column("year"), Column("n", "count")), [(np.int64(2016), 3), (2017, 4)])
    assert [row["year"] for row in years.to_json()["rows"]] == [2016, 2017]
    assert years.to_frame("pandas")["year"].tolist() == [2016, 2017]
    mixed = Table((Column("group"),), [(1,), ("a",)])
    assert mixed.to_frame("pandas")["group"].tolist() == ["1", "a"]


@pytest.mark.parametrize("backend", [None, "pandas", "polars", "pyarrow"])
def test_frames(backend: Any) -> None:
    pytest.importorskip(backend or "pandas")
    frame = table().to_frame(backend)
    assert type(frame).__module__.split(".")[0] == (backend or "pandas")
    assert list(frame["estimate"]) == [1.5, 12345.678, 1e-5] or frame["estimate"].to_pylist() == [1.5, 12345.678, 1e-5]
    assert frame.shape == (3, 8)


def test_frames_without_a_library_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"backend is 'cudf'; allowed: pandas, polars, pyarrow"):
        table().to_frame("cudf")  # type: ignore[arg-type]
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"needs pandas, polars or pyarrow, which is not installed"):
        table().to_frame()


def test_latex_is_escaped() -> None:
    lines = table().to_latex().splitlines()
    assert lines[2] == r"\caption{Effects \& more}"
    assert r"\begin{tabular}{lrrrrrr}" in lines
    assert lines.count(r"\midrule") == 2
    row = next(line for line in lines if line.startswith("a "))
    name = r"a \& b\_1 \textless{}script\textgreater{} 50 \% "
    name += r'"q" \textbackslash{}x \{y\} \textasciitilde{}\textasciicircum{}\#\$ \textbar{} $\rightarrow$'
    assert row == rf"{name} & 1.5000 & 0.5000 & 3.00 & 0.003 & 0.5200 & 2.4800 \\"


def test_letters_that_latex_does_not_know_are_commands() -> None:
    notes = ["χ² = 3, χ, x², φ and β ≥ λ ≈ θ"]
    (note,) = (s for s in Table([Column("a")], [(1,)], notes=notes).to_latex().splitlines() if "footnotesize" in s)
    assert note.isascii()
    assert r"$\chi^2$ = 3, $\chi$, x$^2$, $\varphi$" in note


def test_a_title_of_several_parts_is_read_where_blanks_fall_together() -> None:
    parts = Table([Column("a")], [(1,)], title="method marginal   reports 9")
    assert str(parts).startswith("method marginal   reports 9\n")
    for text in (parts.to_latex(), parts.to_html(), parts.to_markdown()):
        assert "method marginal, reports 9" in text


def test_html_is_escaped_and_says_what_headers_are_for() -> None:
    text = table().to_html()

    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.opened: list[str] = []
            self.scopes: list[str | None] = []
            self.texts: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.opened.append(tag)
            if tag == "th":
                self.scopes.append(dict(attrs).get("scope"))

        def handle_endtag(self, tag: str) -> None:
            assert self.opened.pop() == tag

        def handle_data(self, data: str) -> None:
            self.texts.append(data)

    reader = Reader()
    reader.feed(text)
    assert reader.opened == []
    assert reader.scopes == ["col"] * 7 + ["rowgroup", "row", "row", "rowgroup", "row"]
    assert NASTY in reader.texts
    assert "ALARM: these <reports> cannot be" in reader.texts
    assert "<script>" not in text


def test_digits_may_depend_on_the_error() -> None:
    columns = (Column("points", "points", "estimate", digits="error"), error_column("spread", digits="error"))
    shown = Table(columns, [(0.123456, 0.02), (0.123456, 0.00012), (0.1, None)])
    rows = [line.split() for line in shown.to_text().splitlines()[2:5]]
    assert rows == [["+12.3", "2.0"], ["+12.346", "0.012"], ["+10.0", "–"]]
    assert shown_value(None, "points") == "–"


def test_markdown_is_escaped() -> None:
    lines = table().to_markdown().splitlines()
    assert lines[0] == r"**Effects \& more**"
    assert lines[2:4] == [
        r"| term | estimate | std. error | z | P\>\|z\| | 2.5 % | 97.5 % |",
        "| :-- | --: | --: | --: | --: | --: | --: |",
    ]
    assert lines[4] == "| **yes** |  |  |  |  |  |  |"
    cells = re.split(r"(?<!\\)\|", lines[5])  # pipes that end a cell
    assert len(cells) == 9
    assert re.sub(r"\\(.)", r"\1", cells[1].strip()) == NASTY
    assert cells[2].strip() == "1.5000"
    assert lines[8].startswith("| age | 1.00e-05")
    assert lines[-3] == r"ALARM: these \<reports\> cannot be"
    folded = Table((Column("group"),), [("a\nb|c",), ("- x",), ("2) y",)]).to_markdown().splitlines()
    assert folded[2:] == [r"| a b\|c |", r"| \- x |", r"| 2\) y |"]


def test_csv_holds_raw_values() -> None:
    rows = list(csv.reader(io.StringIO(table().to_csv())))
    assert rows[0] == ["answer", "term", "estimate", "std_error", "z", "p_value", "lower", "upper"]
    assert rows[1][1] == NASTY
    assert float(rows[2][2]) == 12345.678
    assert rows[2][3:] == [""] * 5


def test_rows_of_latex_do_not_begin_with_what_the_line_above_takes() -> None:
    table = Table((Column("band"), Column("share", "decimal")), [("[20, 40)", 0.5), ("*", 0.25), ("old", 0.25)])
    rows = [line for line in table.to_latex().splitlines() if "&" in line]
    assert [row.split(" ")[0] for row in rows[1:]] == ["{}[20,", "{}*", "old"]


def test_last_digits_of_a_processor_are_not_shown() -> None:
    columns = (Column("term"), *estimate_columns(0.95, tests="z"))
    table = Table(
        columns, [("nothing", -2.2e-16, 0.1, -2.1e-15, 1.0, -0.2, 0.2), ("little", -2e-5, 0.1, -2e-4, 1.0, -0.2, 0.2)]
    )
    nothing, little = (line.split() for line in str(table).splitlines() if "thing" in line or "little" in line)
    assert nothing[1:4] == ["0.0000", "0.1000", "0.00"]
    assert little[1:4] == ["-2.00e-05", "0.1000", "-0.00"]
