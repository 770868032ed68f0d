"""Logistic regression, a million answers and ten covariates: askance on noised answers, scikit-learn on the clean ones.

scikit-learn solves the easier problem (the truth is known) to a gradient tolerance of 1e-6; askance's convex fit stops
far below that. Rows per CPU second of one whole fit, standard errors included on our side.
"""

from __future__ import annotations

from typing import Any

from benchmarks.harness.comparison import (
    Case,
    Comparison,
    Environment,
    Side,
    Sizes,
    Subject,
    Throughput,
    WrongResultError,
)

TERMS = 11
LEVEL = 2.0


def _survey(n: int) -> tuple[Any, Any, Any]:
    """Covariates with an intercept, coefficients, and the true answers."""
    import numpy as np

    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(n), rng.normal(size=(n, TERMS - 1))])
    theta = np.concatenate([[-1.0], 0.4 * rng.normal(size=TERMS - 1)])
    truth = (rng.random(n) < 1 / (1 + np.exp(-x @ theta))).astype(np.int64)
    return x, theta, truth


def askance(case: Case, n: int) -> Throughput:
    """Evidence and fit, from arrays."""
    import numpy as np

    from askance import RandomizedResponse, Responses, Softmax, estimate

    x, theta, truth = _survey(n)
    channel = RandomizedResponse.for_privacy_level(LEVEL, outputs=2)
    reports = channel.simulate(truth, np.random.default_rng(1))
    model = Softmax(2, [f"x{j}" for j in range(TERMS)])
    method = str(case["method"])

    def check(fit: Any) -> None:
        if not fit.converged or (np.abs(fit.theta - theta) > 6 * fit.standard_errors).any():
            raise WrongResultError(f"{method} gave {fit.theta} for {theta}")

    return Throughput(lambda: estimate(model, Responses(channel).add(x, reports), method), check)


def _scikit_learn(solver: str) -> Any:
    def build(case: Case, n: int) -> Throughput:
        import numpy as np
        from sklearn.linear_model import LogisticRegression

        x, theta, truth = _survey(n)

        def check(fit: Any) -> None:
            if np.abs(fit.coef_[0] - theta).max() > 0.05:
                raise WrongResultError(f"scikit-learn gave {fit.coef_[0]} for {theta}")

        def run() -> Any:
            return LogisticRegression(C=np.inf, solver=solver, fit_intercept=False, tol=1e-6, max_iter=1000).fit(
                x, truth
            )

        return Throughput(run, check)

    return build


SCIKIT_LEARN = Environment("scikit-learn", ("scikit-learn==1.9.1",), packages=("scikit-learn", "numpy", "scipy"))

COMPARISON = Comparison(
    name="logistic",
    question=(
        "How fast is a logistic regression of 10⁶ answers on ten covariates: ours of noised answers, "
        "scikit-learn's of the clean ones?"
    ),
    subject=Subject.REGRESSION,
    unit="rows/s",
    cases=tuple({"method": method} for method in ("moments", "one-step", "marginal")),
    ours=Side("askance", askance),
    peers=(
        Side("scikit-learn lbfgs", _scikit_learn("lbfgs"), SCIKIT_LEARN),
        Side("scikit-learn newton-cholesky", _scikit_learn("newton-cholesky"), SCIKIT_LEARN),
    ),
    sizes=Sizes(1_000_000, 1_000_000),
)
