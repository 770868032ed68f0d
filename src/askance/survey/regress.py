"""Regression on noised answers: from a formula and a table to a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal, overload

from askance._arrays import AnyArray
from askance._checks import instance, one_of, shown
from askance._words import words
from askance.channels.finite import FiniteChannel
from askance.channels.list_experiment import OF_LAW, ListExperiment
from askance.errors import InputError, LabelError, NotIdentifiedError
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.regression_fit import RegressionFit
from askance.evidence.protocols import Engine
from askance.models.count_means import CountMeans
from askance.models.softmax import Softmax
from askance.survey.answers_on_the_right import (
    on_answers_on_the_right,
    refuse_answers_on_the_right,
    refuse_noised_as_seen,
)
from askance.survey.arm_agreement import agreement_message
from askance.survey.arms import ArmedDesign, SurveyDesign, arms_of, law_of, one_name, read_arms
from askance.survey.carried import require_carried
from askance.survey.codebook import Codebook
from askance.survey.direct_lists import combined_fit, read_pairs
from askance.survey.drawn import Drawn
from askance.survey.group_agreement import on_groups
from askance.survey.hidden_predictor import regress_on_hidden
from askance.survey.hidden_terms import take_hidden
from askance.survey.list_checks import list_checks
from askance.survey.list_counts import refuse_counts
from askance.survey.said import Said
from askance.survey.solved import solved
from askance.survey.survey_rows import SurveyRows, require_rows, require_varied
from askance.survey.tables import Table, are_files

#: The methods that regressions offer.
REGRESSION_METHODS = ("one-step", "moments", "marginal", "supervised")
_SWAPPED = "a hidden variable is at its end: look whether the groups and their probabilities are the right way round"


@overload
def regress(
    formula: str, data: Table, channel: FiniteChannel | Mapping[Any, FiniteChannel], **options: Any
) -> RegressionFit: ...


@overload
def regress(formula: str, data: Table, channel: ListExperiment | Codebook, **options: Any) -> Any: ...


@overload
def regress(formula: str, data: Table, channel: ArmedDesign, **options: Any) -> HiddenFit: ...


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
    weights: str | None = None,
    drawn: Drawn | None = None,
    outcome: str | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> Any:
    """Regress the hidden answer on covariates; or what was seen on covariates and the hidden answer.

    Args:
        formula: `report ~ terms`, see `askance.survey.formula`; the left side names the column of what was said.
            Blanks around texts do not count. Or `outcome ~ terms + hidden(report)`, where the left side was seen as it
            is, and the hidden answer explains it; `hidden(report ~ terms)` gives the hidden answer terms of its own,
            otherwise all of them explain it.
        data: a pandas, polars or Arrow table, a structured array, a dict of columns, or `read_table(path)`. Or names of
            Parquet files, a folder or a pattern: rows then stay in the files, and are read in passes.
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
        weights: name of a column of sampling weights.
        drawn: the same and what else is known of how respondents were drawn: strata, replicate weights.
        outcome: what the left side is where it was seen: "category", "count" or "number"; default: what it holds.
            Categories are fitted by the likelihood ("marginal"), counts and numbers by the corrected score ("moments"),
            with the likelihood beside it and a test whether both agree.
        engine: of `askance.scale`, which reads the files where it works; default: `Here()`. Bits do not depend on it.
        options: passed to the method, for example `covariance="robust"`.

    Returns:
        the fit, a `RegressionFit`, or a `HiddenFit` where more is hidden than the answer. `fit.design.matrix(new_data)`
        codes new data in the same way. Its summary names weights and clusters, and says whether arms agree.

    >>> import numpy as np
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
    """
    arm, sampled = one_name(arm, treated), Drawn(cluster=cluster, weights=weights).over(drawn or Drawn())
    _refuse_fields_of_drawn(options)
    rest, hidden = take_hidden(formula)
    in_files = engine is not None or are_files(data)
    if in_files:
        require_carried(data, channel, hidden, sampled)
    if isinstance(channel, Codebook):
        codebook, data, sampled = channel, channel.table(data, formula), sampled.over(channel.drawn)
        channel, question = codebook.asked(formula)
        refuse_noised_as_seen(formula, codebook, data)
        arm = question.arm if arm is None else arm
        positive = question.positive if positive is None else positive
    asked: dict[str, Any] = {"arm": arm, "method": method, "positive": positive, "missing": missing}
    if hidden:
        return regress_on_hidden(formula, rest, hidden, data, channel, sampled, **asked, outcome=outcome, **options)
    if outcome is not None:
        raise InputError(
            words("{outcome} is {0}, and the formula has no hidden answer that explains one.", repr(outcome)),
            remedy=words("Leave {outcome} out, or write: … + hidden(column of reports)."),
        )
    arms = arms_of(channel, arm)
    _check_choices(channel if arms is None else arms, method, hidden=isinstance(channel, ArmedDesign))
    if in_files:
        from askance.scale.here import Here
        from askance.survey.regress_files import regress_files

        ways: Any = channel if arms is None else arms
        return regress_files(formula, data, ways, engine or Here(), sampled, **asked, **options)
    return _regress_rows(formula, data, channel, arms, sampled, **asked, **options)


def _refuse_fields_of_drawn(options: Mapping[str, Any]) -> None:
    """How respondents were drawn is no option of a method."""
    for field in fields(Drawn):
        if field.name in options:
            raise InputError(
                f"regress has no option {field.name!r} of its own; allowed: in drawn.",
                remedy=f"Write drawn=Drawn({field.name}=…), with Drawn of askance.",
            )


def _regress_rows(
    formula: str,
    data: Table,
    channel: SurveyDesign,
    arms: Mapping[Any, FiniteChannel] | None,
    sampled: Drawn,
    *,
    arm: str | None,
    method: str | None,
    positive: Any,
    missing: Literal["error", "drop"],
    **options: Any,
) -> Any:
    """The fit of a hidden answer to rows in memory, with all that is to be said of it."""
    ways: Any = channel if arms is None else arms
    beside = channel.direct if isinstance(channel, ListExperiment) else None
    rows = SurveyRows.read(formula, data, missing, sampled, arm=arm, direct=beside)
    which = None if arms is None or arm is None else read_arms(rows.column(arm), arms, channel)
    said = _read(rows, channel, ways, which, positive)
    design, x = rows.coded
    model = _model(channel, design.terms, method)
    sampled.require_offered(model, ways)
    if model.terms != design.terms:
        raise InputError(
            f"the formula makes {shown(list(design.terms))}, without the intercept that shares of nuisances are.",
            remedy="Leave out 0 + or - 1.",
        )
    require_rows(model, len(rows))
    fit: Any
    evidence = said.evidence(rows, x)
    if isinstance(model, CountMeans) and len(model.groups) == 1:
        fit, blame = combined_fit(model, evidence), ""
    else:
        fit, blame = solved(model, evidence, None if isinstance(model, CountMeans) else method, **options)
    more = [
        blame,
        "" if isinstance(model, Softmax) or not fit.diagnostics.repaired else _SWAPPED,
        "" if which is None or fit.evidence.replication or not isinstance(model, Softmax) else agreement_message(fit),
        *(list_checks(fit, channel).messages if isinstance(channel, ListExperiment) else law_of(channel)),
        on_groups(fit),
    ]
    parameters = dict(channel.specification()) if isinstance(channel, ArmedDesign) else {}
    if isinstance(model, CountMeans):  # which assume no law
        parameters = {name: value for name, value in parameters.items() if name not in OF_LAW}
    return replace(
        said.told(fit, rows, after=more), channel={**fit.channel, **({"design": parameters} if parameters else {})}
    )


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


def _read(rows: SurveyRows, channel: SurveyDesign, ways: Any, which: AnyArray | None, positive: Any) -> Said:
    """What was said; of lists beside a direct question, both."""
    if isinstance(channel, ListExperiment) and channel.direct is not None and which is not None:
        labels, readings = read_pairs(rows, channel, which, positive)
        return Said(ways, labels, which, readings)
    column = rows.as_written(rows.parsed.answer)
    try:
        said = Said.read(column, ways, which, positive)
    except LabelError:
        if isinstance(channel, ListExperiment) and which is not None:
            refuse_counts(column, channel, which)
        else:  # any 0/1 column holds possible counts
            refuse_answers_on_the_right(rows.parsed, rows.column, ways)
        raise
    require_varied(rows.parsed, said.labels, len(rows))
    return replace(said, readings=[*said.readings, on_answers_on_the_right(rows, ways)])


def _model(channel: SurveyDesign, terms: tuple[str, ...], method: str | None) -> Any:
    """What is hidden, given covariates."""
    if isinstance(channel, ListExperiment):
        return channel.model(terms, method)
    if isinstance(channel, ArmedDesign):
        return channel.model(terms)
    one = channel if isinstance(channel, FiniteChannel) else next(iter(channel.values()))
    return Softmax(one.outputs, terms)
