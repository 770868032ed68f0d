"""List experiments: intervals of shares and coefficients, by likelihood and by means."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from acceptance.check import Figure, survey_check
from acceptance.surveys import inside, simulated
from askance import ListExperiment, Responses, estimate
from askance._arrays import FloatArray
from askance.scale.shipping import Sender

TERMS = ["Intercept", "old"]
CELLS = np.array([[1.0, 0.0], [1.0, 1.0]])
#: Effects on the answer, and the law of three items where x is 0 and where it is 1: no binomial one.
TRAIT = np.array([-0.8, 0.6])
ITEMS = np.array([[0.15, 0.25, 0.35, 0.25], [0.1, 0.35, 0.3, 0.25]])
PEOPLE = 3_000


def truth() -> FloatArray:
    """P(answer, items) in both cells, shape (2, 8): independent given x."""
    trait = 1 / (1 + np.exp(-CELLS @ TRAIT))
    return np.concatenate([(1 - trait)[:, None] * ITEMS, trait[:, None] * ITEMS], axis=1)


def draw(design: ListExperiment, laws: FloatArray, rng: np.random.Generator, people: int = PEOPLE) -> Responses[Any]:
    """One survey; a quarter of all is in every cell and group."""
    evidence: Responses[Any] = Responses(design.arms)
    for group, channel in design.arms.items():
        for x, law in zip(CELLS, laws, strict=True):
            counts = rng.multinomial(people // 4, channel.matrix @ law)
            reports = np.repeat(np.array(channel.observations.labels), counts)
            evidence = evidence.add(np.tile(x, (len(reports), 1)), reports, arm=[group] * len(reports))
    return evidence


def coefficients(method: str) -> FloatArray:
    """What the first coefficients estimate: log-odds, or shares and their difference."""
    share = 1 / (1 + np.exp(-CELLS @ TRAIT))
    return np.array([share[0], share[1] - share[0]]) if method == "linear" else TRAIT


def survey(rng: np.random.Generator) -> dict[str, bool]:
    """One survey by all methods: which intervals cover."""
    design, share = ListExperiment(3), truth()[:, 4:].sum() / 2
    evidence, found = draw(design, truth(), rng), dict[str, bool]()
    for method in ("marginal", "linear", "least-squares"):
        options: dict[str, Any] = {"starts": 1} if method == "marginal" else {}
        fit = estimate(design.model(TERMS, method), evidence, **options)
        lower, upper = fit.confidence_interval()
        names = [f"{method}, {name}" for name in ("intercept", "effect")]
        found |= inside(lower[:2], coefficients(method), upper[:2], names)
        shares = fit.shares("trait")
        found[f"{method}, share"] = bool(shares.lower[1] <= share <= shares.upper[1])
    return found


@survey_check("lists")
def lists(rng: np.random.Generator, simulations: int, engine: Sender) -> Iterator[Figure]:
    """95 % intervals cover 93.5 to 96.5 %: share and effects, three items, 3,000 respondents, 2,000 surveys at most."""
    surveys = min(simulations, 2_000)
    for figure, holds in simulated(engine, survey, surveys, rng).items():
        yield Figure("lists", figure, float(holds.mean()), 0.935, 0.965, f"{surveys} surveys", len(holds))


#: Lists with more to them: the design, respondents, and the shares of yes of what else is hidden.
VARIANTS: dict[str, tuple[ListExperiment, int, dict[str, float]]] = {
    "ceiling": (ListExperiment(3, ceiling=True), PEOPLE, {"ceiling": 0.3}),
    "floor": (ListExperiment(3, floor=True), PEOPLE, {"floor": 0.3}),
    "direct question": (ListExperiment(3, direct="asked"), PEOPLE, {"honest": 0.6}),
    # With fewer respondents its rarest cells are often at their end.
    "dependent": (ListExperiment(3, dependent=True), 12_000, {}),
}
#: The law of the items of those who say yes, where they depend on the answer.
OTHERS = np.array([[0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.4, 0.3]])


def law_of(design: ListExperiment, shares: dict[str, float]) -> FloatArray:
    """P of every combination of what is hidden in both cells, shape (2, H)."""
    model, trait = design.model(TERMS), 1 / (1 + np.exp(-CELLS @ TRAIT))
    values = dict(zip((factor.name for factor in model.factors), model.values, strict=True))
    law = np.where(values["trait"] == 1, trait[:, None], 1 - trait[:, None])
    items = np.where((values["trait"] == 1) & design.dependent, OTHERS[:, values["items"]], ITEMS[:, values["items"]])
    for name, share in shares.items():
        law = law * np.where(values[name] == 1, share, 1 - share)
    return np.asarray(law * items)


def survey_variant(name: str, rng: np.random.Generator) -> dict[str, bool]:
    """One survey of a variant: which intervals cover, and whether the fit was repaired."""
    design, people, others = VARIANTS[name]
    fit = estimate(design.model(TERMS), draw(design, law_of(design, others), rng, people), starts=1)
    lower, upper = fit.confidence_interval()
    found = {"repaired": fit.repaired, **inside(lower[:2], TRAIT, upper[:2], [f"trait:{term}" for term in TERMS])}
    for variable, share in {"trait": truth()[:, 4:].sum() / 2, **others}.items():
        table = fit.shares(variable)
        found[f"share of {variable}"] = bool(table.lower[1] <= share <= table.upper[1])
    return found


@survey_check("list-variants")
def list_variants(rng: np.random.Generator, simulations: int, engine: Sender) -> Iterator[Figure]:
    """Ceiling, floor, a direct question, items that depend on the answer: 95 % intervals cover 93.5 to 96.5 %.

    Of 2,000 surveys; a figure whose true rate is 95 % leaves that range with probability 2·10⁻³ (binomial, both sides),
    one of the 15 with at most 3 %.
    """
    surveys = min(simulations, 2_000)
    for name, own in zip(VARIANTS, rng.spawn(len(VARIANTS)), strict=True):
        found = simulated(engine, partial(survey_variant, name), surveys, own)
        note = f"{surveys} surveys, repaired {found.pop('repaired').mean():.1%}"
        for figure, holds in found.items():
            yield Figure("list-variants", f"{name}, {figure}", float(holds.mean()), 0.935, 0.965, note, len(holds))
