"""What the estimators share: the choice of covariance."""

from __future__ import annotations

import numpy as np

from askance._arrays import FloatArray
from askance._checks import number
from askance.design.covariances import invert_information
from askance.errors import InputError
from askance.estimation.protocols import CovarianceKind, Likelihood, MomentProblem, Problem

#: Reports from which on the last digits, far below what they can tell, are not worth another pass over them.
MANY = 100_000


def choose_covariance_kind(
    problem: MomentProblem, asked: CovarianceKind | None, offered: tuple[CovarianceKind, ...]
) -> CovarianceKind:
    """The covariance asked for, or the first one offered that holds for the evidence."""
    allowed = [kind for kind in offered if kind in problem.covariance_kinds]
    if asked is None:
        return allowed[0]
    if asked not in allowed:
        raise InputError(
            f"covariance is {asked!r}; allowed here: {', '.join(allowed)}.", remedy=f"The default here is {allowed[0]}."
        )
    return asked


def settled(problem: MomentProblem) -> float:
    """A squared decrement of 10⁻⁸ standard errors, where reports are many and a step takes long; else 0."""
    return 1e-16 / problem.n_observations if problem.n_observations >= MANY else 0.0


def check_prior_scale(prior_scale: float) -> None:
    """Refuse a prior that is none."""
    number(prior_scale, "prior_scale", 0, open=True, remedy="The default is 5 log-odds.")


def says_less_than_the_prior(problem: MomentProblem, covariance: FloatArray, prior_scale: float) -> bool:
    """Whether the data alone leave some parameter less certain than the weak prior does."""
    root = np.linalg.cholesky(problem.standard.prior_precision(prior_scale))
    return bool(np.linalg.eigvalsh(root.T @ covariance @ root).max() > 1)


def likelihood_covariance(
    problem: Problem, likelihood: Likelihood, theta: FloatArray, kind: CovarianceKind
) -> FloatArray:
    """Cov(θ̂) of a likelihood estimator: J⁻¹/n, H⁻¹/n, or the sandwich H⁻¹GH⁻¹/n; shape (d, d)."""
    n, names = problem.n_observations, problem.parameter_names
    if kind == "expected":
        return invert_information(likelihood.expected_information(theta), names, "the channel") / n
    bread = invert_information(likelihood.hessian(theta), names, "the likelihood at the estimate")
    if kind == "observed":
        return bread / n
    return np.asarray(bread @ likelihood.score_covariance(theta) @ bread / n)
