"""What people write into sheets: habits of spreadsheets, rows that nobody answered, and rows that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from askance.errors import EmptyDataError, FormatError, IncompatibleEvidenceError, InputError
from askance.text import read_sheet

HEAD = "id,sentence,A,B,annotator,comment\n"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def filled(*rows: str, head: str = HEAD) -> Path:
    Path("filled.csv").write_text(head + "".join(f"{row}\n" for row in rows), "utf-8")
    return Path("filled.csv")


def test_habits_of_spreadsheets() -> None:
    text = (
        "\ufeff\r\n; ;;;;;\r\n id ;sentence;A ;B;annotator;comment;mine\r\n"
        '1;the [[ dog barks ]] ;1,0;1.;ann ;"two\r\nlines; ""so""";x\r\n'
        ";;;;;;\r\n"
        "2;[[ it  rains ]];\xa02;0\r\n"
        "3;[[ a b ]];–;1;;\r\n"
        "4;[[ a b ]];;;;nobody knows\r\n"
        "5;[[ a b ]];2;;;the other can only be 0\r\n"
    )
    Path("sheet.csv").write_bytes(text.encode())
    found = read_sheet("sheet.csv")
    regions = [found.regions.region(number) for number in range(4)]
    assert [each.counts for each in regions] == [{"A": 1, "B": 1}, {"A": 2, "B": 0}, {"B": 1}, {"A": 2, "B": 0}]
    assert [each.closed for each in regions] == [True, True, False, True]
    assert [each.annotator for each in regions] == ["ann", None, None, None]
    assert (found.unanswered, found.refused, found.regions.corpus.ids) == (1, 0, ("1", "2", "3", "5"))
    assert found.regions.corpus.sentence(1) == ("it", "rains")


def test_stretches_counted_twice_are_one_stretch() -> None:
    first = filled("1,x [[ a b ]],1,1,ann,", "2,[[ a b ]],2,0,ann,").rename("ann.csv")
    second = filled("1,x [[ a b ]],2,0,ben,", head="id;sentence;B;A;annotator;comment\n".replace(";", ","))
    found = read_sheet([first, second]).regions
    assert len(found.corpus) == 2
    assert [(each.sentence, each.annotator) for each in map(found.region, range(3))] == [
        (0, "ann"),
        (1, "ann"),
        (0, "ben"),
    ]
    assert found.region(2).counts == {"A": 0, "B": 2}  # columns have names, not places


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1,[[ a b c ]],1,,,", r"filled.csv, line 3 is half filled: nothing stands below 'B', and .* 1 of 3 words"),
        ("1,[[ a b ]],two,0,,", "line 3 has 'two' of A; allowed: a whole number"),
        ("1,[[ a b ]],1.5,0,,", "line 3 has '1.5' of A"),
        ("1,[[ a b ]],-1,3,,", "line 3 has '-1' of A"),
        ("1,[[ a b ]],2,1,,", "line 3: region 0 to 2 of sentence '1' has 2 tokens and counts of 3 together"),
        ("1,[[ a b ]],0,1,,", "line 3: region 0 to 2 of sentence '1' has 2 tokens and counts of 1 together, every"),
        ("1,[[ a b ]],3,-,,", "line 3: .* has 2 tokens and counts of 3 together; allowed: at most 2"),
        ("1,a b,1,1,,", "line 3 has the sentence 'a b'; allowed: words, some of them between"),
        ("1,[[ ]] a,1,1,,", "line 3 has the sentence"),
        ("1,]] a [[,1,1,,", "line 3 has the sentence"),
        ("1,[[ a ]] [[ b ]],1,1,,", "line 3 has the sentence"),
    ],
)
def test_bad_rows_are_refused_by_line(row: str, said: str) -> None:
    path = filled("0,[[ fine ]],1,0,,", row)
    with pytest.raises((InputError, FormatError), match=said):
        read_sheet(path)
    found = read_sheet(path, skip_bad=True)
    assert (len(found.regions), found.refused, len(found.messages)) == (1, 1, 1)
    assert "line 3" in found.messages[0]


def test_unanswered_rows_never_become_zeros() -> None:
    rows = ("1,[[ a b ]],,,ann,", "2,[[ a b ]],-,-,,", "3,[[ a b ]],-,,,", "4,[[ a b ]],2,0,,")
    for options in ({}, {"empty_is_zero": True}, {"may_miscount": True}):
        found = read_sheet(filled(*rows), **options)
        assert (len(found.regions), found.unanswered) == (1, 3)
    with pytest.raises(EmptyDataError, match="no row was answered: 3 without a number"):
        read_sheet(filled(*rows[:3]))


def test_empty_cells_are_zeros_where_one_says_so() -> None:
    path = filled("1,[[ a b c ]],1,,,", "2,[[ a b c ]],,3,,")
    found = read_sheet(path, empty_is_zero=True, may_miscount=True).regions
    assert [found.region(number).counts for number in range(2)] == [{"A": 1, "B": 0}, {"A": 0, "B": 3}]
    with pytest.raises(InputError, match="half filled"):
        read_sheet(path, may_miscount=True)


def test_people_may_miscount() -> None:
    path = filled("1,[[ a b ]],2,1,,", "2,[[ a b ]],0,1,,", "3,[[ a ]],1,1,,")
    found = read_sheet(path, may_miscount=True)
    assert (len(found.regions), found.refused) == (2, 1)  # of a single word it would be a label
    assert not found.regions.is_possible.any()
    with pytest.raises(
        InputError, match=r"line 2: .* has 2 tokens and 4 of A; allowed where people miscount: at most 3"
    ):
        read_sheet(filled("1,[[ a b ]],4,0,,"), may_miscount=True)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", EmptyDataError, "is empty"),
        ("id,sentence,A,comment\n", FormatError, "has the columns 'id', 'sentence', 'A', 'comment'; allowed: id, sen"),
        ("id,sentence,annotator,comment\n", FormatError, "one column for each tag"),
        ("id,sentence,A,A,annotator,comment\n", FormatError, "each once"),
        ("id,sentence,A,,annotator,comment\n", FormatError, "each once"),
        ("id,annotator,sentence,A,comment\n", FormatError, "in this order"),
        (HEAD + '1,"[[ a ]],1,1\n', FormatError, r"sheet.csv, line 2 is not CSV \(unexpected end"),
        (HEAD + "1,[[ \udce9 ]],1,0,,\n", FormatError, "line 2 is not UTF-8"),
    ],
)
def test_what_is_no_sheet(text: str, error: type[Exception], said: str) -> None:
    Path("sheet.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(error, match=said):
        read_sheet("sheet.csv")


def test_sheets_of_one_campaign_have_one_set_of_tags() -> None:
    first = filled("1,[[ a ]],1,0,,").rename("first.csv")
    second = filled("1,[[ a ]],1,0,,", head=HEAD.replace("B", "C"))
    with pytest.raises(IncompatibleEvidenceError, match=r"filled.csv has other tags than first.csv: 'B', 'C'"):
        read_sheet([first, second])
