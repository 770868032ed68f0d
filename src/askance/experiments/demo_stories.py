"""The stories of the demonstration: how each is run, drawn and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, NamedTuple

from askance.experiments.demo_collector import (
    NEEDS,
    CollectorConfig,
    collector_tables,
    draw_collector,
    run_collector,
)
from askance.experiments.demo_regression import RegressionConfig, draw_regression, regression_tables, run_regression
from askance.experiments.demo_tagger import TaggerConfig, draw_tagger, run_tagger, tagger_tables
from askance.experiments.survey import SurveyConfig, draw_survey, run_survey, survey_tables
from askance.experiments.tables import number, text_table
from askance.tables import Table

Tell = Callable[[str], None]
#: Words of a story, by what they tell.
Words = Sequence[tuple[str, str]]


class Story(NamedTuple):
    """One of them.

    Attributes:
        title: on the page.
        shown: what its picture shows.
        run: its result, of a seed, a number of respondents (of the survey) and what is told every step.
        draw: the picture of a result.
        heading: what a result is about, in one line, of its config.
        words: the story of a result.
        tables: of a result, as they are printed.
        further_tables: those of the page alone.
        needs: modules that are not installed with the library itself.
    """

    title: str
    shown: str
    run: Callable[[int, int, Tell], dict[str, Any]]
    draw: Callable[..., bytes]
    heading: Callable[[Mapping[str, Any]], str]
    words: Callable[[Mapping[str, Any]], Words]
    tables: Callable[[Mapping[str, Any]], Sequence[Table]]
    further_tables: Callable[[Mapping[str, Any]], Sequence[Table]] = lambda result: ()
    needs: Sequence[str] = ()

    @property
    def missing(self) -> list[str]:
        """Modules that it needs and that are not there."""
        return [name for name in self.needs if find_spec(name) is None]


# -- words -------------------------------------------------------------------------------------------------------------


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


def _notes_of_fits(result: Mapping[str, Any]) -> list[Table]:
    """What each fit says about its intervals."""
    levels_of: dict[tuple[str, str], list[str]] = {}  # levels whose fits say the same share a row
    for level in result["levels"]:
        said = ("yes" if level["intervals_cover"] else "no", _sentences(level["messages"]))
        levels_of.setdefault(said, []).append(number(level["privacy_level"]))
    rows = [(", ".join(levels), *said) for said, levels in levels_of.items()]
    return [text_table("what the fits say of themselves", ("privacy level", "intervals cover", "notes"), rows)]


def _sentences(messages: Sequence[str]) -> str:
    return " ".join(f"{message[:1].upper()}{message[1:]}." for message in messages)


def _tagger_words(result: Mapping[str, Any]) -> Words:
    config, shown = result["config"], result["shown_window"]
    window = next(row for row in result["windows"] if row["words"] == shown)
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


def _collector_words(result: Mapping[str, Any]) -> Words:
    config, one = result["config"], result["first_respondent"]
    held = [row["lower"] <= row["truth"] <= row["upper"] for row in result["groups"][1:]]
    return (
        (
            "What was asked.",
            f"“{config['question']}”, and the age openly, of {config['respondents']:,} simulated people with a code "
            "each, by a real server on this machine.",
        ),
        (
            "What left the device.",
            f"One line each, all equally long, noised before it was sent by {result['drawn_by']}. The first person, "
            f"{one['age']} years old, whose true answer is {one['truth']!r}, sent: {one['sent']}",
        ),
        (
            "What was lost.",
            f"{_nothing_or(result['lost'])}. When {result['acknowledged_before']:,} answers were acknowledged, the "
            "server was killed (kill −9) and started again. Whoever got no answer sent the same line again: "
            f"{result['known_already']:,} of them had been stored before, and count once.",
        ),
        (
            "What can be known.",
            f"How common cheating is by age: {_held(held, config['confidence'])} What protects these answers was drawn "
            "by the system and has no seed, so the numbers of this story differ from run to run.",
        ),
    )


def _nothing_or(lost: int) -> str:
    return "Nothing" if lost == 0 else f"{lost:,} answers, which must not be"


def _held(held: Sequence[bool], confidence: float) -> str:
    return f"{sum(held)} of {len(held)} intervals hold the truth; on average {100 * confidence:g} % do."


#: By name, in their order.
STORIES = {
    "survey": Story(
        "A private survey",
        "shares by privacy level",
        lambda seed, n, tell: run_survey(replace(SurveyConfig(), seed=seed, respondents=n), tell),
        draw_survey,
        "“{question}”  {respondents:,} simulated respondents, seed {seed}".format_map,
        _survey_words,
        survey_tables,
    ),
    "regression": Story(
        "A private regression",
        "coefficients by privacy level",
        lambda seed, _, tell: run_regression(replace(RegressionConfig(), seed=seed), tell),
        draw_regression,
        lambda config: (
            f"{config['outcome']} by {', '.join(config['columns'])}  {config['respondents']:,} simulated "
            "respondents, all private"
        ),
        _regression_words,
        regression_tables,
        _notes_of_fits,
    ),
    "tagger": Story(
        "A tagger from counts",
        "accuracy by how many words are counted",
        lambda seed, _, tell: run_tagger(replace(TaggerConfig(), seed=seed), tell),
        draw_tagger,
        "a tagger from counts  one in each of {sentences:,} sentences of a made-up language".format_map,
        _tagger_words,
        lambda result: tagger_tables(result)[:1],
        lambda result: tagger_tables(result)[1:],  # the examples are on the page alone
    ),
    "collector": Story(
        "A campaign on a server that is killed",
        "answers over time, and shares by age",
        lambda seed, _, tell: run_collector(replace(CollectorConfig(), seed=seed), tell),
        draw_collector,
        "“{question}”  {respondents:,} simulated people answer over HTTP".format_map,
        _collector_words,
        collector_tables,
        needs=NEEDS,
    ),
}
