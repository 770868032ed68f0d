"""The estimators are scikit-learn estimators."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from askance import RandomizedResponse, Tally
from askance.errors import ClippingWarning, InputError, RepairWarning
from askance.sklearn import PrivateLinearRegression, PrivateLogisticRegression


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        PrivateLinearRegression(8, x_bounds=(-10, 10), y_bounds=(-300, 300)),
        PrivateLogisticRegression(8),
    ]
)
def test_it_is_an_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


BOUNDS: dict[str, Any] = {"x_bounds": (-5, 5), "y_bounds": (-12, 12)}
TRUE = np.array([1.0, -2.0])


def people(n: int = 6000, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, 0.5 + X @ TRUE + rng.normal(size=n)


def test_importing_askance_does_not_import_scikit_learn() -> None:
    code = "import sys, askance, askance.estimation; askance.estimate; assert 'sklearn' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- linear ------------------------------------------------------------------------------------------------------------


def test_a_linear_fit_is_near_the_truth_and_repeats() -> None:
    X, y = people()
    fits = [PrivateLinearRegression(8, **BOUNDS, random_state=3).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert np.abs(fits[0].coef_ - TRUE).max() < 0.6
    assert fits[0].score(X, y) > 0.7
    assert fits[0].fit_.pilot_observations == 1200
    other = PrivateLinearRegression(8, **BOUNDS, random_state=4).fit(X, y)
    assert not np.array_equal(fits[0].coef_, other.coef_)


def test_batches_add_up_and_never_ask_twice() -> None:
    X, y = people()
    streamed = PrivateLinearRegression(8, **BOUNDS, random_state=np.random.default_rng(1))
    for part in range(3):
        streamed.partial_fit(X[part::3], y[part::3])
    assert streamed.fit_.n_observations + streamed.fit_.pilot_observations == 6000
    assert streamed.fit_.pilot_observations == 400  # a fifth of the first batch
    assert np.abs(streamed.coef_ - TRUE).max() < 0.6
    streamed.fit(X[:3000], y[:3000])
    assert streamed.fit_.n_observations == 2400


def test_reports_of_real_devices() -> None:
    X, y = people(30_000)
    scales = (np.zeros(3), np.array([1.0, 1.0, 2.5]))
    estimator = PrivateLinearRegression(8, scales=scales, n_respondents=30_000)
    release = estimator.plan(2)
    reports = release.simulate(X, y, np.random.default_rng(1))
    assert np.abs(estimator.fit_reports(reports).coef_ - TRUE).max() < 0.4
    tally = Tally(release.channel).add(reports)
    np.testing.assert_array_equal(PrivateLinearRegression(8).fit_reports(tally, release).coef_, estimator.coef_)
    assert estimator.predict(X[:3]).shape == (3,)
    estimator.partial_fit(X[:100], y[:100])
    assert estimator.fit_.n_observations == 30_100


def test_pipelines_grids_and_data_frames() -> None:
    import pandas as pd

    X, y = people(3000)
    frame = pd.DataFrame(X, columns=["age", "income"])
    fit = PrivateLinearRegression(8, **BOUNDS, random_state=0).fit(frame, y).fit_
    assert fit.parameter_names == ("Intercept", "age", "income")
    scaled = make_pipeline(StandardScaler(), PrivateLinearRegression(8, **BOUNDS, random_state=0))
    assert scaled.fit(X, y).score(X, y) > 0.3
    grid = GridSearchCV(PrivateLinearRegression(4, **BOUNDS, random_state=0), {"privacy_level": [1, 16]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert grid.fit(X, y).best_params_ == {"privacy_level": 16}


def test_clipping_is_counted() -> None:
    X, y = people(2000)
    X[:7, 1] = 99.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        fit = PrivateLinearRegression(8, scales=(np.zeros(3), np.full(3, 4.0)), random_state=0).fit(X, y)
    assert fit.n_clipped_.tolist() == [0, 7, 0]


def test_clipping_many_values_is_a_warning() -> None:
    X, y = people(2000)
    X[:300, 1] = 99.0
    said = r"306 values were clipped, most in 'x1' \(15.1 % of rows\)"
    estimator = PrivateLinearRegression(8, scales=(np.zeros(3), np.array([1.0, 1.0, 4.0])), random_state=0)
    with pytest.warns(ClippingWarning, match=said):
        estimator.fit(X, y)


def test_plans_and_reports_leave_no_trace_of_earlier_fits() -> None:
    import pandas as pd

    X, y = people(3000)
    frame = pd.DataFrame(X, columns=["a", "y"])
    estimator = PrivateLinearRegression(8, **BOUNDS, random_state=0).fit(frame, y)
    assert estimator.fit_.parameter_names == ("Intercept", "a", "y")
    release = estimator.plan(3)
    assert estimator.partial_fit(np.column_stack([X, X[:, 0] ** 2]), y).release_ is release
    other = PrivateLinearRegression(8, **BOUNDS, scales=(np.zeros(3), np.ones(3))).plan(2)
    estimator.fit_reports(other.simulate(X, y, np.random.default_rng(1)), other)
    assert estimator.fit_.pilot_observations == 0
    assert estimator.predict(X[:2]).shape == (2,)
    with pytest.raises(InputError, match=r"the release has level 8\.0; allowed: privacy_level=1 or less"):
        PrivateLinearRegression(1, **BOUNDS).fit_reports(other.randomize(X, y), other)


def test_linear_arguments_that_are_refused() -> None:
    X, y = people(50)
    with pytest.raises(InputError, match="x_bounds is missing"):
        PrivateLinearRegression(1).fit(X, y)
    with pytest.raises(InputError, match="leave nobody after a pilot"):
        PrivateLinearRegression(1, **BOUNDS, pilot_share=1).fit(X, y)
    with pytest.raises(InputError, match="channel is 'nope'"):
        PrivateLinearRegression(1, **BOUNDS, channel="nope").fit(X, y)


# -- logistic ----------------------------------------------------------------------------------------------------------


def labels(n: int = 8000) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 2))
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ TRUE))), "yes", "no")


def test_noised_labels_give_the_effects() -> None:
    X, y = labels()
    fit = PrivateLogisticRegression(2, random_state=0).fit(X, y)
    assert fit.classes_.tolist() == ["no", "yes"]
    assert np.abs(fit.coef_[0] - TRUE).max() < 0.5
    np.testing.assert_allclose(fit.predict_proba(X[:5]).sum(axis=1), 1)
    assert fit.score(X, y) > 0.75
    assert fit.fit_.privacy_level == 2


def test_more_than_two_classes() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(9000, 2))
    y = np.argmax(np.column_stack([np.zeros(9000), X @ TRUE, -X @ TRUE]) + rng.gumbel(size=(9000, 3)), axis=1) * 10
    fit = PrivateLogisticRegression(3, random_state=0).fit(X, y)
    assert fit.coef_.shape == (3, 2)
    assert np.abs(fit.coef_[1] - TRUE).max() < 0.6
    assert set(fit.predict(X)) <= {0, 10, 20}


def test_batches_of_labels() -> None:
    X, y = labels()
    fit = PrivateLogisticRegression(2, random_state=0).partial_fit(X[:1000], y[:1000], classes=["no", "yes"])
    fit.partial_fit(X[1000:], y[1000:])
    assert fit.fit_.n_observations == 8000
    assert np.abs(fit.coef_[0] - TRUE).max() < 0.5
    with pytest.raises(InputError, match=r"y\[0\] is none of the classes; allowed: 'no', 'yes'"):
        fit.partial_fit(X[:1], ["maybe"])


def test_real_reports_of_labels() -> None:
    X, y = labels()
    channel = RandomizedResponse.for_privacy_level(2, outputs=["no", "yes"])
    fit = PrivateLogisticRegression(2).fit_reports(X, channel.simulate(y, np.random.default_rng(1)), channel)
    assert np.abs(fit.coef_[0] - TRUE).max() < 0.6
    assert set(fit.predict(X)) == {"no", "yes"}


def test_labels_after_real_reports_and_plans() -> None:
    X, y = labels(3000)
    estimator = PrivateLogisticRegression(2, random_state=0)
    channel = estimator.plan(["yes", "no"])
    estimator.fit_reports(X[:2000], channel.simulate(y[:2000], np.random.default_rng(1)), channel)
    assert estimator.partial_fit(X[2000:], y[2000:]).fit_.n_observations == 3000
    assert estimator.classes_.tolist() == ["yes", "no"]
    assert estimator.coef_[0, 0] < 0  # log-odds of "no" against "yes"
    with pytest.raises(InputError, match="the channel has level"):
        PrivateLogisticRegression(1).fit_reports(X, channel.randomize(y), channel)
    with pytest.raises(InputError, match="y holds None"):
        PrivateLogisticRegression(1).fit(X[:2], np.array(["yes", None], dtype=object))


def test_one_class_is_refused() -> None:
    with pytest.raises(InputError, match="y has one class"):
        PrivateLogisticRegression(1).fit(np.zeros((3, 1)), [1, 1, 1])
