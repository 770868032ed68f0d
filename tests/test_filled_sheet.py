"""What people write into sheets: habits of spreadsheets, rows that nobody answered, and rows that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from askance.errors import AskanceWarning, EmptyDataError, FormatError, IncompatibleEvidenceError, InputError
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
    for may_miscount, empty_is_zero in ((False, False), (False, True), (True, False)):
        found = read_sheet(filled(*rows), may_miscount=may_miscount, empty_is_zero=empty_is_zero)
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


# -- a rest that was forgotten -----------------------------------------------------------------------------------------

SHORT = ("1,[[ a b c ]],1,1,,", "2,[[ a b c ]],0,1,,", "3,[[ a b ]],1,1,,")


def test_where_most_rows_are_short_a_rest_was_forgotten() -> None:
    with pytest.raises(InputError) as caught:
        read_sheet(filled(*SHORT))
    said = str(caught.value)
    assert "line 2: region 0 to 3 of sentence '1' has 3 tokens and counts of 2 together" in said
    assert "in 2 of 3 rows with counts of all tags these stay below the number of words: was --rest forgotten?" in said
    assert "--rest other" in caught.value.remedy
    for may_miscount, taken in ((True, 3), (False, 1)):
        with pytest.warns(AskanceWarning, match="in 2 of 3 rows .* was --rest forgotten"):
            found = read_sheet(filled(*SHORT), may_miscount=may_miscount, skip_bad=True)
        assert len(found.regions) == taken


def test_sheets_without_any_row_that_adds_up_name_the_rest() -> None:
    with pytest.raises(EmptyDataError, match=r"2 left out; .* --rest other"):
        read_sheet(filled(*SHORT[:2]), skip_bad=True)


def test_half_of_the_rows_are_no_reason_to_ask() -> None:
    path = filled(*SHORT, "4,[[ a b ]],2,0,,")
    with pytest.raises(InputError, match=r"line 2: .* counts of 2 together") as caught:
        read_sheet(path)
    assert "rest" not in str(caught.value)
    assert len(read_sheet(path, may_miscount=True).regions) == 4


def test_the_first_bad_row_is_the_one_that_is_named() -> None:
    with pytest.raises(InputError, match=r"line 2: .* counts of 2 together"):
        read_sheet(filled(SHORT[0], "2,[[ a b ]],two,0,,"))


def test_a_rest_that_was_forgotten_is_added() -> None:
    with_column = [row.replace(",,", ",-,,", 1) for row in SHORT]
    expected = read_sheet(filled(*with_column, head=HEAD.replace("B", "B,other"))).regions
    found = read_sheet(filled(*SHORT), rest="other").regions
    assert found.tagset == expected.tagset == ("A", "B", "other")
    assert [found.region(n) for n in range(3)] == [expected.region(n) for n in range(3)]
    assert not found.closed.any()
    # A sheet that has the column stays as it is, so that both kinds go together.
    first = filled(*SHORT).rename("first.csv")
    both = read_sheet([first, filled("9,[[ a b ]],1,0,-,,", head=HEAD.replace("B", "B,other"))], rest="other")
    assert len(both.regions) == 4
    with pytest.raises(InputError, match="a tag is 'comment'"):
        read_sheet(first, rest="comment")


# -- the same answer twice ---------------------------------------------------------------------------------------------


def test_a_copy_of_a_sheet_is_no_second_opinion() -> None:
    rows = ("1,x [[ a b ]],1,1,ann,", "2,[[ a b ]],2,0,ann,", "3,[[ a b ]],,,ann,")
    first = filled(*rows).rename("ann.csv")
    found = read_sheet([first, filled(*rows, "4,[[ c ]],1,0,ann,")])
    assert (len(found.regions), found.repeated, found.refused, found.unanswered) == (3, 2, 0, 2)
    assert found.notes == ("rows that repeat what the same person answered for the same stretch, left out: 2",)


def test_two_answers_of_one_person_are_refused() -> None:
    first = filled("1,x [[ a b ]],1,1,ann,").rename("ann.csv")
    second = filled("1,x [[ a b ]],2,0,ann,")
    with pytest.raises(
        InputError, match=r"filled.csv, line 2: 'ann' has 2 of A, and 1 in ann.csv, line 2, of the same stretch"
    ):
        read_sheet([first, second])
    found = read_sheet([first, second], skip_bad=True)
    assert (found.refused, found.regions.region(0).counts) == (1, {"A": 1, "B": 1})


def test_other_stretches_people_and_tags_are_new() -> None:
    rows = ("1,x [[ a b ]],1,-,ann,", "1,x [[ a b ]],-,1,ann,", "1,x [[ a b ]],1,-,ben,", "1,[[ x a ]] b,1,-,ann,")
    found = read_sheet(filled(*rows, "2,x [[ a b ]],1,-,ann,"))
    assert (len(found.regions), found.repeated, found.notes) == (5, 0, ())


def test_rows_without_a_name_may_be_of_two_people() -> None:
    found = read_sheet(filled("1,[[ a b ]],1,1,,", "1,[[ a b ]],1,1,,", "1,[[ a b ]],2,0,,"))
    assert (len(found.regions), found.repeated) == (3, 0)
    assert [note.split(";")[0] for note in found.notes] == [
        "rows without an annotator that repeat another one, each taken as one more count: 1"
    ]
