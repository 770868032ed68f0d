"""Formulas in which what was said stands right of ~, where it explains, though it is the hidden answer that does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from askance._checks import shorten
from askance.survey.answers import holds_reports
from askance.survey.formula import ParsedFormula
from askance.survey.formula_mistakes import refusal
from askance.survey.survey_rows import SurveyRows
from askance.survey.tables import Column


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
    return any(set(column.distinct()) == set(way.observations.labels) for way in _ways(channel))


def _ways(channel: Any) -> list[Any]:
    return list(channel.values()) if isinstance(channel, Mapping) else [channel]
