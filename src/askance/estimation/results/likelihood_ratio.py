"""Compare two nested regressions by their likelihoods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from askance._arrays import FloatArray
from askance._words import Either, words
from askance.errors import IncompatibleEvidenceError, InputError
from askance.estimation.results.results import LikelihoodRatioTest
from askance.evidence.candidates import seen_through
from askance.evidence.responses import Responses
from askance.evidence.together import SEVERAL
from askance.models.softmax import Softmax

if TYPE_CHECKING:
    from askance.estimation.results.rows_fit import RowsFit

#: Methods that maximise the likelihood; "one-step" comes close.
MAXIMISERS = ("marginal", "supervised")
_MARGINAL = Either('method="marginal"', "`askance fit --method marginal`")
_ONE_STEP = words(
    "one-step estimates come close to the maxima of the likelihood but are not there: the statistic has the same "
    "limit, and differs in small samples; {0} gives the exact one",
    _MARGINAL,
)
_LOADED = "fits from files hold no respondents: that both are of the same ones was not checked"
_WALD = Either("wald_test", "--zero")
_ROBUST = "the test trusts the model; the robust standard errors of these fits do not enter it"


def is_maximum_likelihood(fit: Any) -> bool:
    """Whether θ̂ maximises the likelihood of independent reports."""
    free = not fit.diagnostics.repaired and fit.covariance_kind != "none"  # held by no prior and no ridge
    return fit.method in (*MAXIMISERS, "one-step") and free and fit.n_observations > 0 and not is_weighted(fit)


def likelihood_ratio_test(full: RowsFit, restricted: RowsFit) -> LikelihoodRatioTest:
    """2 (ℓ(θ̂) − ℓ(θ̂ restricted)) against χ²; see `RowsFit.likelihood_ratio_test`."""
    from scipy.special import chdtrc

    _require_same_data(full, restricted)
    dropped = _dropped(full, restricted)
    notes = [] if full.evidence is not None and restricted.evidence is not None else [_LOADED]
    for fit in (full, restricted):
        _require_likelihood(fit)
        if fit.method == "one-step" and _ONE_STEP not in notes:
            notes.append(_ONE_STEP)
        if fit.covariance_kind == "robust" and _ROBUST not in notes:
            notes.append(_ROBUST)
    statistic = 2 * (full.log_likelihood - restricted.log_likelihood)
    if statistic < 0:
        rounding = 1e-9 * abs(full.log_likelihood)
        if statistic < -rounding and _ONE_STEP not in notes:
            raise InputError(
                f"the larger model has the smaller log-likelihood ({full.log_likelihood:.6f} against "
                f"{restricted.log_likelihood:.6f}): its fit stopped at a lower maximum.",
                remedy="Fit it again with more starts.",
            )
        if statistic < -rounding:
            notes.append(f"the statistic came out as {statistic:.3g}, which no maximum can give, and was set to 0")
        statistic = 0.0
    freedom = full.model.dimension - restricted.model.dimension
    return LikelihoodRatioTest(statistic, freedom, float(chdtrc(freedom, statistic)), dropped, tuple(notes))


def _dropped(full: RowsFit, restricted: RowsFit) -> tuple[str, ...]:
    if full.model.outputs != restricted.model.outputs:
        raise InputError(
            f"the fits are about different outputs: {full.model.outputs!r} and {restricted.model.outputs!r}.",
            remedy="Fit both to the same labels, in the same order.",
        )
    of_full, of_restricted = _names(full), _names(restricted)
    extra = [name for name in of_restricted if name not in of_full]
    if extra:
        raise InputError(
            f"the fits are not nested: {', '.join(extra)} is only in the restricted one; allowed: terms out of "
            f"{', '.join(of_full)}.",
            remedy="Call it on the larger fit, with a fit of some of its terms.",
        )
    dropped = tuple(name for name in of_full if name not in of_restricted)
    if not dropped:
        raise InputError("both fits have the same terms: nothing is restricted.", remedy="Leave out some terms.")
    return dropped


def _names(fit: RowsFit) -> tuple[str, ...]:
    """Terms of an answer; parameters where several variables are hidden, which have terms of their own."""
    names: tuple[str, ...] = fit.model.terms if isinstance(fit.model, Softmax) else fit.parameter_names
    return names


def _require_likelihood(fit: RowsFit) -> None:
    """Refuse fits whose difference of likelihoods does not follow χ²."""
    if fit.method not in (*MAXIMISERS, "one-step"):
        raise InputError(
            f"the method of a fit is {fit.method!r}; allowed: {', '.join(MAXIMISERS)}, one-step.",
            remedy=words("Fit both with {0}, or use {1}.", _MARGINAL, _WALD),
        )
    if is_weighted(fit):
        raise InputError(
            "a fit has sampling weights or clusters (or was loaded from a file with robust errors, and may have them): "
            "its likelihood is not that of independent reports.",
            remedy=words("Use {0}, which takes them into account.", _WALD),
        )
    if fit.covariance_kind == "none":
        raise InputError(
            "a fit was held by a ridge (too many coefficients for a covariance): it does not maximise the likelihood.",
            remedy="Compare models with fewer coefficients.",
        )
    if fit.diagnostics.repaired:
        raise InputError(
            "a fit was held by a weak prior, because the likelihood has no finite maximum.",
            remedy="Leave out the terms that separate the answers, or merge rare categories.",
        )
    if not fit.converged:
        raise InputError("a fit did not converge.", remedy="Fit it again with more starts or another solver.")


def is_weighted(fit: RowsFit) -> bool:
    """Whether sampling weights or clusters make the likelihood a pseudo-likelihood.

    A fit without its evidence cannot tell; robust errors, which come with weights, are then taken for a yes.
    """
    if fit.evidence is None:
        return fit.covariance_kind in ("robust", "cluster-robust", "stratified", "replicates")
    first = fit.evidence.head
    return fit.covariance_kind == "cluster-robust" or first.weights is not None or first.clusters is not None


def _require_same_data(full: RowsFit, restricted: RowsFit) -> None:
    if full.n_observations != restricted.n_observations:
        raise IncompatibleEvidenceError(
            f"the fits are of {full.n_observations} and {restricted.n_observations} reports.",
            remedy="Fit both to the same respondents: drop rows with missing values for both.",
        )
    if _fingerprints(full.channel) != _fingerprints(restricted.channel):
        raise IncompatibleEvidenceError(
            f"the fits are of different designs: {full.channel.get('kind')} and {restricted.channel.get('kind')}, or "
            "other probabilities.",
            remedy="Fit both to the same reports.",
        )
    if full.evidence is None or restricted.evidence is None:
        return
    common = [term for term in restricted.model.terms if term in full.model.terms]
    a = _sums(full.evidence, [full.model.terms.index(term) for term in common])
    b = _sums(restricted.evidence, [restricted.model.terms.index(term) for term in common])
    if not np.allclose(a, b, rtol=1e-8, atol=1e-8 * float(np.abs(a).max())):
        raise IncompatibleEvidenceError(
            "the fits are of different respondents: reports or shared covariates differ.",
            remedy="Fit both to the same rows.",
        )


def _fingerprints(specification: Mapping[str, Any]) -> list[str]:
    """Of the channels of a fit, in one order."""
    parts = specification["parts"] if specification.get("kind") == SEVERAL else [specification]
    return sorted(seen_through(part).fingerprint for part in parts)


def _sums(evidence: Responses, columns: list[int]) -> FloatArray:
    """For every report its count, and the sums of the columns: equal when the rows are, in any order."""
    totals = {
        channel.fingerprint: np.zeros((len(channel.observations), 1 + len(columns))) for channel in evidence.channels
    }
    for chunk in evidence.chunks:
        ones, total = np.ones(len(chunk.codes)), totals[chunk.channel.fingerprint]
        weight = ones if chunk.multiplicity is None else chunk.multiplicity
        for o in range(len(total)):
            w = weight * (chunk.codes == o)
            total[o, 0] += w.sum()
            total[o, 1:] += np.asarray(chunk.x.T @ w)[columns]
    return np.concatenate([totals[fingerprint] for fingerprint in sorted(totals)])
