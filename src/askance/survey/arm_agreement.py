"""Whether several ways of asking tell the same: the hidden answer must not depend on how one was asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import instance, shown
from askance._threads import one_thread
from askance.design.covariances import invert_information
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.entry import solve
from askance.estimation.fits import fit_of
from askance.estimation.freedom import freedom_of, quantile
from askance.estimation.methods.common import choose_covariance_kind, likelihood_covariance
from askance.estimation.outcome import Diagnostics, Outcome
from askance.estimation.problems.responses_problem import ResponsesProblem
from askance.estimation.problems.sample import INTERCEPT_NAMES, Sample
from askance.estimation.results.effects import group_means, is_known, quadratic
from askance.estimation.results.fit import WaldTest
from askance.estimation.results.regression_fit import RegressionFit, basis_estimate
from askance.estimation.results.results import Result
from askance.evidence.held import HeldResponses
from askance.evidence.responses import Responses
from askance.models.softmax import Covariates, Softmax
from askance.tables import Column, Table, Tabulated, error_column, interval_columns

# A test of agreement below this P says that arms do not agree.
_LEVEL = 0.05
# Regressions with more coefficients have no covariance.
_MOST_COEFFICIENTS = 2000
_UNKNOWN = "whether the arms agree cannot be told"
_ON_BOUNDARY = "an arm tells of nobody or everybody; look whether the arms are the right way round"
_TOGETHER, _FEW, _LITTLE = "they go with covariates", "there are too few clusters", "the data say too little"


@dataclass(frozen=True, eq=False)
class ArmAgreement(Result, Tabulated):
    """What every arm tells by itself, and how far it is from the first; arrays of shape (arms, m).

    Shares are those of all respondents, had everybody been asked in that way: arms whose respondents differ in their
    covariates are comparable. What belongs to the first arm alone, or to the first output, is NaN.

    Attributes:
        arms: their names, in the order of the design.
        outputs: labels of the m answers.
        n_respondents: of every arm, shape (arms,).
        share: of every answer.
        share_error: of the share.
        difference: of the share, against the first arm.
        difference_error: of the difference.
        lower: lower ends of the intervals of the differences.
        upper: upper ends.
        log_odds: what the arm adds to the log-odds of an answer against the first one.
        log_odds_error: of that.
        test: that no arm adds anything: the score test of the fit without effects of arms, of which the fit itself
            speaks; with replicate weights a Wald test of the fit with them.
        effects: that effects of covariates are the same in all arms; None where it was not asked for.
        confidence: of the intervals.
        messages: what is to be known of the fit with effects of arms.
        by_scores: whether `test` is the score test.
    """

    arms: tuple[Any, ...]
    outputs: tuple[Any, ...]
    n_respondents: FloatArray
    share: FloatArray
    share_error: FloatArray
    difference: FloatArray
    difference_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    log_odds: FloatArray
    log_odds_error: FloatArray
    test: WaldTest
    effects: WaldTest | None
    confidence: float
    messages: tuple[str, ...] = ()
    by_scores: bool = True

    @property
    def verdict(self) -> str:
        """Whether the arms agree, and the test that says so, in the words of the fit's own message."""
        return _verdict(self.test, by_scores=self.by_scores)

    @property
    def agree(self) -> bool:
        """Whether the test leaves it possible, at 5 %, that all arms tell the same."""
        return all(test is None or test.p_value >= _LEVEL for test in (self.test, self.effects))

    def to_json(self) -> dict[str, Any]:
        """Every field as plain JSON values; NaN becomes null."""
        tests = {name: test and test.to_json() for name, test in (("test", self.test), ("effects", self.effects))}
        return {**super().to_json(), **tests, "agree": self.agree}

    def table(self) -> Table:
        """A row for every arm: its share, and how far it is from that of the first, in percentage points."""
        columns = (
            Column("arm"),
            Column("respondents", "count"),
            Column("share", "percent"),
            Column("points", "points", "difference", digits=1),
            error_column("spread", digits=1),
            *interval_columns(self.confidence, "points", digits=1),
            Column("log-odds", "number", "log_odds", digits=3),
            Column("s.e.", "number", "log_odds_error", digits=3),
        )
        parts = (
            self.share,
            self.difference,
            self.difference_error,
            self.lower,
            self.upper,
            self.log_odds,
            self.log_odds_error,
        )
        first = 1 if len(self.outputs) == 2 else 0
        rows = [
            (output, arm, count, *(float(part[i, j]) for part in parts))
            for j, output in enumerate(self.outputs)
            for i, (arm, count) in enumerate(zip(self.arms, self.n_respondents.tolist(), strict=True))
            if j >= first
        ]
        heading = (Column("answer", "heading"),) if first == 0 else ()
        return Table(
            (*heading, *columns),
            rows if heading else [row[1:] for row in rows],
            title="What every arm tells, for all respondents" + (f": share of {self.outputs[1]}" if first else ""),
            notes=self._notes(),
        )

    def _notes(self) -> list[str]:
        verdicts = [self.verdict]
        if self.effects is not None:
            same = "are the same" if self.effects.p_value >= _LEVEL else "differ"
            verdicts.append(f"effects of covariates {same} in all arms: {self.effects.text}")
        return [
            f"differences are against {self.arms[0]}, {100 * self.confidence:g} % intervals",
            *verdicts,
            *self.messages,
        ]


def arm_agreement(fit: RegressionFit, *, effects: bool = False, confidence: float = 0.95) -> ArmAgreement:
    """Fit once more, with an effect of every arm but the first: how far apart arms are, and whether chance explains it.

    Whether chance explains it is said by the test that the fit itself tells of, so that there is one.

    Args:
        fit: of evidence with several arms.
        effects: whether effects of covariates may differ between arms as well; a second test says whether they do.
        confidence: of the intervals.

    >>> from askance import Direct, ForcedResponse, regress
    >>> dice = ForcedResponse("2/3", "1/6")
    >>> said, version = ["no", "yes"] * 2, ["dice", "dice", "direct", "direct"]
    >>> data = {"said": np.repeat(said, [600, 400, 750, 250]), "version": np.repeat(version, [600, 400, 750, 250])}
    >>> fit = regress("said ~ 1", data, {"dice": dice, "direct": Direct(["no", "yes"])}, arm="version")
    >>> both = arm_agreement(fit)
    >>> both.share[:, 1].round(4), both.difference[1, 1].round(4), both.agree
    (array([0.35, 0.25]), np.float64(-0.1), False)
    """
    instance(fit, RegressionFit, "fit", "a RegressionFit", "Fit with regress(formula, data, {arm: design, …}, arm=…).")
    evidence, arms = _evidence(fit), _met(fit)
    if len(arms) < 2:
        raise InputError(
            f"the evidence has {len(arms)} arms with respondents; allowed: at least 2.",
            remedy="Fit to all arms at once: Responses({name: channel, …}), or regress(…, arm=…).",
        )
    model, x_of = _wider(fit, arms, effects=effects)
    whole = _refitted(fit, model, evidence.widened([x_of(chunk.x, chunk.arm) for chunk in evidence.chunks]))
    shares, slopes = _standardised(whole, evidence, x_of, arms)
    share_error, error = (
        np.array([np.sqrt(quadratic(rows, basis_estimate(whole).covariance).clip(0.0)) for rows in part])
        for part in (slopes, [slope - slopes[0] for slope in slopes])
    )
    difference = shares - shares[0]
    difference[0] = error[0] = np.nan
    apart = np.array([slope - slopes[0] for slope in slopes])
    reach = quantile(confidence, freedom_of(basis_estimate(whole).freedom, apart)) * error
    # θ is ordered by output, then term: those of the fit, those of arms, those of arms and covariates.
    places = np.arange(model.dimension).reshape(-1, len(model.terms))
    own, other = np.split(places[:, len(fit.model.terms) :], [len(arms) - 1], axis=1)
    log_odds, log_odds_error = np.full((2, *shares.shape), np.nan)
    log_odds[1:, 1:], log_odds_error[1:, 1:] = whole.theta[own.T], whole.standard_errors[own.T]
    by_scores = whole.repaired or not evidence.replication
    counts = [sum(c.n_observations for c in evidence.chunks if c.arm == arm) for arm in arms]
    return ArmAgreement(
        tuple(arms),
        tuple(model.outputs.labels),
        np.array(counts, dtype=np.float64),
        shares,
        share_error,
        difference,
        error,
        difference - reach,
        difference + reach,
        log_odds,
        log_odds_error,
        # Where log-odds run off, their errors do too, and a Wald test of them finds nothing.
        _tested(*_one_step_further(fit, arms)) if by_scores else _tested(whole, own.ravel()),
        _tested(whole, other.ravel()) if other.size else None,
        confidence,
        (*([_ON_BOUNDARY] if whole.repaired else []), *whole.messages),
        by_scores,
    )


def _refitted(fit: RegressionFit, model: Softmax, evidence: Responses[Any]) -> RegressionFit:
    """The wider model, fitted in the same way; refused where arms and covariates cannot be told apart."""
    kept = fit.method != "moments" and fit.covariance_kind in ("expected", "observed", "robust")
    try:
        whole, _ = solve(model, evidence, fit.method, **({"covariance": fit.covariance_kind} if kept else {}))
    except NotIdentifiedError as error:
        raise NotIdentifiedError(
            f"{_UNKNOWN}: {_TOGETHER}. {error}",
            remedy="Leave out the covariates that say in which way somebody was asked.",
        ) from None
    if not is_known(whole.covariance):
        raise InputError("the fit has so many coefficients that it has no covariance.", remedy="Leave out terms.")
    assert isinstance(whole, RegressionFit)
    return whole


def agreement_message(fit: RegressionFit) -> str:
    """In one line whether the arms of a fit agree, from one scoring step instead of a second fit.

    The step goes from θ̂, without effects of arms, into the wider model. A Wald test there is the score test of θ̂.
    """
    arms = _met(fit)
    if len(arms) < 2:
        return f"all rows are of one arm, {shown(arms[0])}"
    if fit.model.dimension > _MOST_COEFFICIENTS:
        return ""
    try:
        return _verdict(_tested(*_one_step_further(fit, arms)), by_scores=True)
    except NotIdentifiedError:
        return f"{_UNKNOWN}: {_TOGETHER}"
    except InputError:
        return f"{_UNKNOWN}: {_LITTLE if fit.freedom is None else _FEW}"
    except np.linalg.LinAlgError:
        return f"{_UNKNOWN}: {_LITTLE}"


def _verdict(test: WaldTest, *, by_scores: bool) -> str:
    agree = "agree" if test.p_value >= _LEVEL else "do not agree"
    return f"the arms {agree}: {test.text} ({'score' if by_scores else 'Wald'} test)"


@one_thread
def _one_step_further(fit: RegressionFit, arms: Sequence[Any]) -> tuple[RegressionFit, list[int]]:
    """One scoring step from θ̂ in the model with effects of arms, and the places of these effects."""
    evidence = _evidence(fit)
    model, x_of = _wider(fit, arms, effects=False)
    wide = evidence.widened([x_of(chunk.x, chunk.arm) for chunk in evidence.chunks])
    problem = ResponsesProblem(model, wide)
    start = np.zeros((len(model.outputs) - 1, len(model.terms)))
    start[:, : len(fit.model.terms)] = fit.model.blocks(fit.theta)
    theta, likelihood = problem.inward(start.ravel()), problem.likelihood()
    kind = choose_covariance_kind(problem, None, ("expected", "observed", "robust"))
    curved = likelihood.expected_information(theta) if kind == "expected" else likelihood.hessian(theta)
    step = invert_information(curved, model.parameter_names, "the channel") @ likelihood.gradient(theta)
    spread = likelihood_covariance(problem, likelihood, theta, kind)
    outcome = Outcome(
        theta=theta - step,
        covariance=spread,
        method="one-step",
        covariance_kind=kind,
        converged=True,
        diagnostics=Diagnostics(),
        freedom=likelihood.freedom(theta) if kind == "robust" else None,
    )
    added = range(len(fit.model.terms), len(model.terms))
    places = [b * len(model.terms) + j for b in range(len(model.outputs) - 1) for j in added]
    return fit_of(problem, outcome), places


def _wider(fit: RegressionFit, arms: Sequence[Any], *, effects: bool) -> tuple[Softmax, Any]:
    """The model with an effect of every arm but the first, and x of it from x and an arm."""
    terms, own = fit.model.terms, [j for j, t in enumerate(fit.model.terms) if t.lower() not in INTERCEPT_NAMES]
    more = [f"arm {arm}" for arm in arms[1:]]
    if effects:
        more += [f"arm {arm}:{terms[j]}" for arm in arms[1:] for j in own]

    def covariates(x: Covariates, arm: Any) -> Covariates:
        here = np.array([float(arm == other) for other in arms[1:]])
        dense = isinstance(x, np.ndarray)
        ones = np.ones((x.shape[0], 1)) * here
        parts = [x, ones, *((x[:, own] * one) for one in here if effects)]
        if dense:
            return np.hstack(parts)
        from scipy import sparse

        return sparse.hstack([sparse.csr_array(part) for part in parts]).tocsr()

    return Softmax(fit.model.outputs, [*terms, *more]), covariates


def _standardised(
    whole: RegressionFit, evidence: Responses, x_of: Any, arms: Sequence[Any]
) -> tuple[FloatArray, list[FloatArray]]:
    """Shares of all respondents had they been asked in every way, shape (arms, m), and their gradients (m, d) each."""
    at = basis_estimate(whole)
    sample, shares, slopes = Sample.of_evidence(evidence), [], []
    for arm in arms:
        pieces = tuple(replace(piece, x=x_of(piece.x, arm)) for piece in sample.pieces)
        everybody = np.zeros(sample.n_rows, dtype=np.int64)
        mean, slope, _ = group_means(whole.model, at.theta, Sample(pieces, at.basis), everybody, 1)
        shares.append(mean[0])
        slopes.append(slope[0])
    return np.array(shares), slopes


def _tested(fit: RegressionFit, places: Iterable[int]) -> WaldTest:
    return fit.wald_test([fit.parameter_names[place] for place in places])


def _evidence(fit: RegressionFit) -> Responses[Any]:
    if fit.evidence is None:
        raise InputError("the fit has no evidence: it was loaded.", remedy="Fit again to the data.")
    if isinstance(fit.evidence, HeldResponses):
        raise InputError(
            "the rows of the fit stay in files, or where an engine holds them; allowed for the agreement of arms: rows "
            "in memory.",
            remedy="Put the column of arms into the formula, as in said ~ age + version, and test what it adds by "
            "fit.wald_test.",
        )
    return fit.evidence


def _met(fit: RegressionFit) -> list[Any]:
    """The arms with respondents, in the order of the design."""
    evidence = _evidence(fit)
    there = {chunk.arm for chunk in evidence.chunks}
    return [arm for arm in evidence.arms if arm in there]
