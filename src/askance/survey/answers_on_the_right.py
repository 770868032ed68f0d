"""Formulas that take what was said for the answer itself, mostly right of ~, where the hidden answer explains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from askance._checks import shorten
from askance.channels.labels import Direct
from askance.survey.answers import holds_reports
from askance.survey.codebook import Codebook
from askance.survey.formula import ParsedFormula, parse_formula
from askance.survey.formula_mistakes import refusal
from askance.survey.hidden_terms import take_hidden
from askance.survey.survey_rows import SurveyRows
from askance.survey.tables import Column, Columns

# Rows that are looked at before all are.
_FIRST = 100


def refuse_answers_on_the_right(parsed: ParsedFormula, column: Callable[[str], Column], channel: Any) -> None:
    """Where the left side holds no reports and a column on the right does: what is offered instead."""
    answer = parsed.answer
    for name in parsed.columns:
        if any(holds_reports(column(name), way) for way in _ways(channel)):
            raise refusal(
                parsed.text,
                f"{name} holds what was said, and stands right of ~. The hidden answer is what the left side names",
                f"To explain it, write {name} ~ {answer}; to explain {answer} by it, {answer} ~ hidden({name}).",
            )


def refuse_noised_as_seen(formula: str, codebook: Codebook, table: Columns) -> None:
    """Refuse a question of the codebook that was noised where a formula wants values that were seen.

    Noise in what explains draws coefficients towards 0, and nothing in the fit would tell.

    Args:
        formula: hidden terms may stand in it; then what is left of ~ was seen, too.
        codebook: says how every question was asked.
        table: its columns.
    """
    rest, hidden = take_hidden(formula)
    noised = [name for name in codebook.hidden if _noised(codebook.design(name))]
    parsed = parse_formula(rest, table)
    own = [parse_formula(f"{parsed.answer} ~ {term.terms}", table).columns for term in hidden if term.terms]
    seen = [*((parsed.answer,) if hidden else ()), *parsed.columns, *(name for names in own for name in names)]
    for name in seen:
        if name in noised:
            pair = ", ".join([name, *(term.column for term in hidden)] if hidden else [parsed.answer, name])
            raise refusal(
                formula,
                f"the codebook says that {name} was noised, and it stands where answers are taken as they are",
                f"Leave {name} out. How hidden answers go together, such as {pair}, is for `askance association`; what "
                f"follows from one, for an answer that was asked openly: OPEN ~ hidden({name}).",
            )


def _noised(design: object) -> bool:
    return not all(isinstance(way, Direct) for way in _ways(design))


def on_answers_on_the_right(rows: SurveyRows, channel: Any) -> str:
    """That the reports of the design stand right of ~ as they are written, and left other values; empty elsewhere."""
    answer = rows.parsed.answer
    names = [name for name in rows.parsed.columns if _written(rows.column(name), channel)]
    if _written(rows.column(answer), channel) or not names:
        return ""
    return (
        f"{answer!r} is taken for what was said through the design, though {shorten(names)} holds its reports as they "
        f"are written: to explain {answer} by the hidden answer, write {answer} ~ hidden({names[0]})"
    )


def _written(column: Column, channel: Any) -> bool:
    """Whether a column holds all reports of a design, and nothing else."""
    # Most columns show another value in their first rows: a million rows need not be told apart for that.
    start = zip(column.values[:_FIRST].tolist(), column.missing[:_FIRST].tolist(), strict=True)
    few = {value for value, is_gap in start if not is_gap}
    reports = [set(way.observations.labels) for way in _ways(channel)]
    likely = [labels for labels in reports if few <= labels]
    return bool(likely) and set(column.distinct()) in likely


def _ways(channel: Any) -> list[Any]:
    return list(channel.values()) if isinstance(channel, Mapping) else [channel]
