"""Regression on noised answers: from a formula and a table to a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from askance._arrays import AnyArray
from askance._checks import instance, one_of, shown
from askance._words import words
from askance.categories import Label
from askance.channels.finite import FiniteChannel
from askance.channels.labels import Direct
from askance.channels.list_experiment import ListExperiment
from askance.errors import InputError, LabelError, NotIdentifiedError, RepairWarning
from askance.estimation.entry import solve
from askance.estimation.outcome import tell
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.regression_fit import RegressionFit
from askance.evidence.responses import Responses
from askance.models.count_means import CountMeans
from askance.models.softmax import Covariates, Softmax
from askance.survey.answers import holds_reports, read_reports
from askance.survey.arm_agreement import agreement_message
from askance.survey.arms import (
    ArmedDesign,
    SurveyDesign,
    arms_of,
    one_name,
    read_armed_reports,
    read_arms,
)
from askance.survey.codebook import Codebook
from askance.survey.direct_lists import combined_fit, read_pairs
from askance.survey.drawn import on_clusters, on_strata, read_strata
from askance.survey.formula import ParsedFormula
from askance.survey.formula_mistakes import refusal
from askance.survey.hidden_predictor import regress_on_hidden
from askance.survey.hidden_terms import take_hidden
from askance.survey.list_checks import list_checks
from askance.survey.replicate_weights import ReplicateKind, ReplicateWeights, on_replicates
from askance.survey.survey_rows import SurveyRows
from askance.survey.tables import Table

#: The methods that regressions offer.
REGRESSION_METHODS = ("one-step", "moments", "marginal", "supervised")
_SWAPPED = "a hidden variable is at its end: look whether the groups and their probabilities are the right way round"
# Effects of this many log-odds per standard deviation of a term are more than surveys tell of.
_FAR = 2.0


@overload
def regress(
    formula: str, data: Table, channel: FiniteChannel | Mapping[Any, FiniteChannel], **options: Any
) -> RegressionFit: ...


@overload
def regress(formula: str, data: Table, channel: ArmedDesign, **options: Any) -> HiddenFit: ...


@overload
def regress(formula: str, data: Table, channel: Codebook, **options: Any) -> Any: ...


def regress(
    formula: str,
    data: Table,
    channel: SurveyDesign | Codebook,
    *,
    arm: str | None = None,
    treated: str | None = None,
    method: str | None = None,
    positive: Any = None,
    missing: Literal["error", "drop"] = "error",
    cluster: str | None = None,
    strata: str | None = None,
    fpc: str | None = None,
    lonely_psu: Literal["error", "adjust"] = "error",
    weights: str | None = None,
    replicates: Sequence[str] | str | None = None,
    replicate_kind: ReplicateKind | None = None,
    replicate_scale: float | None = None,
    replicate_scales: Sequence[float] | None = None,
    fay: float | None = None,
    outcome: str | None = None,
    **options: Any,
) -> Any:
    """Regress the hidden answer on covariates; or what was seen on covariates and the hidden answer.

    Args:
        formula: `report ~ terms`, see `askance.survey.formula`; the left side names the column of what was said.
            Blanks around texts do not count. Or `outcome ~ terms + hidden(report)`, where the left side was seen as it
            is, and the hidden answer explains it; `hidden(report ~ terms)` gives the hidden answer terms of its own,
            otherwise all of them explain it.
        data: a pandas, polars or Arrow table, a structured array, a dict of columns, or `read_table(path)`.
        channel: the design of the survey; or one for every arm, {"dice": …, "direct": …}; or a design with groups of
            its own, such as `CheatingDetection` or `ListExperiment`. Or a `Codebook`, which says that and more: the
            column, the arm, weights, what is missing. For several `hidden(…)` one each, {column: design}.
        arm: where there are several: name of the column that says in which way each row was asked.
        treated: the same for a list experiment, where the column says who had the sensitive item.
        method: "one-step" (default), "moments", "marginal", or "supervised" (the truth was told, through `Direct`);
            designs with nuisances have "marginal" alone; lists also "linear", or "moments" (the difference in
            means, given covariates), and "least-squares".
        positive: for two reports, the value that means the second (yes, or such as "same"); default: 1, True or
            "yes", in designs whose reports are yes and no.
        missing: "error" (default) or "drop" rows with a missing value in any column used; the fit says how many.
        cluster: name of a column of groups whose answers may depend on each other: the standard errors allow for it.
        strata: name of a column of strata that clusters (without `cluster`: rows) were drawn from: standard errors are
            those of R's `survey`, with as many degrees of freedom as there are clusters less strata.
        fpc: with strata: name of a column with the number of clusters in the stratum, or the share that was drawn.
        lonely_psu: what to do about a stratum with one cluster: "error" (default), or "adjust", as in R.
        weights: name of a column of sampling weights.
        replicates: names of columns of replicate weights, or a pattern such as "w_rep*": the model is fitted again with
            each, and standard errors come from the spread, as in `svrepdesign` of R's `survey`.
        replicate_kind: "JK1", "JKn", "BRR", "Fay" or "bootstrap".
        replicate_scale: of the spread, where it is not (R − 1)/R (JK1), 1 (JKn) or 1/(R − 1) (bootstrap).
        replicate_scales: of every replicate; JKn needs them.
        fay: ρ of Fay's method.
        outcome: what the left side is where it was seen: "category", "count" or "number"; default: what it holds.
            Categories are fitted by the likelihood ("marginal"), counts and numbers by the corrected score ("moments"),
            with the likelihood beside it and a test whether both agree.
        options: passed to the method, for example `covariance="robust"`.

    Returns:
        the fit, a `RegressionFit`, or a `HiddenFit` where more is hidden than the answer. `fit.design.matrix(new_data)`
        codes new data in the same way. Its summary names weights and clusters, and says whether arms agree.

    >>> from askance import Direct, ForcedResponse
    >>> rng = np.random.default_rng(5)
    >>> age = rng.uniform(20, 60, 4000)
    >>> truth = np.where(rng.random(4000) < 1 / (1 + np.exp(3 - age / 20)), "yes", "no")
    >>> design = ForcedResponse("2/3", "1/6")
    >>> fit = regress("said ~ I(age/10)", {"said": design.simulate(truth, rng), "age": age}, design)
    >>> fit.model.parameter_names
    ('Intercept', 'I(age / 10)')
    >>> lower, upper = fit.confidence_interval()
    >>> bool(lower[1] < 0.5 < upper[1])
    True

    A random half asked directly, in one fit:

    >>> version = np.where(np.arange(4000) % 2, "dice", "direct")
    >>> said = np.where(version == "dice", design.simulate(truth, rng), truth)
    >>> designs = {"dice": design, "direct": Direct(["no", "yes"])}
    >>> both = regress("said ~ I(age/10)", {"said": said, "age": age, "version": version}, designs, arm="version")
    >>> bool(both.standard_errors[1] < fit.standard_errors[1])
    True
    >>> [message for message in both.messages if message.startswith("the arms agree")] != []
    True

    The hidden answer as a cause of what was seen:

    >>> votes = np.where(rng.random(4000) < np.where(truth == "yes", 0.7, 0.3), "yes", "no")
    >>> table = {"said": design.simulate(truth, rng), "age": age, "votes": votes}
    >>> effect = regress("votes ~ I(age/10) + hidden(said)", table, design)
    >>> effect.parameter_names[-1]
    'votes:said[yes]'
    >>> bool(abs(effect.theta[-1] - np.log((0.7 / 0.3) ** 2)) < 3 * effect.standard_errors[-1])
    True
    """
    arm = one_name(arm, treated)
    if isinstance(channel, Codebook):
        chosen = {"arm": arm, "positive": positive, "cluster": cluster, "weights": weights, "strata": strata}
        told = channel.options(formula) | {name: value for name, value in chosen.items() if value is not None}
        told |= {"fpc": fpc, "lonely_psu": lonely_psu, "replicates": replicates, "fay": fay}
        told |= {"replicate_kind": replicate_kind, "replicate_scale": replicate_scale}
        told |= {"replicate_scales": replicate_scales}
        return regress(formula, channel.table(data), method=method, missing=missing, outcome=outcome, **told, **options)
    rest, hidden = take_hidden(formula)
    if fpc is not None and strata is None:
        raise InputError(words("{fpc} is given without {strata}."), remedy=words("Name a column of {strata=…} too."))
    again = None
    if replicates is not None:
        again = ReplicateWeights(replicates, replicate_kind, replicate_scale, replicate_scales, fay)
        again.require_alone(cluster, strata, carried=not hidden and not isinstance(channel, ArmedDesign))
    elif any(told is not None for told in (replicate_kind, replicate_scale, replicate_scales, fay)):
        raise InputError(
            words("what is said of {replicates} is given without them."), remedy=words("Name {replicates}.")
        )
    if hidden and strata is not None:
        raise InputError(
            words("{strata} are not offered where the hidden answer explains another."),
            remedy=words("Take {cluster=…}, which holds without them."),
        )
    if hidden:
        asked = {"arm": arm, "method": method, "positive": positive, "missing": missing, "cluster": cluster}
        return regress_on_hidden(
            formula, rest, hidden, data, channel, **asked, weights=weights, outcome=outcome, **options
        )
    if outcome is not None:
        raise InputError(
            words("{outcome} is {0}, and the formula has no hidden answer that explains one.", repr(outcome)),
            remedy=words("Leave {outcome} out, or write: … + hidden(column of reports)."),
        )
    arms = arms_of(channel, arm)
    _check_choices(channel if arms is None else arms, method, hidden=isinstance(channel, ArmedDesign))
    beside = channel.direct if isinstance(channel, ListExperiment) else None
    others = {"cluster": cluster, "weights": weights, "arm": arm, "strata": strata, "fpc": fpc, "direct": beside}
    copies = [] if again is None else again.names(data, weights)
    rows = SurveyRows.read(formula, data, missing, **others, **{f"replicates[{i}]": n for i, n in enumerate(copies)})
    which = None if arms is None or arm is None else read_arms(rows.column(arm), arms, channel)
    reports, readings = _read(rows, channel, arms, which, positive)
    design, x = rows.coded
    model = _model(channel, design.terms, method)
    if strata is not None:
        _check_strata(channel if arms is None else arms, model, fpc)
    if model.terms != design.terms:
        raise InputError(
            f"the formula makes {shown(list(design.terms))}, without the intercept that shares of nuisances are.",
            remedy="Leave out 0 + or - 1.",
        )
    if model.dimension > len(reports):
        raise NotIdentifiedError(
            f"{model.dimension} parameters cannot be estimated from {len(reports)} rows.", remedy="Leave out terms."
        )
    groups, layers = None if cluster is None else rows.groups(cluster), None
    if strata is not None:
        groups, layers = read_strata(rows, strata, cluster, fpc, lonely_psu)
    weighting = None if weights is None else rows.weights(weights)
    several = None if arms is None or which is None else np.array(list(arms), dtype=object)[which]

    empty: Responses[Any] = Responses(channel if arms is None else arms, strata=layers)
    evidence = empty.add(x, reports, weights=weighting, clusters=groups, arm=several)
    # As the rows of evidence stand, arm by arm.
    order = np.arange(len(rows)) if which is None else np.argsort(which, kind="stable")
    if which is not None:
        design.sort_respondents(order)
    if again is not None:
        table, replication = again.read(rows, copies)
        evidence = evidence.replicated(table[order], replication)
    fit, blame = _estimate(model, evidence, x, method, options)
    messages = [
        *rows.written.notes,
        rows.on_dropped,
        *readings,
        *rows.on_blanks,
        "" if weights is None else f"weighted by {weights}",
        on_strata(evidence, strata, cluster) if strata else on_clusters(fit, evidence, cluster) if cluster else "",
        on_replicates(fit, replicate_kind) if again is not None else "",
        *fit.diagnostics.messages,
        blame,
        "" if isinstance(model, Softmax) or not fit.diagnostics.repaired else _SWAPPED,
        "" if which is None or again is not None or not isinstance(model, Softmax) else agreement_message(fit),
        *(list_checks(fit, channel).messages if isinstance(channel, ListExperiment) else ()),
    ]
    diagnostics = replace(fit.diagnostics, messages=tuple(filter(None, messages)))
    named = {"design": channel.specification()} if isinstance(channel, ArmedDesign) else {}
    return replace(fit, diagnostics=diagnostics, design=design, channel={**fit.channel, **named})


def _estimate(
    model: Any, evidence: Responses, x: Covariates, method: str | None, options: dict[str, Any]
) -> tuple[Any, str]:
    """The fit, and where a weak prior acted the terms it acted on; its warning then names them too."""
    if isinstance(model, CountMeans) and len(model.groups) == 1:
        return combined_fit(model, evidence), ""
    fit, notices = solve(model, evidence, None if isinstance(model, CountMeans) else method, **options)
    blame = _least_known(fit, x) if fit.diagnostics.repaired and isinstance(model, Softmax) else ""
    more = f". {blame[:1].upper()}{blame[1:]}" if blame else ""
    tell(n._replace(text=n.text + more) if issubclass(n.kind, RepairWarning) else n for n in notices)
    return fit, blame


def _check_choices(channel: object, method: str | None, *, hidden: bool) -> None:
    remedy = 'Give the design, such as ForcedResponse("2/3", "1/6").'
    for design in channel.values() if isinstance(channel, Mapping) else [channel]:
        matrix = instance(design, FiniteChannel, "channel", "a channel", remedy).matrix
        if bool((matrix == matrix[:, :1]).all()):
            raise NotIdentifiedError(
                f"{design!r}: every report is equally likely whatever the truth, so the design carries no information.",
                remedy="Correct its probabilities.",
            )
    if method is not None and not hidden:
        one_of(method, REGRESSION_METHODS, "method", "The default is one-step.")


def _check_strata(channel: object, model: object, fpc: str | None) -> None:
    """Refuse methods that do not know of strata, and a correction that would take away the noise of the device."""
    if isinstance(model, CountMeans):
        raise InputError(
            words("{strata} are not offered with least squares of lists."),
            remedy=words("Take {method=marginal}, or {cluster=…} alone."),
        )
    designs = list(channel.values()) if isinstance(channel, Mapping) else [channel]
    if fpc is not None and not all(isinstance(design, Direct) for design in designs):
        raise InputError(
            words(
                "{fpc} is given where answers came through a device, whose noise does not shrink with the share that "
                "was drawn; allowed: with the direct question alone."
            ),
            remedy=words("Leave {fpc} out: errors are then a little too large."),
        )


def _read(
    rows: SurveyRows,
    channel: SurveyDesign,
    arms: dict[Label, FiniteChannel] | None,
    which: AnyArray | None,
    positive: Any,
) -> tuple[AnyArray, list[str]]:
    """What was said, as labels, and how values were read."""
    if isinstance(channel, ListExperiment) and channel.direct is not None and which is not None:
        return read_pairs(rows, channel, which, positive)
    column = rows.as_written(rows.parsed.answer)
    try:
        if arms is not None and which is not None:
            reports, readings = read_armed_reports(column, arms, which, positive)
        else:
            assert isinstance(channel, FiniteChannel)
            reports, reading = read_reports(column, channel, positive)
            readings = [reading]
    except LabelError:
        if not isinstance(channel, ListExperiment):  # any 0/1 column holds possible counts
            _refuse_answers_on_the_right(rows, channel if arms is None else arms)
        raise
    _check_reports(rows.parsed, reports)
    return reports, readings


def _model(channel: SurveyDesign, terms: tuple[str, ...], method: str | None) -> Any:
    """What is hidden, given covariates."""
    if isinstance(channel, ListExperiment):
        return channel.model(terms, method)
    if isinstance(channel, ArmedDesign):
        return channel.model(terms)
    one = channel if isinstance(channel, FiniteChannel) else next(iter(channel.values()))
    return Softmax(one.outputs, terms)


def _check_reports(parsed: ParsedFormula, reports: AnyArray) -> None:
    """Refuse to explain what never varies; its share alone can be estimated."""
    name = parsed.answer
    if parsed.columns and bool((reports == reports[0]).all()):
        only = reports[:1].tolist()[0]
        raise NotIdentifiedError(
            f"column {name!r} holds only {only!r} ({len(reports)} rows): there is nothing to explain.",
            remedy=f"Check the column and the rows kept; for a share alone, write {name} ~ 1.",
        )


def _refuse_answers_on_the_right(rows: SurveyRows, channel: Any) -> None:
    """Where the left side holds no reports and a column on the right does: what is offered instead."""
    ways = list(channel.values()) if isinstance(channel, Mapping) else [channel]
    answer, text = rows.parsed.answer, rows.parsed.text
    for name in rows.parsed.columns:
        if any(holds_reports(rows.column(name), way) for way in ways):
            raise refusal(
                text,
                f"{name} holds what was said, and stands right of ~. The hidden answer is what the left side names",
                f"To explain it, write {name} ~ {answer}; to explain {answer} by it, {answer} ~ hidden({name}).",
            )


def _least_known(fit: RegressionFit, x: Covariates) -> str:
    """Where the weak prior acted: the terms whose effects it kept within bounds."""
    square = np.asarray((x.multiply(x) if hasattr(x, "multiply") else x * x).mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(square - np.asarray(x.mean(axis=0)).ravel() ** 2, 0.0))
    # How far from 0 the effect of one standard deviation may well be; constants have none.
    reach = (np.hypot(fit.theta, fit.standard_errors).reshape(-1, len(spread)) * spread).ravel()
    names = [name for name, far in zip(fit.model.parameter_names, reach, strict=True) if not far <= _FAR]
    if not names:
        names = ["Intercept"] if not reach.any() else [fit.model.parameter_names[int(np.argmax(reach))]]
    shown = ", ".join(repr(name) for name in names[:6]) + (" and others" if len(names) > 6 else "")
    return (
        f"the data leave most open the effect of {shown}: a rare answer, few rows, or a term that separates the "
        "answers; do not read its z and P, compare shares"
    )
