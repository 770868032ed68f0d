"""Private regression for scikit-learn: `fit(X, y)` simulates the devices, `fit_reports` takes what real ones sent.

Needs scikit-learn, which nothing else in askance does: `pip install "askance[sklearn]"`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from askance._arrays import AnyArray, ArrayLike, FloatArray, IntArray
from askance._checks import Number, as_positive_level, shorten
from askance._threads import one_thread
from askance.channels.finite import FiniteChannel
from askance.channels.randomized_response import RandomizedResponse
from askance.channels.statistics.base import Calibration, StatisticsChannel
from askance.channels.statistics.moment_release import MomentRelease
from askance.channels.statistics.reports import Reports
from askance.channels.thresholds import exceeds
from askance.design.regression_release import regression_release
from askance.errors import ClippingWarning, InputError, ShapeError
from askance.estimation.entry import estimate
from askance.estimation.linear import estimate_linear, pilot_first
from askance.estimation.problems.moment_repair import STRENGTH, Repair
from askance.estimation.results.linear_fit import LinearFit
from askance.estimation.results.regression_fit import RegressionFit
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally, of_statistics
from askance.models.linear import LinearModel
from askance.models.softmax import Softmax

# Beyond this share of clipped values in a column, `fit` warns.
_MANY_CLIPPED = 0.05

__all__ = ["PrivateLinearRegression", "PrivateLogisticRegression"]


class PrivateLinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression in which every respondent's x and y stay private.

    `fit(X, y)` is a **simulation**: it plays the devices, with noise seeded by `random_state`, and then sees nothing
    but their reports. With real devices, take `plan(n_features)` for the release they need and `fit_reports` for what
    they send. Predictions clip x as the devices do.

    Args:
        privacy_level: of the one report of every respondent.
        x_bounds: (low, high) of the columns of X, from public knowledge; numbers, or one per column.
        y_bounds: (low, high) of y.
        channel: "auto", "quadratic", "moments", "per-value", "coordinate-release" or "triple-release".
        scales: (centres, scales) of the columns of X and, last, of y, where they are public; then there is no pilot.
        pilot_share: share of the respondents that is asked for centres and scales; 0: take them from the bounds. With
            `partial_fit`, this share of the first batch.
        calibration: "exact", or "paper" for per-value, coordinate-release and triple-release.
        share_within: see `regression_release`.
        outcome_weight: see `regression_release`.
        clip: in scales.
        repair: see `estimate_linear`.
        strength: c in λ = c s √p.
        n_respondents: how many are expected; default: those of the first call.
        random_state: seed of the simulated noise.

    Attributes:
        coef_: per unit of each column, shape (p,).
        intercept_: a number.
        fit_: the full result, a `LinearFit`: intervals, raw moments, what the repair did.
        release_: what devices do.
        tally_: sums of their reports.
        n_clipped_: values that the simulated devices clipped, of each column of X and, last, of y.

    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50_000, 3))
    >>> y = 2 + X @ [1.0, 0.0, -2.0] + rng.normal(size=50_000)
    >>> private = PrivateLinearRegression(4, x_bounds=(-5, 5), y_bounds=(-15, 15), random_state=0).fit(X, y)
    >>> open_ = LinearRegression().fit(X, y)
    >>> bool(open_.score(X, y) - private.score(X, y) < 0.05)
    True
    """

    coef_: FloatArray
    intercept_: float
    fit_: LinearFit
    release_: MomentRelease
    tally_: Tally[StatisticsChannel]
    n_clipped_: IntArray

    def __init__(
        self,
        privacy_level: Number,
        x_bounds: Sequence[ArrayLike] | None = None,
        y_bounds: Sequence[ArrayLike] | None = None,
        channel: str = "auto",
        *,
        scales: Sequence[ArrayLike] | None = None,
        pilot_share: Number = 0.2,
        calibration: Calibration = "exact",
        share_within: Number | None = None,
        outcome_weight: Number | None = None,
        clip: float = 3.0,
        repair: Repair = "auto",
        strength: float = STRENGTH,
        n_respondents: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.privacy_level = privacy_level
        self.x_bounds = x_bounds
        self.y_bounds = y_bounds
        self.channel = channel
        self.scales = scales
        self.pilot_share = pilot_share
        self.calibration = calibration
        self.share_within = share_within
        self.outcome_weight = outcome_weight
        self.clip = clip
        self.repair = repair
        self.strength = strength
        self.n_respondents = n_respondents
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Simulate devices that hold the rows of X and y, and fit what they report."""
        _forget(self, "tally_", "_rng")
        return self.partial_fit(X, y)

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Simulate more devices; all reports so far are fitted together. The first call decides scales and channel."""
        first = not hasattr(self, "tally_")
        rows, target = _validated(self, X, y, y_numeric=True, reset=first)
        if not hasattr(self, "_rng"):
            self._rng = _generator(self.random_state)
        if first:
            rows, target = self._begin(rows, np.asarray(target, dtype=np.float64))
        encoded = self.release_.encode(rows, target)
        self.n_clipped_ = np.asarray(self.n_clipped_ + encoded.clipped)
        if encoded.clipped.max() > _MANY_CLIPPED * len(rows):
            warnings.warn(
                f"{encoded.message.split(';')[0]}: coefficients are those of clipped values; give bounds that fit the "
                "data and, where columns are skewed, a larger clip.",
                ClippingWarning,
                stacklevel=2,
            )
        reports = self.release_.channel.simulate(encoded.rows, self._rng)
        return self._solve(self.tally_.add(reports))

    def _begin(self, rows: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Decide scales and channel; what is left of the rows after a pilot."""
        field = self._field(rows.shape[1])
        share = self.pilot_share if self.scales is None else 0
        field, self.pilot_, rest = pilot_first(field, rows, target, self.privacy_level, share, self._rng)
        self.release_ = self._plan(field, self.n_respondents or len(rest))
        self.tally_ = Tally(self.release_.channel)
        self.n_clipped_ = np.zeros(field.n_features + 1, dtype=np.int64)
        return rows[rest], target[rest]

    def fit_reports(self, reports: Reports | Tally[StatisticsChannel], release: MomentRelease | None = None) -> Self:
        """Fit what real devices sent.

        Args:
            reports: reports, or their tally.
            release: what the devices did; default: the one of the last `plan` or fit.
        """
        if release is None:
            check_is_fitted(self, "release_", msg="There is no release: call plan(n_features) first, or pass release=.")
            release = self.release_
        _require_level("release", release.privacy_level, self.privacy_level)
        if of_statistics(reports):
            release.channel.require_same(reports.channel)
        _forget(self, "feature_names_in_", "pilot_")
        self.release_ = release
        self.n_features_in_ = self.release_.field.n_features
        self.n_clipped_ = np.zeros(self.n_features_in_ + 1, dtype=np.int64)
        return self._solve(reports if of_statistics(reports) else Tally(self.release_.channel).add(reports))

    def plan(self, n_features: int) -> MomentRelease:
        """The release that devices need, from public scales or bounds; `release.specification()` is for sending."""
        _forget(self, "tally_", "feature_names_in_", "pilot_")
        self.release_ = self._plan(self._field(n_features), self.n_respondents)
        self.tally_ = Tally(self.release_.channel)
        self.n_features_in_ = n_features
        self.n_clipped_ = np.zeros(n_features + 1, dtype=np.int64)
        return self.release_

    def _field(self, n_features: int) -> LinearModel:
        names = getattr(self, "feature_names_in_", None)
        return LinearModel(
            n_features,
            x_bounds=self.x_bounds,
            y_bounds=self.y_bounds,
            scales=self.scales,
            clip=self.clip,
            feature_names=names,
            outcome_name=next(name for name in ("y", "outcome", "y ") if names is None or name not in names),
        )

    def _plan(self, field: LinearModel, n: int | None) -> MomentRelease:
        return regression_release(
            field,
            self.privacy_level,
            channel=self.channel,  # type: ignore[arg-type]
            n_respondents=n,
            share_within=self.share_within,
            outcome_weight=self.outcome_weight,
            calibration=self.calibration,
        )

    def _solve(self, tally: Tally[StatisticsChannel]) -> Self:
        self.tally_ = tally
        self.fit_ = estimate_linear(
            self.release_, tally, repair=self.repair, strength=self.strength, pilot=getattr(self, "pilot_", None)
        )
        self.coef_, self.intercept_ = self.fit_.slopes, self.fit_.intercept
        return self

    def predict(self, X: ArrayLike) -> FloatArray:
        """Expected y of every row."""
        check_is_fitted(self, "fit_")
        return self.fit_.predict(validate_data(self, X, reset=False, dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a few hundred noised reports predict little: that is what noise is for
        return tags


class PrivateLogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression in which every respondent's y is noised; X is open.

    `fit(X, y)` is a **simulation**: labels pass randomized response of the stated level, seeded by `random_state`, and
    only what came out is fitted, with the noise accounted for. With real reports, take `fit_reports`.

    Args:
        privacy_level: of a report.
        method: "one-step" (default), "moments" or "marginal", as in `askance.estimate`.
        random_state: seed of the simulated noise.

    Attributes:
        classes_: the labels.
        coef_: effects on the log-odds, shape (1, p) for two classes, else (m, p) with zeros for the first.
        intercept_: shape (1,) or (m,).
        fit_: the full result, a `RegressionFit`.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2))
    >>> y = rng.random(20_000) < 1 / (1 + np.exp(-(X @ [2.0, -1.0])))
    >>> private = PrivateLogisticRegression(2, random_state=0).fit(X, y)
    >>> bool(abs(private.coef_ - [2, -1]).max() < 0.3)
    True
    """

    classes_: AnyArray
    coef_: FloatArray
    intercept_: FloatArray
    fit_: RegressionFit

    def __init__(self, privacy_level: Number, method: str = "one-step", *, random_state: Any = None) -> None:
        self.privacy_level = privacy_level
        self.method = method
        self.random_state = random_state

    def plan(self, classes: ArrayLike) -> RandomizedResponse:
        """The channel that real respondents need: `plan(classes).randomize(y)`, then `fit_reports`."""
        return RandomizedResponse.for_privacy_level(self.privacy_level, outputs=np.asarray(classes).tolist())

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Simulate respondents who hold y, and fit what they report."""
        _forget(self, "evidence_", "_rng")
        return self.partial_fit(X, y)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Simulate more respondents; the first call must show all classes, or name them."""
        first = not hasattr(self, "evidence_")
        rows, target = _validated(self, X, y, reset=first)
        if target.dtype == object and any(label is None for label in target.tolist()):
            raise InputError(
                "holds None", argument="y", allowed="labels", remedy="Leave respondents without a label out."
            )
        check_classification_targets(target)
        if not hasattr(self, "_rng"):
            self._rng = _generator(self.random_state)
        if first:
            self.classes_ = np.unique(target if classes is None else np.asarray(classes))
            if len(self.classes_) < 2:
                raise InputError(
                    "has one class",
                    argument="y",
                    allowed="at least 2 classes",
                    remedy="Name all classes with partial_fit(X, y, classes=…).",
                )
            channel = RandomizedResponse.for_privacy_level(self.privacy_level, outputs=len(self.classes_))
            self.evidence_: Responses = Responses(channel)
        unknown = ~np.isin(target, self.classes_)
        if unknown.any():
            raise InputError(
                f"y[{int(np.argmax(unknown))}] is none of the classes; allowed: {shorten(self.classes_.tolist())}.",
                remedy="Name all classes in the first call, with classes=…",
            )
        # Labels as the channel knows them: its own, in its own order, where it came with real reports.
        own = np.asarray(self.evidence_.channel.outputs.labels, dtype=object)
        place = {label: code for code, label in enumerate(self.classes_.tolist())}
        reports = self.evidence_.channel.simulate([own[place[label]] for label in target.tolist()], self._rng)
        return self._solve(self.evidence_.add(_with_intercept(rows), reports))

    def fit_reports(self, X: ArrayLike, reports: ArrayLike, channel: FiniteChannel) -> Self:
        """Fit real reports.

        Args:
            X: open covariates, one row per respondent.
            reports: what they said, out of the channel's observations.
            channel: how answers were noised; its outputs are the classes.
        """
        _require_level("channel", channel.privacy_level, self.privacy_level)
        rows = validate_data(self, X, reset=True, dtype=np.float64)
        self.classes_ = np.asarray(channel.outputs.labels)
        return self._solve(Responses(channel).add(_with_intercept(rows), reports))

    def _solve(self, evidence: Responses) -> Self:
        self.evidence_ = evidence
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        constant = next(name for name in ("Intercept", "(Intercept)", "constant") if name not in names)
        model = Softmax(evidence.channel.outputs, [constant, *names])
        self.fit_ = estimate(model, evidence, self.method)
        blocks = model.blocks(self.fit_.theta)
        if len(self.classes_) > 2:
            blocks = np.vstack([np.zeros(blocks.shape[1]), blocks])
        self.coef_, self.intercept_ = blocks[:, 1:], blocks[:, 0]
        return self

    @one_thread
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log-odds of the second class, shape (n,), or scores of all, shape (n, m)."""
        check_is_fitted(self, "fit_")
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        scores = rows @ self.coef_.T + self.intercept_
        return np.asarray(scores[:, 0] if len(self.classes_) == 2 else scores)

    @one_thread
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of every class, shape (n, m)."""
        scores = self.decision_function(X)
        if len(self.classes_) == 2:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> AnyArray:
        """The likeliest class of every row."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(np.int64) if len(self.classes_) == 2 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # noised labels of a few rows say little
        return tags


def _validated(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, **rules: Any) -> tuple[FloatArray, AnyArray]:
    """X and y as scikit-learn checks them; a value that is no number is told by what it is not, and never shown."""
    try:
        rows, target = validate_data(estimator, X, y, dtype=np.float64, **rules)
        return rows, target
    except ValueError as error:
        told = str(error)
        if not any(shows in told for shows in ("could not convert", "array=", "Complex data not supported")):
            raise
    if "Complex data not supported" in told:
        raise InputError("Complex data not supported: X or y holds complex numbers.", remedy="Give real numbers.")
    if "array=" in told:
        raise ShapeError(f"X has {np.ndim(X)} dimensions; allowed: 2.", remedy="Reshape your data: X.reshape(-1, 1).")
    raise InputError("X or y holds a text that is no number.", remedy="Turn texts into numbers first, with float().")


def _require_level(what: str, level: float, allowed: Number) -> None:
    """Refuse reports of more than the level that the estimator states."""
    if exceeds(level, as_positive_level(allowed)):
        raise InputError(
            f"the {what} has level {level!r}; allowed: privacy_level={allowed} or less.",
            remedy=f"Give the {what} that the respondents had, and its level.",
        )


def _forget(estimator: BaseEstimator, *names: str) -> None:
    """Take attributes of an earlier fit away."""
    for name in names:
        if hasattr(estimator, name):
            delattr(estimator, name)


def _generator(random_state: Any) -> np.random.Generator:
    """A generator from what scikit-learn calls a random state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    words = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(words.tolist())


def _with_intercept(rows: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(rows)), rows])
