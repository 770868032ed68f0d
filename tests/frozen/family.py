"""The family: names of fits, and functions that make them from seeds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from askance import (
    CliqueRelease,
    CoordinateRelease,
    CountTagger,
    Crosswise,
    Direct,
    Enumerated,
    ForcedResponse,
    PerValue,
    RandomField,
    RandomizedResponse,
    Responses,
    Softmax,
    Tally,
    estimate,
    estimate_field,
    estimate_linear,
    estimate_mean,
    pool,
    regression_release,
)
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.errors import AskanceError, AskanceWarning
from askance.models.linear import LinearModel
from tests import families, statistics_families
from tests.regressions import respondents, survey
from tests.small_corpus import TEST, counted

_METHODS = ("one-step", "moments", "marginal")


@dataclass
class Frozen:
    """What is kept of one fit.

    Attributes:
        numbers: name → array: θ̂, its covariance, unbiased statistics.
        facts: name → text, number or truth value: whether it was repaired, which covariance it has, what it says.
        errors: standard errors of the entries of `theta`, the unit in which estimates are compared.
    """

    numbers: dict[str, FloatArray] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    errors: FloatArray = field(default_factory=lambda: np.zeros(0))


def _of_fit(fit: Any) -> Frozen:
    """The common part of every kind of fit; what a kind has not is left out."""
    kept = Frozen(errors=np.asarray(fit.standard_errors))
    for name in ("theta", "covariance", "raw_statistics"):
        value = getattr(fit, name, None)
        if value is not None:
            kept.numbers[name] = np.asarray(value, dtype=np.float64)
    height = getattr(fit, "log_likelihood", None)
    if height is not None and np.isfinite(height):
        kept.numbers["log_likelihood"] = np.array([height])
    for name in ("covariance_kind", "converged", "n_observations", "method"):
        if hasattr(fit, name):
            kept.facts[name] = getattr(fit, name)
    diagnostics = getattr(fit, "diagnostics", None)
    if diagnostics is not None:
        kept.facts["repaired"] = bool(diagnostics.repaired)
    return kept


# -- answers -----------------------------------------------------------------------------------------------------------


def _tally(case: families.Case) -> Tally:
    rng = np.random.default_rng([7, len(case.name), case.model.dimension])
    truth = case.model.sample(case.theta, 3000, rng)
    return Tally(case.channel).add(case.channel.simulate(truth, rng))


def _tallies() -> Iterator[tuple[str, Callable[[], Frozen]]]:
    for case in families.CASES:
        for method in _METHODS:
            yield f"tally {case.name} {method}", partial(_of_tally, case, method)


def _of_tally(case: families.Case, method: str) -> Frozen:
    return _of_fit(estimate(case.model, _tally(case), method))


def _pooled() -> Frozen:
    model = Enumerated.saturated(["no", "yes"])
    parts = [Tally(ForcedResponse("2/3", "1/6"), [600, 400]), Tally(Crosswise("1/4"), [320, 480])]
    return _of_fit(estimate(model, pool(parts)))


# -- regressions -------------------------------------------------------------------------------------------------------


def _regressions() -> Iterator[tuple[str, Callable[[], Frozen]]]:
    designs: dict[str, FiniteChannel] = {
        "forced": ForcedResponse("2/3", "1/6"),
        "crosswise": Crosswise("1/4"),
        "direct": Direct(["no", "yes"]),
        "three": RandomizedResponse.for_privacy_level(3, outputs=["a", "b", "c"]),
        "few": RandomizedResponse.for_privacy_level("1/2", outputs=["a", "b", "c"]),
    }
    for name, channel in designs.items():
        for method in _METHODS:
            yield f"regression {name} {method}", partial(_regression, channel, method, 2500, ())
            yield f"regression {name} {method} weighted", partial(_regression, channel, method, 2500, ("weights",))
    for method in _METHODS:
        both = ("weights", "clusters")
        yield f"regression many rows {method}", partial(_regression, designs["forced"], method, 20_000, ())
        yield f"regression clusters {method}", partial(_regression, designs["three"], method, 2500, both)
        for kind in ("expected", "observed", "robust"):
            if (method, kind) != ("moments", "observed"):
                yield (
                    f"regression {kind} {method}",
                    partial(_regression, designs["three"], method, 2500, (), covariance=kind),
                )


def _regression(channel: FiniteChannel, method: str, n: int, extra: tuple[str, ...], **options: Any) -> Frozen:
    x = respondents(n)
    model, _, reports = survey([str(label) for label in channel.outputs.labels], x, channel)
    rng = np.random.default_rng(11)
    columns = {"weights": rng.uniform(0.5, 2, n), "clusters": rng.integers(0, 60, n)}
    evidence = Responses(channel).add(x, reports, **{name: columns[name] for name in extra})
    return _of_fit(estimate(model, evidence, method, **options))


def _sparse() -> Frozen:
    from scipy.sparse import csr_array

    x = respondents(1500)
    model, channel, reports = survey(["a", "b", "c"], x)
    return _of_fit(estimate(model, Responses(channel).add(csr_array(x), reports)))


def _wide(method: str) -> Frozen:
    """More coefficients than Newton steps are taken for."""
    rng = np.random.default_rng(3)
    n, p = 4000, 2100
    group = rng.integers(0, p - 1, n)
    x = np.column_stack([np.ones(n), np.eye(p - 1)[group]])
    channel = ForcedResponse("2/3", "1/6")
    truth = np.where(rng.random(n) < 0.3, "yes", "no")
    fit = estimate(
        Softmax(["no", "yes"], ["Intercept", *map(str, range(1, p))]),
        Responses(channel).add(x, channel.simulate(truth, rng)),
        method,
    )
    kept = _of_fit(fit)
    kept.numbers["theta"], kept.errors = fit.theta[:40], np.ones(40)
    del kept.numbers["covariance"], kept.numbers["raw_statistics"]
    return kept


# -- sums of statistics ------------------------------------------------------------------------------------------------


def _means() -> Iterator[tuple[str, Callable[[], Frozen]]]:
    for name in statistics_families.channels():
        yield f"mean {name}", partial(_mean, name)


def _mean(name: str) -> Frozen:
    channel = statistics_families.channels()[name]
    rng = np.random.default_rng(len(name))
    truth = statistics_families.truths_for(channel, 4000, rng)
    tally = Tally(channel).add(channel.simulate(truth, rng))
    found = estimate_mean(tally)
    return Frozen({"theta": found.mean, "sums": tally.sums.astype(np.float64)}, {}, found.standard_errors)


def _statistics() -> Iterator[tuple[str, Callable[[], Frozen]]]:
    model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    for name, channel in (("coordinate", CoordinateRelease(2, 1)), ("bits", PerValue.for_model(model, 1))):
        for weighting in ("best", "plain"):
            yield f"statistics {name} {weighting}", partial(_of_statistics, model, channel, weighting)


def _of_statistics(model: Enumerated, channel: Any, weighting: str) -> Frozen:
    rng = np.random.default_rng(1)
    truth = model.statistics(model.sample([1.0, -0.5], 20_000, rng))
    tally = Tally(channel).add(channel.simulate(truth, rng))
    return _of_fit(estimate(model, tally, weighting=weighting))


# -- fields ------------------------------------------------------------------------------------------------------------

_LOOP = RandomField([2, 3, 2], [[0, 1], [1, 2], [2, 0]])
_TREE = RandomField([3, 2, 2, 3], [[0, 1], [1, 2], [1, 3]])
_GIVEN_X = RandomField([2, 3, 2], [[0, 1], [1, 2]], covariates=["income", "age"])


def _fields() -> Iterator[tuple[str, Callable[[], Frozen]]]:
    for name, model in (("loop", _LOOP), ("tree", _TREE)):
        for method in ("moments", "ridge", "one-step", "marginal"):
            yield f"field {name} {method}", partial(_field, model, method)
    for method in _METHODS:
        yield f"field given x {method}", partial(_field_given_x, method)


def _field(model: RandomField, method: Any) -> Frozen:
    rng = np.random.default_rng(4)
    channel = CliqueRelease(model.sizes, model.cliques, 3)
    records = model.sample(0.5 * rng.normal(size=model.dimension), 30_000, rng)
    return _of_cells(estimate_field(model, channel.simulate(records, rng), method))


def _field_given_x(method: Any) -> Frozen:
    rng = np.random.default_rng(9)
    x = np.column_stack([rng.normal(size=5000), rng.gamma(2.0, size=5000)])
    channel = CliqueRelease(_GIVEN_X.sizes, _GIVEN_X.cliques, 2)
    records = _GIVEN_X.sample(0.5 * rng.normal(size=_GIVEN_X.dimension), len(x), rng, x)
    return _of_cells(estimate_field(_GIVEN_X, Responses(channel).add(x, channel.simulate(records, rng)), method))


def _of_cells(fit: Any) -> Frozen:
    """Fields by their tables: parameters of overlapping tables mean nothing one by one."""
    tables = fit.tables()
    kept = _of_fit(fit)
    kept.numbers = {
        "theta": np.concatenate([np.ravel(table.estimate) for table in tables.values()]),
        "raw_statistics": np.asarray(fit.raw_statistics),
    }
    kept.errors = np.concatenate([np.ravel(table.standard_error) for table in tables.values()])
    kept.numbers["standard_errors"] = kept.errors
    return kept


# -- linear models and taggers -----------------------------------------------------------------------------------------


def _linear() -> Iterator[tuple[str, Callable[[], Frozen]]]:
    for encoding in ("quadratic", "moments", "per-value", "coordinate-release", "triple-release"):
        for level in (2, 8):
            yield f"linear {encoding} {level}", partial(_linear_fit, encoding, level)


def _linear_fit(encoding: Any, level: int) -> Frozen:
    model = LinearModel(2, x_bounds=(-2, 2), y_bounds=(-3, 3), scales=([0, 0, 0], [1, 1, 1]))
    rng = np.random.default_rng(5)
    x = rng.uniform(-1.7, 1.7, (20_000, 2))
    y = 0.3 + x @ [0.6, -0.4] + rng.uniform(-1, 1, len(x))
    options: dict[str, Any] = {"share_within": 1} if encoding in ("quadratic", "moments") else {}
    release = regression_release(model, level, channel=encoding, **options)
    return _of_fit(estimate_linear(release, release.simulate(x, y, rng)))


def _taggers() -> Iterator[tuple[str, Callable[[], Frozen]]]:
    for method in ("moments", "node", "chain"):
        yield f"tagger {method}", partial(_tagger, method)


def _tagger(method: Any) -> Frozen:
    tagger = CountTagger(method).fit(counted())
    sentences = [list(sentence) for sentence in (("the", "dog", "sits"), ("this", "house", "eats", "a", "cat"))]
    shares = np.concatenate(tagger.predict_proba(sentences))
    # Training stops early. A chain is trained in single precision: processors differ by up to 1.5e-5 in probabilities.
    error = 100.0 if method == "chain" else 10.0
    return Frozen({"theta": shares.ravel()}, {"score": round(tagger.score(TEST), 3)}, np.full(shares.size, error))


# -- all of them -------------------------------------------------------------------------------------------------------


def members() -> dict[str, Callable[[], Frozen]]:
    """Every fit of the family by its name."""
    family: dict[str, Callable[[], Frozen]] = {}
    for part in (_tallies, _regressions, _means, _statistics, _fields, _linear, _taggers):
        family.update(part())
    family["tally pooled"] = _pooled
    family["regression sparse"] = _sparse
    for method in ("moments", "marginal"):
        family[f"regression wide {method}"] = partial(_wide, method)
    return family


def frozen(make: Callable[[], Frozen]) -> Frozen:
    """A fit, with the kinds of its warnings; or the kind of its refusal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kept = make()
        except AskanceError as error:
            return Frozen(facts={"refused": type(error).__name__})
    kinds = {warning.category.__name__ for warning in caught if issubclass(warning.category, AskanceWarning)}
    kept.facts["warnings"] = sorted(kinds)
    return kept
