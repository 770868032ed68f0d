"""Campaign files: what they mean, and that every mistake is refused with its line."""

from __future__ import annotations

import csv
import json
import re
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askance import Enumerated, ForcedResponse, RandomizedResponse, plan
from askance.channels.thresholds import log_rounded_up
from askance.collect.campaign_file import read_campaign, read_study
from askance.collect.check import check
from askance.collect.written_names import label_refusal
from askance.errors import FormatError
from askance.survey import read_table
from tests.collectors import COUNTING, DEVICES, NEWS, SURVEY
from tests.test_package import python


def _written(folder: Path, text: str) -> Path:
    (folder / "news.txt").write_text(NEWS)
    path = folder / "campaign.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_survey_is_what_its_file_says(tmp_path: Path) -> None:
    campaign = read_campaign(_written(tmp_path, SURVEY))
    assert (campaign.kind, campaign.access, campaign.languages, campaign.planned_n) == ("survey", "open", ("en",), 2000)
    assert campaign.by_name["age"].values == range(16, 106)
    assert campaign.by_name["cheated"].channel == ForcedResponse("2/3", "1/6").for_purpose("cheated")
    assert list(campaign.by_name["often"].options) == ["never", "once", "very often"]


def test_a_range_may_be_as_wide_as_it_likes(tmp_path: Path) -> None:
    wide = read_campaign(_written(tmp_path, SURVEY.replace("range = [16, 105]", f"range = [{-(10**15)}, {10**15}]")))
    assert wide.by_name["age"].values == range(-(10**15), 10**15 + 1)


def test_the_level_of_all_questions_is_the_product_of_their_ratios(tmp_path: Path) -> None:
    campaign = read_campaign(_written(tmp_path, SURVEY))
    often = RandomizedResponse("1/2", outputs=3).largest_ratio()
    cheated = ForcedResponse("2/3", "1/6").largest_ratio()
    assert often is not None
    assert cheated is not None
    assert abs(cheated - 5) < Fraction(1, 2**55)
    assert campaign.level == log_rounded_up(cheated * often)
    within, below = SURVEY.replace("= 4\n", f"= {campaign.level!r}\n"), SURVEY.replace("= 4\n", "= 2.99573\n")
    assert read_campaign(_written(tmp_path, within)).level == campaign.level
    with pytest.raises(FormatError, match=r"line 5: at_most_level: the questions together have level 2\.9957"):
        read_campaign(_written(tmp_path, below))


def test_what_matters_changes_the_fingerprint_and_nothing_else_does(tmp_path: Path) -> None:
    def fingerprint(old: str, new: str) -> str:
        assert old in SURVEY
        return read_campaign(_written(tmp_path, SURVEY.replace(old, new))).fingerprint

    same = fingerprint("campaign", "campaign")
    assert fingerprint('title = "Exams"', 'title = "All exams"') == same
    assert fingerprint("https://pages.example", "https://other.example") == same
    changes = [
        ("cheated in", "cheated at"),
        ('"1/6"', '"1/5"'),
        ("[16, 105]", "[16, 104]"),
        ('["north", "south"]', '["south", "north"]'),
        ("planned_n = 2000", "planned_n = 2001"),
        ("may_decline = true", "may_decline = false"),
        ('kind = "open"', 'kind = "tokens"'),
        ("at_most_level = 4", "at_most_level = 5"),
    ]
    assert len({same, *(fingerprint(*change) for change in changes)}) == len(changes) + 1


def test_texts_in_several_languages(tmp_path: Path) -> None:
    text = """campaign = 1
name = "two"
kind = "survey"
title = {en = "Two", ar = "اثنان"}
languages = ["en", "ar"]
at_most_level = 2
planned_n = 10
access = {kind = "open"}
[questions.q]
text = {en = "Yes?", ar = "نعم؟"}
design = {kind = "warner", question = "3/4"}
[questions.q.options]
no = {en = "No", ar = "لا"}
yes = {en = "Yes", ar = "نعم"}
"""
    campaign = read_campaign(_written(tmp_path, text))
    assert campaign.text(campaign.by_name["q"].options["yes"], "ar") == "نعم"
    assert campaign.codebook().questions["q"].texts == {"ar": "نعم؟"}
    missing = text.replace(', ar = "نعم؟"', "")
    with pytest.raises(FormatError, match=r"line 10: questions\.q\.text: 'ar' is missing"):
        read_campaign(_written(tmp_path, missing))


def test_a_campaign_is_a_codebook(tmp_path: Path) -> None:
    codebook = read_study(_written(tmp_path, SURVEY))
    assert codebook.hidden == ["cheated", "often"]
    assert codebook.design("cheated") == ForcedResponse("2/3", "1/6")
    path = tmp_path / "codebook.toml"
    path.write_text('codebook = 1\n[questions.q]\ncolumn = "Q7"\n')
    assert list(read_study(path).questions) == ["q"]


def test_stretches_cover_every_word_once(tmp_path: Path) -> None:
    campaign = read_campaign(_written(tmp_path, COUNTING))
    counting = campaign.counting
    assert counting is not None
    words = [word for stretch in counting.stretches for word in counting.words(stretch)]
    assert words == NEWS.split()
    assert max(len(counting.words(stretch)) for stretch in counting.stretches) == 2


# What is changed in a campaign file, the line that is named, and a part of the message.
MISTAKES = {
    "no TOML": (SURVEY, "planned_n = 2000", "planned_n = ", "line 6: 'planned_n =' is not TOML: no value follows"),
    "of the future": (SURVEY, "campaign = 1", "campaign = 2", "line 1: campaign"),
    "an unknown key": (
        SURVEY,
        "planned_n",
        "planed_n",
        "line 6: planed_n: there is no such key.*Did you mean 'planned_n'",
    ),
    "a key is missing": (SURVEY, "planned_n = 2000\n", "", "line 1: planned_n: 'planned_n' is missing"),
    "no title": (SURVEY, 'title = "Exams"\n', "", "line 1: title: 'title' is missing. Add title = a text"),
    "a title of another type": (SURVEY, '"Exams"', "7", "line 4: title: it is 7; allowed: a text"),
    "another type": (SURVEY, "= 2000", '= "2000"', "line 6: planned_n: it is '2000'; allowed: a whole number"),
    "a truth value": (SURVEY, "= 2000", "= true", "line 6: planned_n: it is True; allowed: a whole number"),
    "out of range": (SURVEY, "= 2000", "= 0", "line 6: planned_n: it is 0; allowed: 1 to"),
    "another kind": (SURVEY, '"survey"', '"surveys"', "line 3: kind: it is 'surveys'.*Did you mean 'survey'"),
    "a name for paths": (SURVEY, '"exams"', '"../exams"', "line 2: name"),
    "an origin with a path": (SURVEY, "pages.example", "pages.example/x", "line 7: origins"),
    "another access": (SURVEY, 'kind = "open"', 'kind = "all"', r"line 10: access\.kind: it is 'all'"),
    "a design that is none": (
        SURVEY,
        '"forced-response"',
        '"forced"',
        r"line 14: questions\.cheated\.design: there is no",
    ),
    "a probability": (
        SURVEY,
        'truth = "2/3"',
        'truth = "5/3"',
        r"line 14: questions\.cheated\.design: truth is 1.66667",
    ),
    "an unknown parameter": (
        SURVEY,
        "truth =",
        "thruth =",
        r"line 14: questions\.cheated\.design: forced-response has no",
    ),
    "statistics in a survey": (
        *(
            SURVEY,
            '{kind = "forced-response", truth = "2/3", yes = "1/6"}',
            '{kind = "per-value", dim = 2, privacy_level = 1}',
        ),
        r"line 14: questions\.cheated\.design: per-value noises statistics",
    ),
    "no level": (SURVEY, "at_most_level = 4\n", "", "line 1: at_most_level: 'at_most_level' is missing"),
    "a level of nothing": (SURVEY, "at_most_level = 4", "at_most_level = 0", "line 5: at_most_level: it is 0"),
    "no bound": (
        *(SURVEY, '"forced-response", truth = "2/3", yes = "1/6"', '"direct", outputs = ["no", "yes"]'),
        "line 5: at_most_level: the questions together have level inf",
    ),
    "half a range": (SURVEY, "[16, 105]", "[16]", r"line 22: questions\.age\.range"),
    "a range backwards": (SURVEY, "[16, 105]", "[105, 16]", r"line 22: questions\.age\.range"),
    "nothing to answer": (SURVEY, "range = [16, 105]\n", "", r"line 20: questions\.age: it has neither"),
    "one option": (SURVEY, '["north", "south"]', '["north"]', r"line 26: questions\.region\.options"),
    "an option twice": (SURVEY, '["north", "south"]', '["north", "north"]', r"line 26: questions\.region\.options"),
    "an answer that tables take for none": (
        *(SURVEY, '["north", "south"]', '["north", "NA"]'),
        r"line 26: questions\.region\.options: in tables 'NA' means that nothing was answered",
    ),
    "answers that tables take for one": (
        *(SURVEY, '"never", "once", "very often"', '"01", "1", "2"'),
        r"line 18: questions\.often\.design: in tables '01' is read as a number",
    ),
    "an answer of two lines": (SURVEY, '["north", "south"]', r'["north", "so\ruth"]', r"line 26: .* is not one line"),
    "the column of receipts": (
        SURVEY,
        "[questions.age]",
        "[questions.id]",
        r"line 20: questions\.id: a question cannot",
    ),
    "a quote in a name": (SURVEY, "[questions.age]", '[questions."a`b"]', r"line 20: .*: it has a quote"),
    "no question": (
        SURVEY.partition("[questions")[0],
        "campaign = 1",
        "campaign = 1",
        r"line 1: questions: .* is missing. Add \[questions\]",
    ),
    "a window of a survey": (
        SURVEY,
        "planned_n",
        "window_days = 7\nplanned_n",
        "line 6: window_days: there is no such key",
    ),
    "a device without noise": (
        *(DEVICES, 'design = {kind = "per-value", dim = 5, privacy_level = 2}\n', ""),
        r"line 12: questions\.features: it has no design",
    ),
    "devices with tokens": (
        DEVICES,
        "planned_n",
        'access = {kind = "tokens"}\nplanned_n',
        r"line 6: access\.kind: it is 'tok",
    ),
    "no text": (COUNTING, "news.txt", "none.txt", r"line 11: counting\.text: cannot read"),
    "a tag twice": (COUNTING, '["NOUN", "VERB"]', '["NOUN", "NOUN"]', r"line 12: counting\.tags"),
    "the rest is a tag": (COUNTING, '"OTHER"', '"NOUN"', r"line 13: counting\.rest"),
    "never counted": (COUNTING, "times = 2", "times = 0", r"line 15: counting\.times"),
}


@given(st.lists(st.text(min_size=1), min_size=2, max_size=5, unique=True))
@example(["=cmd()", "a,b"])
@example(["a;b", 'q"t'])
@example([" a", "b "])
@example(["1,5", "TRUE", "1e5", "0x10", "12:30", "2020-01-01", "#N/A"])
@example(["inf", "-", "+", "é😀", "1 000", "1_000", "T", "t", "f", "yes"])
def test_answers_that_are_allowed_stand_in_tables_as_they_are(labels: list[str]) -> None:
    """What a CSV of exported answers is read as, one answer in each column: its text."""
    allowed = [label for label in labels if not label_refusal(label)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            names = [f"q{i}" for i in range(len(allowed))]
            csv.writer(file, lineterminator="\n").writerows([["id", *names], *[["ab", *allowed]] * 2])
        table = read_table(path)
        assert [np.asarray(table[name]).tolist() for name in names] == [[label, label] for label in allowed]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused_with_their_line(mistake: str, tmp_path: Path) -> None:
    text, old, new, expected = MISTAKES[mistake]
    assert old in text
    with pytest.raises(FormatError, match=expected) as caught:
        read_campaign(_written(tmp_path, text.replace(old, new, 1)))
    assert caught.value.remedy


def test_lines_are_found_behind_texts_of_several_lines(tmp_path: Path) -> None:
    text = SURVEY.replace('"How old are you?"', '"""\nHow old\nrange = [1, 2]\nare you?"""').replace("[16, 105]", "[3]")
    with pytest.raises(FormatError, match=r"line 25: questions\.age\.range: it is \[3\]"):
        read_campaign(_written(tmp_path, text))


@pytest.mark.parametrize("text", [SURVEY, DEVICES, COUNTING], ids=["survey", "devices", "counting"])
def test_check_says_what_is_sent(text: str, tmp_path: Path) -> None:
    campaign = read_campaign(_written(tmp_path, text))
    told = check(campaign).to_json()
    assert told["fingerprint"] == campaign.fingerprint
    assert len(told["payload"].encode()) < told["bytes"]
    levels = {question["name"]: question["level"] for question in told["questions"]}
    assert levels == {question.name: question.level for question in campaign.questions}


def test_campaigns_are_read_and_checked_without_a_server() -> None:
    modules = "campaign_file check collection device_page export progress submission tokens store"
    code = "; ".join(f"import askance.collect.{name}" for name in modules.split())
    servers = ("starlette", "uvicorn", "jinja2", "psycopg", "pyarrow", "numba.core.dispatcher")
    assert python(f"{code}; import sys; print(*(name for name in {servers!r} if name in sys.modules))") == ""


def test_errors_at_the_planned_n_are_those_of_the_plan(tmp_path: Path) -> None:
    learned = check(read_campaign(_written(tmp_path, SURVEY))).learned["cheated"]
    assert learned is not None
    # λ = 1/6 + 2/3 · 1/2 = 1/2, so the share has error √(1/4 / n) / (2/3).
    assert learned.standard_error == pytest.approx((0.25 / 2000) ** 0.5 * 1.5)
    assert learned.direct_error == pytest.approx((0.25 / 2000) ** 0.5)


def test_errors_of_labels_that_devices_send_in_subsets_are_those_of_the_plan(tmp_path: Path) -> None:
    design = '{kind = "subset-selection", outputs = 8, privacy_level = 1}'
    text = re.sub(r"design = .*", lambda _: f"design = {design}", DEVICES.split("[questions.features]")[0])
    learned = check(read_campaign(_written(tmp_path, text))).learned["crashed"]
    assert learned is not None
    assert (learned.target, learned.guess) == ("share of 7", 1 / 8)
    model = Enumerated.saturated(list(range(8)))
    wanted = plan(model, "subset-selection", np.zeros(7), privacy_level=1, n=2000, target="shares").designs[0]
    assert learned.standard_error == pytest.approx(wanted.standard_error)


@pytest.mark.parametrize(
    ("design", "guess"),
    [
        ('{kind = "coordinate-release", dim = 3, privacy_level = 1, lower = 5, statistic_bound = 10}', 5),
        ('{kind = "hybrid", dim = 2, privacy_level = 1, lower = [-3, 2], statistic_bound = 10}', 2),
        ('{kind = "per-value", dim = 4, privacy_level = 1, l1_norm = 1}', 0),
    ],
)
def test_campaigns_of_devices_whose_zeros_are_no_truth_are_checked(design: str, guess: float, tmp_path: Path) -> None:
    text = re.sub(r"design = .*", lambda _: f"design = {design}", DEVICES.split("[questions.features]")[0])
    told = check(read_campaign(_written(tmp_path, text)))
    learned = told.learned["crashed"]
    assert learned is not None
    assert learned.standard_error > 0
    assert learned.guess == guess
    assert json.loads(told.payload)["id"]
