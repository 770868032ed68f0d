"""The paper's estimator: average β, then one convex fit."""

from __future__ import annotations

from askance.design.covariances import Weighting
from askance.errors import ConvergenceWarning, RepairWarning
from askance.estimation.methods.common import (
    check_prior_scale,
    choose_covariance_kind,
    says_less_than_the_prior,
    settled,
)
from askance.estimation.outcome import Diagnostics, Notice, Outcome
from askance.estimation.parameter_scale import PRIOR_SCALE
from askance.estimation.protocols import CovarianceKind, MomentProblem
from askance.estimation.solvers.newton import newton
from askance.estimation.solvers.noisy import match_noisy_moments

#: What is said of θ where a prior acted.
POSTERIOR_MESSAGE = (
    "θ is the posterior mode under a weak prior, and its intervals describe that posterior: they need not cover at "
    "their nominal rate"
)
OUTSIDE_MESSAGE = (
    "the unbiased statistics of these reports belong to no distribution of the model (shares below 0 or above 1: few "
    "reports, a rare answer, or a wrong design)"
)
UNCERTAIN_MESSAGE = "the reports alone say next to nothing about some parameter"


def fit_moments(
    problem: MomentProblem,
    *,
    weighting: Weighting = "best",
    covariance: CovarianceKind | None = None,
    prior_scale: float = PRIOR_SCALE,
) -> Outcome:
    """μ̂ = mean of β(x, o), then θ̂ = argmax μ̂ᵀθ − Ê A(θ; x).

    Where μ̂ lies outside the marginal polytope no such θ exists. The fit is then noise-aware: μ̂ is taken as Gaussian
    around μ(θ) with its own covariance, θ gets a weak prior, and the fit says so.

    Args:
        problem: model and evidence.
        weighting: which β where several are unbiased: "best" for the observed distribution, or "plain".
        covariance: "robust" (default: from the spread of β − μ(θ̂; x) over the reports, right even when the model is
            not) or "expected" (Σ_mom at θ̂).
        prior_scale: standard deviation of the weak prior, in log-odds.
    """
    check_prior_scale(prior_scale)
    kind = choose_covariance_kind(problem, covariance, ("robust", "expected"))
    equations = problem.moments(weighting)
    solution = newton(
        equations.matching(),
        equations.start(),
        problem.standard,
        settled=settled(problem),
        escaped=equations.is_outside,
    )
    messages: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    spread, noise, used, freedom = None, None, str(kind), None
    if solution.converged:
        spread = equations.covariance(solution.theta, kind)
        freedom = equations.freedom(solution.theta) if kind == "robust" else None
        notices = equations.robust_notices if kind == "robust" else ()
        if says_less_than_the_prior(problem, spread, prior_scale):
            spread, messages = None, (UNCERTAIN_MESSAGE, POSTERIOR_MESSAGE)
    else:
        messages = (OUTSIDE_MESSAGE, POSTERIOR_MESSAGE)
    if spread is None:
        notices += (Notice(RepairWarning, "; ".join(messages)),)
        precision = problem.standard.prior_precision(prior_scale)
        solution, spread, noise = match_noisy_moments(equations, problem.standard, precision, problem.n_observations)
        used, freedom = "posterior", None
        if not solution.converged:
            notices += (Notice(ConvergenceWarning, "the noise-aware fit did not converge"),)
    return Outcome(
        theta=solution.theta,
        covariance=spread,
        method="moments",
        covariance_kind=used,
        converged=solution.converged,
        raw_statistics=equations.statistics,
        raw_covariance=noise,
        freedom=freedom,
        diagnostics=Diagnostics(iterations=solution.iterations, repaired=bool(messages), messages=messages),
        notices=notices,
    )
