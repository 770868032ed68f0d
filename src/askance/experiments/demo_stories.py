"""The stories of the demonstration: how each is run, drawn and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from askance.experiments.demo_regression import RegressionConfig, draw_regression, regression_tables, run_regression
from askance.experiments.demo_tagger import TaggerConfig, draw_tagger, run_tagger, tagger_tables
from askance.experiments.survey import SurveyConfig, draw_survey, run_survey, survey_tables
from askance.experiments.tables import Table

Tell = Callable[[str], None]


class Story(NamedTuple):
    """One of them.

    Attributes:
        run: its result, of a seed, a number of respondents (of the survey) and what is told every step.
        draw: the picture of a result.
        heading: what a result is about, in one line.
        tables: of a result, as they are printed.
    """

    run: Callable[[int, int, Tell], dict[str, Any]]
    draw: Callable[..., bytes]
    heading: Callable[[Mapping[str, Any]], str]
    tables: Callable[[Mapping[str, Any]], Sequence[Table]]


def _survey_heading(config: Mapping[str, Any]) -> str:
    return f"“{config['question']}”  {config['respondents']:,} simulated respondents, seed {config['seed']}"


def _regression_heading(config: Mapping[str, Any]) -> str:
    columns = ", ".join(config["columns"])
    return f"{config['outcome']} by {columns}  {config['respondents']:,} simulated respondents, all private"


def _tagger_heading(config: Mapping[str, Any]) -> str:
    return f"a tagger from counts  one in each of {config['sentences']:,} sentences of a made-up language"


#: By name, in their order.
STORIES = {
    "survey": Story(
        lambda seed, n, tell: run_survey(replace(SurveyConfig(), seed=seed, respondents=n), tell),
        draw_survey,
        _survey_heading,
        survey_tables,
    ),
    "regression": Story(
        lambda seed, _, tell: run_regression(replace(RegressionConfig(), seed=seed), tell),
        draw_regression,
        _regression_heading,
        regression_tables,
    ),
    "tagger": Story(
        lambda seed, _, tell: run_tagger(replace(TaggerConfig(), seed=seed), tell),
        draw_tagger,
        _tagger_heading,
        lambda result: tagger_tables(result)[:1],  # the examples are in the report
    ),
}
