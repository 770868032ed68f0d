"""Exports of survey software are read as they come, and the table says so."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from askance import ForcedResponse, regress
from askance.errors import FormatError, InputError
from askance.survey import read_table

from .test_cli import assert_one_line, call

QUALTRICS = [
    ["StartDate", "Status", "Finished", "Q1", "Q2_1"],
    ["Start Date", "Response Type", "Finished", "Did you, in 2024,\nroll a 6?", 'How old are you? - "years"'],
    ["startDate", "status", "finished", "QID1", "QID2_1"],
    ["2026-03-01 10:00:00", "IP Address", "True", "Yes", "31"],
    ["2026-03-01 10:05:00", "Survey Preview", "True", "No", "99"],
    ["2026-03-02 09:00:00", "IP Address", "False", "", "45"],
]
DESIGN = ForcedResponse("2/3", "1/6")


def qualtrics(delimiter: str = ",") -> str:
    """As Qualtrics writes it: texts in quotes, ImportIds as JSON."""
    rows = [*QUALTRICS[:2], [json.dumps({"ImportId": name}, separators=(",", ":")) for name in QUALTRICS[2]]]
    quoted = [['"' + cell.replace('"', '""') + '"' for cell in row] for row in [*rows, *QUALTRICS[3:]]]
    return "".join(delimiter.join(row) + "\r\n" for row in quoted)


FILES = {
    "comma.csv": qualtrics().encode(),
    "marked.csv": b"\xef\xbb\xbf" + qualtrics().encode(),
    "tabs.tsv": qualtrics("\t").encode("utf-16"),
    "tabs.txt": qualtrics("\t").encode("utf-16-be"),
}
FILES["tabs.txt"] = b"\xfe\xff" + FILES["tabs.txt"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("source", [None, "qualtrics"])
def test_lines_of_qualtrics_are_no_respondents(name: str, source: Any, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    table = read_table(tmp_path / name, source=source)
    assert table.names == tuple(QUALTRICS[0])
    assert table["Q2_1"].values.tolist() == [31.0, 99.0, 45.0]
    assert table["Q1"].missing.tolist() == [False, False, True]
    assert table.notes == (
        "read as an export of Qualtrics: 2 lines below the names left out; 1 of 3 rows are previews (Status); "
        "1 of 3 rows are not finished (Finished)",
    )


def test_an_export_may_be_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(qualtrics())
    plain = read_table(tmp_path / "a.csv", source="plain")
    assert len(plain) == 5
    assert plain.notes == ()


def test_numbers_of_qualtrics_tell_the_same(tmp_path: Path) -> None:
    text = qualtrics().replace("IP Address", "0").replace("Survey Preview", "1").replace('"True"', '"1"')
    (tmp_path / "a.csv").write_text(text.replace('"False"', '"0"'))
    assert "1 of 3 rows are previews (Status); 1 of 3 rows are not finished" in read_table(tmp_path / "a.csv").notes[0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("qualtrics", "third line does not hold an ImportId"),
        ("limesurvey", "no export of LimeSurvey: it lacks 'lastpage', 'startlanguage', 'submitdate'"),
        ("formr", "no export of formr: it lacks 'created', 'ended', 'modified', 'session'"),
    ],
)
def test_another_source_than_it_is(source: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("said,age\nyes,31\nno,\n")
    with pytest.raises(FormatError, match=message):
        read_table(tmp_path / "a.csv", source=source)


def test_unknown_sources(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("said,age\nyes,31\n")
    with pytest.raises(InputError, match="source is 'kwaltrix'; allowed: plain, qualtrics, limesurvey, formr"):
        read_table(tmp_path / "a.csv", source="kwaltrix")  # type: ignore[arg-type]


def limesurvey(delimiter: str) -> bytes:
    names = ["id", "submitdate", "lastpage", "startlanguage", "G1Q1", "G2[SQ001]", "age"]
    rows = [
        ["1", "2026-03-01 10:00:00", "3", "en", "Y", "A1", "31"],
        ["2", "", "1", "en", "N", "N/A", "27"],
        ["3", "2026-03-01 12:00:00", "3", "en", "Y", "A2", "44,5" if delimiter == ";" else "44.5"],
    ]
    lines = [delimiter.join(f'"{cell}"' for cell in row) for row in [names, *rows]]
    return b"\xef\xbb\xbf" + "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize("delimiter", [";", ","])
def test_limesurvey(delimiter: str, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(limesurvey(delimiter))
    table = read_table(tmp_path / "results.csv")
    assert table.names[0] == "id"
    assert table["age"].values.tolist() == [31.0, 27.0, 44.5]
    assert table["G2[SQ001]"].missing.tolist() == [False, True, False]
    assert table.notes == ("read as an export of LimeSurvey: 1 of 3 rows were not submitted (submitdate)",)
    full = limesurvey(delimiter).replace(b'"id"', b'"Response ID"').replace(b'"submitdate"', b'"Date submitted"')
    full = full.replace(b'"lastpage"', b'"Last page"').replace(b'"startlanguage"', b'"Start language"')
    (tmp_path / "results.csv").write_bytes(full)
    assert read_table(tmp_path / "results.csv").notes[0].endswith("1 of 3 rows were not submitted (Date submitted)")


FORMR: list[dict[str, Any]] = [
    {"session": "abc", "created": "2026-03-01 10:00:00", "modified": "2026-03-01 10:01:00",
     "ended": "2026-03-01 10:02:00", "expired": None, "said": 1, "age": "31", "german": True},
    {"session": "quietOtterXXXdef", "created": "2026-03-01 11:00:00", "modified": None, "ended": None,
     "expired": "2026-03-05 00:00:00", "said": 2, "age": "27.5", "german": False},
]  # fmt: skip


@pytest.mark.parametrize("kind", ["json", "csv", "tab", "german.csv"])
def test_formr(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"results.{kind}"
    if kind == "json":
        path.write_text(json.dumps(FORMR, indent=4))
    else:
        pd.DataFrame(FORMR).to_csv(path, index=False, sep={"csv": ",", "tab": "\t"}.get(kind, ";"))
    table = read_table(path)
    assert table["age"].values.tolist() == [31.0, 27.5]
    assert table["said"].kind == "number"
    assert table["german"].kind == "boolean"
    assert table["ended"].missing.tolist() == [False, True]
    assert table.notes == (
        "read as an export of formr: 1 of 2 rows are tests (session); 1 of 2 rows were not ended (ended)",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"said": ["yes"]}', "is no list of objects"),
        ("[]", "is no list of objects"),
        ('[{"said": "yes", "more": {"a": 1}}]', "'more' holds lists or objects"),
    ],
)
def test_json_that_is_no_table(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(FormatError, match=message):
        read_table(tmp_path / "a.json")


def test_json_with_gaps(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"said": "yes, no"}, {"age": 3}, {"said": null, "age": 4}]')
    table = read_table(tmp_path / "a.json")
    assert table["said"].missing.tolist() == [False, True, True]
    assert table["age"].missing.tolist() == [True, False, False]
    assert table["said"].values[0] == "yes, no"


# -- SPSS and Stata ----------------------------------------------------------------------------------------------------


def written_by_spss(path: Path, *, weighted_by: int = 0) -> None:
    """Three records of variables for a text of 20 letters: the weights are the fifth."""
    pyreadstat = pytest.importorskip("pyreadstat", reason="the extra `files` is not installed")
    frame = pd.DataFrame({"said": [1.0, 2.0, 9.0], "place": ["a" * 20, "b", "c"], "design_weight": [0.5, 1.5, 1.0]})
    pyreadstat.write_sav(
        frame,
        str(path),
        column_labels={"said": "Did you ever?"},
        variable_value_labels={"said": {1: "yes", 2: "no", 9: "refused"}},
        missing_ranges={"said": [9]},
    )
    content = bytearray(path.read_bytes())
    content[76:80] = struct.pack("<i", weighted_by)
    path.write_bytes(content)


def test_labels_of_spss_and_what_it_declares_missing(tmp_path: Path) -> None:
    written_by_spss(tmp_path / "a.sav")
    table = read_table(tmp_path / "a.sav")
    assert table["said"].values[:2].tolist() == ["yes", "no"]
    assert table["said"].missing.tolist() == [False, False, True]
    assert table.notes == ()
    numbers = read_table(tmp_path / "a.sav", labels=False)
    assert numbers["said"].kind == "number"
    assert numbers["said"].values[:2].tolist() == [1.0, 2.0]
    assert numbers["said"].missing.tolist() == [False, False, True]


def test_weights_of_spss_are_named(tmp_path: Path) -> None:
    written_by_spss(tmp_path / "a.sav", weighted_by=5)
    assert read_table(tmp_path / "a.sav").notes == (
        "in SPSS this file is weighted by 'design_weight': name it as the weights to do the same here",
    )
    for strange in (4, 2**31 - 1):  # the rest of a text, and no variable at all
        written_by_spss(tmp_path / "a.sav", weighted_by=strange)
        assert read_table(tmp_path / "a.sav").notes == ()


def test_labels_of_stata(tmp_path: Path) -> None:
    frame = pd.DataFrame({"said": [1.0, 2.0, np.nan]})
    frame.to_stata(tmp_path / "a.dta", write_index=False, value_labels={"said": {1: "yes", 2: "no"}})
    assert read_table(tmp_path / "a.dta")["said"].kind == "category"
    assert read_table(tmp_path / "a.dta", labels=False)["said"].kind == "number"
    with pytest.raises(InputError, match="is no text; allowed for exports of Qualtrics"):
        read_table(tmp_path / "a.dta", source="qualtrics")


# -- fits --------------------------------------------------------------------------------------------------------------


def field(path: Path, n: int = 400) -> None:
    """A survey as Qualtrics exports it."""
    rng = np.random.default_rng(3)
    said = DESIGN.simulate(np.where(rng.random(n) < 0.3, "yes", "no"), rng)
    ages, text = rng.integers(20, 60, n), qualtrics().split("2026-03-01")[0]
    rows = [f'"2026-03-01","IP Address","True","{a}","{b}"\r\n' for a, b in zip(said, ages, strict=True)]
    path.write_text(text[: text.rindex('"')] + "".join(rows))


def test_a_fit_says_how_the_table_was_read(tmp_path: Path) -> None:
    field(tmp_path / "a.csv")
    fit = regress("Q1 ~ Q2_1", read_table(tmp_path / "a.csv"), DESIGN)
    assert fit.n_observations == 400
    assert fit.messages[0] == "read as an export of Qualtrics: 2 lines below the names left out"


def test_the_command_reads_exports(tmp_path: Path) -> None:
    field(tmp_path / "a.csv")
    arguments = ["fit", str(tmp_path / "a.csv"), "--formula", "Q1 ~ 1", "--design", "direct", "--outputs", "no,yes"]
    assert "read as an export of Qualtrics" in call(*arguments).out
    assert_one_line(call(*arguments, "--source", "plain"), ("QID1",))


def test_weights_that_are_not_there_are_guessed() -> None:
    data = {"said": ["yes", "no"], "age": [1, 2], "pspwght": [1, 1], "weighty": [1, 2], "w2": [1, 1], "wave": [1, 2]}
    likely = "Those that may be weights: 'pspwght', 'weighty', 'w2'.$"
    with pytest.raises(InputError, match=f"no column 'wt' of weights. {likely}"):
        regress("said ~ 1", data, DESIGN, weights="wt")
    with pytest.raises(InputError, match=r"no column 'wt' of weights\. Check the spelling"):
        regress("said ~ 1", {"said": ["yes", "no"], "age": [1, 2]}, DESIGN, weights="wt")
