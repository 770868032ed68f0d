"""When the outputs themselves are known."""

from __future__ import annotations

from dataclasses import replace

from askance.channels.labels import Direct
from askance.errors import IncompatibleEvidenceError
from askance.estimation.common import CovarianceKind
from askance.estimation.fit import Fit
from askance.estimation.moments import fit_moments
from askance.estimation.prior import PRIOR_SCALE
from askance.evidence.tally import Tally
from askance.models.enumerated import Enumerated


def fit_supervised(
    model: Enumerated,
    evidence: Tally,
    *,
    covariance: CovarianceKind | None = None,
    prior_scale: float = PRIOR_SCALE,
) -> Fit:
    """Maximum likelihood from outputs y: moments through the identity channel, where β = φ and Σ = I⁻¹.

    Args:
        model: what to fit.
        evidence: tallies of the outputs themselves, through `Direct`.
        covariance: "expected" (default: I⁻¹/n) or "robust".
        prior_scale: standard deviation of the weak prior, used only when some output never occurred.
    """
    if evidence.channel != Direct(evidence.channel.outputs):
        raise IncompatibleEvidenceError(
            f"the evidence came through {evidence.channel!r}; supervised fits need the outputs themselves.",
            remedy="Tally them with Tally(Direct(outputs)), or use method='one-step'.",
        )
    fit = fit_moments(model, evidence, covariance=covariance or "expected", prior_scale=prior_scale)
    return replace(fit, method="supervised")
