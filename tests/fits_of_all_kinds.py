"""One small fit, plan and prediction of every kind, and a digest of each to the last bit: run as a script, as JSON.

Small, but with more than three blocks of rows and enough columns for BLAS to divide its work among threads.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from askance import (
    CliqueRelease,
    CountTagger,
    Enumerated,
    ForcedResponse,
    LinearModel,
    Prior,
    RandomField,
    RandomizedResponse,
    Responses,
    Softmax,
    Tally,
    Warner,
    estimate,
    estimate_field,
    estimate_linear,
    optimal_channel,
    optimal_cliques,
    plan,
    project,
    regression_release,
)
from askance.estimation.problems import conditional
from askance.estimation.problems.field_problem import FieldMethod

sys.path.insert(0, str(Path(__file__).parent))
from small_corpus import TEST, counted  # type: ignore[import-not-found]

_METHODS: tuple[FieldMethod, ...] = ("moments", "marginal")
ROWS, COLUMNS = 3 * 8192 + 100, 10


def _covariates(seed: int) -> Any:
    x = np.random.default_rng(seed).normal(size=(ROWS, COLUMNS))
    x[:, 0], x[:, 1] = 1.0, (x[:, 1] > 0).astype(float)
    return x


def _answers(m: int, x: Any, rng: np.random.Generator) -> Any:
    scores = np.stack([0.3 * x[:, y] + rng.gumbel(size=len(x)) for y in range(1, m + 1)], axis=1)
    return scores.argmax(axis=1)


def regressions() -> Iterator[tuple[str, Any]]:
    from scipy import sparse

    x, rng = _covariates(1), np.random.default_rng(2)
    terms = [f"t{j}" for j in range(COLUMNS)]
    channel = ForcedResponse("2/3", "1/6")
    reports = channel.simulate(np.array(["no", "yes"])[_answers(2, x, rng)], rng)
    yes_no, evidence = Softmax(channel.outputs, terms), Responses(channel).add(x, reports)
    for method in ("moments", "one-step"):
        yield f"regression, {method}", estimate(yes_no, evidence, method)
    wide = np.column_stack([x, rng.normal(size=(ROWS, 40))])
    many = Softmax(channel.outputs, [f"t{j}" for j in range(wide.shape[1])])
    yield "regression, many columns", estimate(many, Responses(channel).add(wide, reports))
    fit = estimate(yes_no, evidence, "marginal", starts=0)
    yield "regression, marginal", fit
    conditional.COMPILED_FROM, before = 0, conditional.COMPILED_FROM
    yield "regression, compiled", estimate(yes_no, evidence, "marginal", starts=0)
    conditional.COMPILED_FROM = before
    yield "prevalence", fit.prevalence(by="t1").standard_error
    yield "prevalence of a population", fit.prevalence(population=True).standard_error
    yield "marginal effects", fit.marginal_effects(terms=["t1", "t2"]).standard_error
    yield "predictions", fit.predict(x[:9000]).standard_error
    marked = Responses(channel).add(x, reports, weights=rng.uniform(1, 2, ROWS), clusters=np.arange(ROWS) // 7)
    yield "regression, weights and clusters", estimate(yes_no, marked)
    far = x + 1000.0 * (np.arange(COLUMNS) > 1)
    yield "regression, far from 0", estimate(yes_no, Responses(channel).add(far, reports))
    thin = sparse.csr_array(np.where(np.abs(x) >= 1, x, 0.0))
    yield "regression, sparse", estimate(yes_no, Responses(channel).add(thin, reports), "moments")
    labels = ["a", "b", "c"]
    three = RandomizedResponse("1/2", outputs=labels)
    of_three = Responses(three).add(x, three.simulate(np.array(labels)[_answers(3, x, rng)], rng))
    yield "three outputs", estimate(Softmax(labels, terms), of_three)


def distributions() -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(3)
    many = RandomizedResponse("4/5", outputs=150)
    tally = Tally(many, rng.integers(5_000, 9_000, 150))
    for method in ("moments", "one-step"):
        yield f"distribution, {method}", estimate(Enumerated.saturated(150), tally, method)
    yield "projection", project(tally)
    few = Tally(RandomizedResponse("1/2", outputs=4), [300, 260, 240, 200])
    yield "distribution, marginal", estimate(Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]]), few, "marginal")


def fields() -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(4)
    field = RandomField([4] * 6, [[v, v + 1] for v in range(5)])
    channel = CliqueRelease(field.sizes, field.cliques, 3)
    records = rng.integers(0, 4, (30_000, 6))
    records[:, 1:] = np.where(rng.random((30_000, 5)) < 0.5, records[:, :-1], records[:, 1:])
    reports = channel.simulate(records, rng)
    for method in _METHODS:
        fit = estimate_field(field, Tally(channel).add(reports), method)
        yield f"field, {method}", fit
        yield f"tables of a field, {method}", fit.marginal([0, 1]).standard_error
    small = RandomField([2, 3, 2], [[0, 1], [1, 2]], covariates=["u", "v"])
    channel = CliqueRelease(small.sizes, small.cliques, 3)
    x = rng.normal(size=(9_000, 2))
    told = np.column_stack([x[:, 0] > 0, rng.integers(0, 3, 9_000), x[:, 1] > 0]).astype(np.int64)
    evidence = Responses(channel).add(x, channel.simulate(told, rng))
    for method in _METHODS:
        yield f"field with covariates, {method}", estimate_field(small, evidence, method)


def designs() -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(5)
    field = LinearModel(12, x_bounds=(-3, 3), y_bounds=(-6, 6), scales=(np.zeros(13), np.ones(13)))
    release = regression_release(field, 8, n_respondents=30_000)
    x = rng.normal(size=(30_000, 12)).clip(-3, 3)
    y = (x[:, 0] - x[:, 1] + rng.normal(size=30_000)).clip(-6, 6)
    yield "linear regression", estimate_linear(release, release.simulate(x, y, rng))
    model = Enumerated(rng.integers(0, 2, (4, 9)).astype(float))
    points = Prior.of(rng.normal(size=(2, 4)))
    channel = optimal_channel(model, 1, prior=points)
    yield "optimal channel", np.concatenate([channel.matrix.ravel(), [channel.value]])
    cliques = optimal_cliques(RandomField([2, 3, 2], [[0, 1], [1, 2]]), 1)
    yield "optimal tables", np.array([cliques.value, cliques.lower_bound])
    people = np.column_stack([np.ones(9_000), rng.normal(size=(9_000, 9))])
    asked = Softmax(["no", "yes"], [f"t{j}" for j in range(10)])
    made = plan(asked, [Warner("3/4")], np.linspace(-1, 1, 10), people, target="t3", standard_error=0.02)
    yield "plan", np.array([row.unit_error for row in made.designs])


def taggers() -> Iterator[tuple[str, Any]]:
    regions = counted()
    for method in ("moments", "node", "chain"):
        tagger = CountTagger(method, max_iterations=8).fit(regions)
        yield f"tagger, {method}", tagger.theta
        yield f"tags, {method}", np.concatenate(tagger.predict_proba(TEST))


def digest(result: Any) -> str:
    parts = [result] if isinstance(result, np.ndarray) else [result.theta, result.covariance]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:16]


def main() -> None:
    warnings.simplefilter("ignore")
    kinds = [regressions, distributions, fields, designs, taggers]
    digests = {name: digest(result) for kind in kinds for name, result in kind()}
    print(json.dumps(digests))


if __name__ == "__main__":
    main()
