"""The hidden answer as a cause: regressions of what was seen on covariates and what is hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from askance._checks import instance, one_of, shorten
from askance._words import Either, words
from askance.channels.finite import FiniteChannel
from askance.channels.product import product_channel
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.checks.hausman import hausman_test
from askance.estimation.entry import solve
from askance.estimation.outcome import tell
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.results.hidden_fit import HiddenFit
from askance.evidence.responses import Responses
from askance.models.hidden import BETWEEN, Factor, HiddenVariables
from askance.models.outcome import Outcome
from askance.survey.answers import read_reports
from askance.survey.arms import ArmedDesign, arms_of, law_of, read_arms
from askance.survey.drawn import Drawn
from askance.survey.formula import FormulaDesign, parse_formula
from askance.survey.formula_mistakes import refusal
from askance.survey.group_agreement import on_groups
from askance.survey.hidden_terms import HiddenTerm
from askance.survey.read_outcomes import ReadOutcome, read_outcome
from askance.survey.said import Said
from askance.survey.survey_rows import SurveyRows, require_rows
from askance.survey.tables import Table

_METHODS = ("marginal", "moments")
_SHAPE = (
    "the likelihood takes the law of the outcome for granted, and may find the hidden answer in the shape of its errors"
)


def regress_on_hidden(
    formula: str,
    rest: str,
    hidden: Sequence[HiddenTerm],
    data: Table,
    channel: Any,
    drawn: Drawn,
    *,
    arm: str | None,
    method: str | None,
    positive: Any,
    missing: Literal["error", "drop"],
    outcome: str | None,
    **options: Any,
) -> HiddenFit:
    """`regress` where the formula has hidden terms.

    Args:
        formula: as typed.
        rest: the same without hidden terms.
        hidden: these.
        data: the table.
        channel: the design; of several hidden answers one each, {column: design}.
        drawn: as in `regress`.
        arm: as in `regress`.
        method: "marginal" (the likelihood), or "moments" (the corrected score), which is the default for counts and
            numbers; the other one then stands beside it, with a test whether both agree.
        positive: as in `regress`; of several hidden answers {column: value}, where they differ.
        missing: as in `regress`.
        outcome: "category", "count" or "number"; default: what the column holds.
        options: of the method.
    """
    if method is not None:
        one_of(method, _METHODS, "method", "Leave it out for the default.")
    columns = [term.column for term in hidden]
    if len(columns) == 1 and isinstance(channel, Mapping) and list(channel) == columns:
        channel = channel[columns[0]]
    whole = " + ".join([rest, *(f"({term.terms})" for term in hidden if term.terms)])
    others = {f"hidden({name})": name for name in columns}
    rows = SurveyRows.read(whole, data, missing, drawn, arm=arm, **others)
    for name in columns:
        if name in (rows.parsed.answer, *rows.parsed.columns):
            what = f"{name} holds the reports of hidden({name}), and stands where values are taken as they are"
            raise refusal(formula, what, f"Leave {name} out: hidden({name}) alone is the answer behind it.")
    said = _read(rows, columns, channel, arm, positive)
    seen = read_outcome(rows.column(rows.parsed.answer), outcome)
    design, x = rows.coded
    model = _model(rows, rest, hidden, channel, seen, design.terms)
    drawn.require_offered(model, said.channel)
    require_rows(model, len(rows))
    dense = x if isinstance(x, np.ndarray) else x.toarray()
    evidence = said.evidence(rows, np.column_stack([dense, seen.values]))
    design.formula = formula
    fit, told = _fit(model, evidence, seen, method, options)
    whole_fit: HiddenFit = said.told(fit, rows, before=[seen.note], after=[*law_of(channel), *told, on_groups(fit)])
    return whole_fit


# -- what was said, and the model ----------------------------------------------------------------------------------


def _read(rows: SurveyRows, columns: Sequence[str], channel: Any, arm: str | None, positive: Any) -> Said:
    """The reports of all hidden columns, through the product of their channels."""
    if len(columns) == 1:
        kinds = (FiniteChannel, Mapping, ArmedDesign)
        if not isinstance(channel, kinds):
            instance(channel, FiniteChannel, "channel", "a channel", 'Give the design, such as Warner("3/4").')
        arms, column = arms_of(channel, arm), rows.as_written(columns[0])
        which = None if arms is None or arm is None else read_arms(rows.column(arm), arms, channel)
        return Said.read(column, channel if arms is None else arms, which, positive)
    by_column = isinstance(channel, Mapping) and set(channel) == set(columns)
    if not by_column or arm is not None or not all(isinstance(own, FiniteChannel) for own in channel.values()):
        several = "{" + ", ".join(f"{name!r}: …" for name in columns) + "}"
        raise InputError(
            f"the formula has the hidden answers {shorten(columns)}; allowed for several: a design each, without arms.",
            remedy=words("Give a design for every column, {0}.", Either(several, "in a file, by --designs")),
        )
    parts, readings = [], []
    for name in columns:
        own = positive.get(name) if isinstance(positive, Mapping) else positive
        labels, reading = read_reports(rows.as_written(name), channel[name], own)
        parts.append(labels.tolist())
        readings.append(reading)
    joined = np.array([BETWEEN.join(map(str, row)) for row in zip(*parts, strict=True)], dtype=object)
    return Said(product_channel([channel[name] for name in columns]), joined, None, readings)


def _model(
    rows: SurveyRows,
    rest: str,
    hidden: Sequence[HiddenTerm],
    channel: Any,
    seen: ReadOutcome,
    terms: tuple[str, ...],
) -> HiddenVariables:
    """Hidden answers given covariates, each after those before it, and the outcome given both."""
    own = _terms_of(rest, rows, terms)
    answer = rows.parsed.answer
    if isinstance(channel, ArmedDesign):
        if hidden[0].terms:
            raise InputError(
                f"hidden({hidden[0].column} ~ …) has terms of its own, and {channel!r} has nuisances; allowed with "
                "these: the terms of the formula.",
                remedy=f"Write hidden({hidden[0].column}).",
            )
        factors = list(channel.model(terms).factors)
        after = [factors[0].name]
    else:
        designs = channel if isinstance(channel, Mapping) else {}
        one = next(iter(designs.values())) if designs else channel
        factors, after = [], []
        for term in hidden:
            labels = designs.get(term.column, one).outputs
            explains = own if term.terms is None else _terms_of(f"{answer} ~ {term.terms}", rows, terms)
            factors.append(Factor(term.column, labels, explains, after=after))
            after = [*after, term.column]
    outcome = Outcome(answer, seen.family, own, after=after, outputs=seen.labels)
    return HiddenVariables(factors, [outcome], terms)


def _terms_of(formula: str, rows: SurveyRows, terms: tuple[str, ...]) -> tuple[str, ...]:
    """Which columns of x a part of the formula makes."""
    parsed = parse_formula(formula, rows.table, leave_out=rows.others)
    own = set(FormulaDesign.learn(parsed, rows.table, rows.mask)[0].terms)
    if not own <= set(terms):
        raise InputError(
            f"{formula!r} makes {shorten(sorted(own - set(terms)))}, which the whole formula does not; allowed: terms "
            "that are coded in the same way.",
            remedy="Keep the intercept in both parts.",
        )
    return tuple(term for term in terms if term in own)


# -- the fit, and the other one beside it ------------------------------------------------------------------------------


def _fit(
    model: HiddenVariables, evidence: Responses, seen: ReadOutcome, method: str | None, options: dict[str, Any]
) -> tuple[HiddenFit, list[str]]:
    """The fit by the method asked for, or by the usual one, and what is to be said of the other."""
    first = method or ("marginal" if seen.family == "category" else "moments")
    try:
        fit, notices = solve(model, evidence, first, **options)
    except NotIdentifiedError:
        if method is not None or first == "marginal":
            raise
        fit, notices = solve(model, evidence, "marginal", **options)
        tell(notices)
        return fit, [f"the design has no unbiased guess of what is hidden: the likelihood stands alone; {_SHAPE}"]
    tell(notices)
    if first == "marginal" and seen.family == "category":
        return fit, []
    try:
        other: HiddenFit = solve(model, evidence, "moments" if first == "marginal" else "marginal").fit
    except NotIdentifiedError:
        return fit, ["the design has no unbiased guess of what is hidden: the likelihood stands alone"]
    return fit, _beside(fit, other)


def _beside(fit: HiddenFit, other: HiddenFit) -> list[str]:
    """The effects by the other method, and whether both agree."""
    name = {"moments": "corrected score", "marginal": "likelihood"}[other.method]
    effects = ", ".join(
        f"{fit.parameter_names[i]} {other.theta[i]:.4g} ({other.standard_errors[i]:.2g})" for i in fit.model.effects
    )
    told = [f"by the {name}: {effects}", *(m for m in other.diagnostics.messages if m.startswith("maxima of"))]
    likelihood, corrected = (fit, other) if fit.method == "marginal" else (other, fit)
    if likelihood.repaired or not (likelihood.converged and corrected.converged):
        return [*told, "whether both agree cannot be told: one of them did not end at a maximum"]
    assert fit.evidence is not None
    problem = HiddenProblem(fit.model, fit.evidence)
    test = hausman_test(problem, *(problem.inward(one.theta) for one in (likelihood, corrected)))
    verdict = f"they do not agree: {_SHAPE}; rely on the corrected score" if test.p_value < 0.05 else "both agree"
    verdict = "whether both agree cannot be told" if np.isnan(test.p_value) else verdict
    return [*told, f"Hausman test of likelihood against corrected score: {test.text}: {verdict}"]
