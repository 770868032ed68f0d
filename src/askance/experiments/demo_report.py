"""The page of the demonstration: three stories in one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from askance import __version__
from askance.experiments.demo_regression import regression_tables
from askance.experiments.demo_tagger import tagger_tables

# The look is that of the report on the paper, by the same style sheet and the same figures and tables.
from askance.experiments.report import figure_html, html_document, table_html
from askance.experiments.runner import require_folder
from askance.experiments.survey import survey_tables
from askance.experiments.tables import Table, number
from askance.formats.disk import regular_target, write_whole

TITLE = "askance: what can be learned from what people are willing to tell"
_ABOUT = (
    "Three stories, simulated so that the truth is known and can be put beside what was estimated. In none of them are "
    "the data themselves seen by whoever estimates. The privacy level of the first two bounds what a report can give "
    "away: no report is more than e to the power of the level times as likely from one person as from any other."
)
#: The stories, in their order, and the name of the page.
PARTS, PAGE = ("survey", "regression", "tagger"), "report.html"
# By story: its heading, and what its picture shows.
_HEADINGS = {
    "survey": ("A private survey", "shares by privacy level"),
    "regression": ("A private regression", "coefficients by privacy level"),
    "tagger": ("A tagger from counts", "accuracy by how many words are counted"),
}
#: Words of a story, by what they tell.
Words = Sequence[tuple[str, str]]


def narrow_name(part: str) -> str:
    """What the picture of a story for phones is called."""
    return f"{part}, narrow"


def require_places(folder: Path) -> None:
    """Make the folder, and refuse one where a file of the demonstration cannot be written, before work begins."""
    require_folder(folder)
    for name in (*(f"{part}{ending}" for part in PARTS for ending in (".png", ".json")), PAGE):
        regular_target(folder / name)


def write_demo(
    folder: Path, results: Mapping[str, Mapping[str, Any]], pictures: Mapping[str, bytes], command: str
) -> Path:
    """Write picture and numbers of every part, then the page (arguments as for `demo_page`); each file whole.

    Returns:
        where the page is.
    """
    for part in PARTS:
        write_whole(folder / f"{part}.png", pictures[part])
        write_whole(folder / f"{part}.json", (json.dumps(results[part], indent=2) + "\n").encode())
    write_whole(folder / PAGE, demo_page(results, pictures, command).encode())
    return folder / PAGE


def demo_page(results: Mapping[str, Mapping[str, Any]], pictures: Mapping[str, bytes], command: str) -> str:
    """The whole document.

    Args:
        results: of `run_survey`, `run_regression` and `run_tagger`, as "survey", "regression" and "tagger".
        pictures: PNG files by the same names; those for phones, if there are any, by `narrow_name`.
        command: what makes this page again.
    """
    survey, regression, tagger = results["survey"], results["regression"], results["tagger"]
    sections = [
        _story("survey", _survey_words(survey), survey_tables(survey), pictures),
        _story("regression", _regression_words(regression), _with_notes(regression), pictures),
        _story("tagger", _tagger_words(tagger), tagger_tables(tagger), pictures),
    ]
    end = [
        "<h2>To make this page again</h2>",
        f"<pre>{escape(command)}</pre>",
        f'<p class="soft">askance {escape(__version__)}. Every number is in survey.json, regression.json and '
        "tagger.json beside this page, and the pictures are drawn from them alone.</p>",
    ]
    return html_document(TITLE, _ABOUT, [*sections, *end])


def _story(name: str, words: Words, tables: Sequence[Table], pictures: Mapping[str, bytes]) -> str:
    title, shown = _HEADINGS[name]
    return "\n".join(
        [
            f'<section id="{escape(name)}">',
            f"<h2>{escape(title)}</h2>",
            *(f"<p><strong>{escape(what)}</strong> {escape(text)}</p>" for what, text in words),
            figure_html(shown, pictures[name], title, narrow=pictures.get(narrow_name(name))),
            *(table_html(table) for table in tables),
            "</section>",
        ]
    )


def _survey_words(result: Mapping[str, Any]) -> Words:
    config, levels = result["config"], result["levels"]
    strict = min(levels, key=lambda level: float(level["privacy_level"]))
    held = [
        row["lower"][i] <= share <= row["upper"][i]
        for level in levels
        for row in level["estimates"].values()
        for i, share in enumerate(result["true_shares"])
    ]
    return (
        ("What was asked.", f"“{config['question']}”, of {config['respondents']:,} simulated people."),
        (
            "What left the device.",
            f"One answer each. At level {number(strict['privacy_level'])} the device sends the true one with "
            f"probability {strict['truth_told']:.0%} and otherwise one drawn blindly, so that an answer says little "
            "about the person who gave it. The level is computed from the design, not claimed.",
        ),
        (
            "What can be known.",
            "The share of every answer among all people, though what was said is far from it (crosses in the "
            f"picture): {_held(held, config['confidence'])} Less privacy gives narrower intervals.",
        ),
    )


def _regression_words(result: Mapping[str, Any]) -> Words:
    config, levels = result["config"], result["levels"]
    strict = min(levels, key=lambda level: float(level["privacy_level"]))
    person = ", ".join(
        f"{name} {number(value)}"
        for name, value in zip((*config["columns"], config["outcome"]), result["first_respondent"], strict=True)
    )
    report = ", ".join(f"{name} {value}" for name, value in strict["first_report"].items())
    held = [
        row["lower"] <= true <= row["upper"]
        for level in levels
        for row, true in zip(level["parameters"], config["theta"], strict=True)
    ]
    return (
        (
            "What was asked.",
            f"How {config['outcome']} goes with {' and '.join(config['columns'])}, of {config['respondents']:,} "
            "simulated people who want to tell none of these numbers.",
        ),
        (
            "What left the device.",
            f"Neither x nor y, but one noised report on all of them together. The first person ({person}) sent, at "
            f"level {number(strict['privacy_level'])}: {report}. That is all.",
        ),
        (
            "What can be known.",
            f"The coefficients of the regression, none of the records: {_held(held, config['confidence'])} The price "
            "of privacy is the width of the intervals beside those of open records.",
        ),
    )


def _with_notes(result: Mapping[str, Any]) -> list[Table]:
    """The coefficients, and what each fit says about its intervals."""
    levels_of: dict[tuple[str, str], list[str]] = {}  # levels whose fits say the same share a row
    for level in result["levels"]:
        said = ("yes" if level["intervals_cover"] else "no", _sentences(level["messages"]))
        levels_of.setdefault(said, []).append(number(level["privacy_level"]))
    rows = [(", ".join(levels), *said) for said, levels in levels_of.items()]
    return [
        *regression_tables(result),
        Table("what the fits say of themselves", ("privacy level", "intervals cover", "notes"), rows),
    ]


def _sentences(messages: Sequence[str]) -> str:
    return " ".join(f"{message[:1].upper()}{message[1:]}." for message in messages)


def _tagger_words(result: Mapping[str, Any]) -> Words:
    config, shown = result["config"], result["shown_window"]
    window = next(each for each in result["windows"] if each["words"] == shown)
    return (
        (
            "What was asked.",
            f"How many words of each of {len(result['text']['tags'])} kinds are among {shown} words in a row, once in "
            f"each of {config['sentences']:,} sentences of a made-up language. Nobody says which word is which.",
        ),
        (
            "What left the annotator's desk.",
            f"The counts alone, of {window['counted_words']:,} of the {result['text']['training_words']:,} words.",
        ),
        (
            "What can be known.",
            f"The kind of every single word in {config['test_sentences']:,} other sentences: "
            f"{window['counts']['accuracy']:.1%} are right. Labels of the same words give "
            f"{window['labels_of_these_words']['accuracy']:.1%}, labels of all words "
            f"{result['labels']['accuracy']:.1%}, and always saying the commonest kind "
            f"{result['majority']['accuracy']:.1%}.",
        ),
    )


def _held(held: Sequence[bool], confidence: float) -> str:
    return f"{sum(held)} of {len(held)} intervals hold the truth; on average {100 * confidence:g} % do."
