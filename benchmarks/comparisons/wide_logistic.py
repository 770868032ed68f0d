"""Logistic regression on 100,000 one-hot columns: askance on noised answers, scikit-learn's L-BFGS on the clean ones.

Six categorical variables with 50,000 to 100 levels, a million rows, the same ridge and the same tolerance on the
largest entry of the gradient.
"""

from __future__ import annotations

from typing import Any

from benchmarks.comparisons.logistic import SCIKIT_LEARN
from benchmarks.harness.comparison import Case, Comparison, Side, Sizes, Subject, Throughput, WrongResultError

LEVELS = (50_000, 30_000, 15_000, 4_000, 900, 100)
RIDGE = 1.0
TOLERANCE = 1e-4


def _survey(n: int) -> tuple[Any, Any, Any]:
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(0)
    columns, width = [], 0
    for levels in LEVELS:
        columns.append(width + rng.choice(levels, size=n, p=rng.dirichlet(np.full(levels, 0.5))))
        width += levels
    ends = np.arange(0, n * len(LEVELS) + 1, len(LEVELS))
    x = sparse.csr_matrix((np.ones(n * len(LEVELS)), np.column_stack(columns).ravel(), ends), shape=(n, width))
    theta = 0.5 * rng.normal(size=width)
    truth = (rng.random(n) < 1 / (1 + np.exp(1 - x @ theta))).astype(np.int64)
    return x, theta, truth


def _check_close(found: Any, theta: Any) -> None:
    import numpy as np

    if np.corrcoef(found, theta)[0, 1] < 0.4:
        raise WrongResultError("the coefficients have little to do with the true ones")


def askance(case: Case, n: int) -> Throughput:
    """Evidence and penalised moment fit."""
    import numpy as np

    from askance import RandomizedResponse, Responses, Softmax, estimate

    x, theta, truth = _survey(n)
    channel = RandomizedResponse.for_privacy_level(3, outputs=2)
    reports = channel.simulate(truth, np.random.default_rng(1))
    model = Softmax(2, [f"x{j}" for j in range(x.shape[1])])

    def run() -> Any:
        evidence = Responses(channel).add(x, reports)
        return estimate(model, evidence, "moments", ridge=RIDGE, tolerance=TOLERANCE).theta

    return Throughput(run, lambda found: _check_close(found, theta))


def scikit_learn(case: Case, n: int) -> Throughput:
    """Its L-BFGS, the only solver it offers for this shape without a dense Hessian or duplicate data."""
    from sklearn.linear_model import LogisticRegression

    x, theta, truth = _survey(n)

    def run() -> Any:
        fit = LogisticRegression(C=1 / RIDGE, solver="lbfgs", fit_intercept=False, tol=TOLERANCE, max_iter=2000)
        return fit.fit(x, truth).coef_[0]

    return Throughput(run, lambda found: _check_close(found, theta))


COMPARISON = Comparison(
    name="wide-logistic",
    question=(
        "How fast is a logistic regression on 100,000 one-hot columns: ours of noised answers, scikit-learn's "
        "of the clean ones?"
    ),
    subject=Subject.REGRESSION,
    unit="rows/s",
    cases=({"columns": sum(LEVELS)},),
    ours=Side("askance", askance),
    peers=(Side("scikit-learn lbfgs", scikit_learn, SCIKIT_LEARN),),
    sizes=Sizes(1_000_000, 1_000_000),
)
