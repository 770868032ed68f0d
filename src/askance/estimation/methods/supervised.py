"""When the outputs themselves are known."""

from __future__ import annotations

from dataclasses import replace

from askance._words import Either, words
from askance.errors import IncompatibleEvidenceError
from askance.estimation.methods.common import choose_covariance_kind
from askance.estimation.methods.moments import fit_moments
from askance.estimation.outcome import Outcome
from askance.estimation.parameter_scale import PRIOR_SCALE
from askance.estimation.protocols import CovarianceKind, Problem


def fit_supervised(
    problem: Problem, *, covariance: CovarianceKind | None = None, prior_scale: float = PRIOR_SCALE
) -> Outcome:
    """Maximum likelihood from outputs y: moments through the identity channel, where β = φ and Σ = I⁻¹.

    Args:
        problem: model and evidence through `Direct`: the outputs themselves.
        covariance: "expected" (default: I⁻¹/n) or "robust".
        prior_scale: standard deviation of the weak prior, used only when some output never occurred.
    """
    if not problem.is_direct():
        names = [channel.in_words for channel in problem.channels]
        through = Either(", ".join(map(str, names)), ", ".join(name.command_line for name in names))
        raise IncompatibleEvidenceError(
            words("the evidence came through {0}; supervised fits need the outputs themselves.", through),
            remedy=words(
                "Use {0} as the channel where the truth was told, or {method=one-step}.",
                Either("Direct(outputs)", "direct"),
            ),
        )
    kind = choose_covariance_kind(problem, covariance, ("expected", "robust"))
    return replace(fit_moments(problem, covariance=kind, prior_scale=prior_scale), method="supervised")
