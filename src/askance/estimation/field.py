"""Random fields: `estimate` under the name it had for them."""

from __future__ import annotations

from typing import overload

from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.reports import Reports
from askance.estimation.entry import estimate
from askance.estimation.parameter_scale import FIELD_PRIOR_SCALE
from askance.estimation.problems.field_evidence import NoisyTables
from askance.estimation.problems.field_problem import FieldMethod
from askance.estimation.results.conditional_field_fit import ConditionalFieldFit
from askance.estimation.results.field_fit import FieldFit
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally
from askance.models.random_field import RandomField


@overload
def estimate_field(
    field: RandomField,
    evidence: Tally[StatisticsChannel] | Reports | NoisyTables,
    method: FieldMethod | None = None,
    *,
    prior_scale: float = FIELD_PRIOR_SCALE,
    covariance: bool = True,
) -> FieldFit: ...


@overload
def estimate_field(
    field: RandomField,
    evidence: Responses[CliqueRelease],
    method: FieldMethod | None = None,
    *,
    prior_scale: float = FIELD_PRIOR_SCALE,
    covariance: bool = True,
) -> ConditionalFieldFit: ...


def estimate_field(
    field: RandomField,
    evidence: Tally[StatisticsChannel] | Reports | NoisyTables | Responses[CliqueRelease],
    method: FieldMethod | None = None,
    *,
    prior_scale: float = FIELD_PRIOR_SCALE,
    covariance: bool = True,
) -> FieldFit | ConditionalFieldFit:
    """Fit a random field to reports about tables of its variables.

    Debiased tables have negative cells and contradict each other, so that no field has them; fitting them exactly
    drives θ to infinity. Here θ has the prior N(0, prior_scale²), weak unless there are few reports, and the tables are
    weighed by their known noise:

    - "moments": least ½ rᵀC⁺r + ½ ‖θ‖²/prior_scale², r = μ̂ − μ(θ), with C the covariance of μ̂ at the fitted field;
    - "ridge": least A(θ) − μ̂ᵀθ + ½ λ‖θ‖², with λ from the size of the noise: convex, quicker, somewhat less precise;
    - "marginal": most probable θ by the likelihood of the reports themselves (clique release);
    - "one-step": one safeguarded step from "moments" towards it.

    The likelihood needs `Reports`, but where all subsets have one cell (large levels, small tables) sums will do.

    A field with public covariates, p_θ(y | x), takes `Responses`: reports with the x of who gave them. All methods
    but "ridge" are as above, with moments β(x, o) = (debiased table, x ⊗ debiased indicators of every variable) less
    what the field expects of the same respondents. "marginal" is then the default: it costs the same, and is the more
    precise.

    Args:
        field: what to fit.
        evidence: reports through `CliqueRelease` for any cliques of the field's variables, or of the cells of the
            field's cliques through `PerValue` or `CoordinateRelease`, or their sums, or `NoisyTables`; with covariates
            `Responses`.
        method: as above; default "moments", with covariates "marginal".
        prior_scale: standard deviation of the prior, in log-odds (of covariates: per standard deviation); infinite for
            none.
        covariance: whether to work out intervals and diagnostics; needs matrices (d, d).

    >>> import numpy as np
    >>> from askance import CliqueRelease
    >>> field = RandomField({"smokes": ["no", "yes"], "ill": ["no", "yes"]}, [["smokes", "ill"]])
    >>> channel = CliqueRelease(field.sizes, field.cliques, 2)
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [5000, 1000, 2000, 2000], axis=0)
    >>> tally = Tally(channel).add(channel.simulate(records, np.random.default_rng(2)))
    >>> fit = estimate_field(field, tally)
    >>> fit.marginal(["smokes", "ill"]).estimate.round(2), fit.diagnostics.repaired
    (array([[0.5, 0.1],
           [0.2, 0.2]]), False)
    """
    return estimate(field, evidence, method, prior_scale=prior_scale, covariance=covariance)
