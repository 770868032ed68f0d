"""Designs in which more is unknown than the answer: who cheats, who lies, who would say yes to the other question.

Such a nuisance is a hidden variable beside the trait, and every group of respondents has a *known* table
P(report | trait, nuisance). Groups with other chances make it possible to tell both; their errors are those of one fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from askance._checks import Number, as_list, as_many, as_probability, number
from askance.categories import Categories, Label, LabelSet
from askance.channels.matrix import MatrixChannel
from askance.errors import InputError
from askance.models.hidden import BETWEEN, Factor, HiddenVariables

#: The name of what a survey asks about, in models with other hidden variables.
TRAIT = "trait"
NO_YES = ("no", "yes")


class HiddenDesign:
    """Groups with a known table each, about a trait and nuisances.

    Args:
        nuisances: labels of every hidden variable beside the trait.
        tables: of every group, P(second report | trait, nuisances) as a function of their codes.
        outputs: labels of the trait.
        observations: labels of the reports.

    >>> design = UnrelatedQuestionUnknown(["4/5", "3/10"])
    >>> {group: channel.matrix[1].tolist() for group, channel in design.arms.items()}
    {1: [0.0, 0.2, 0.8, 1.0], 2: [0.0, 0.7, 0.3, 1.0]}
    >>> design.model(["Intercept", "age"]).parameter_names
    ('trait:Intercept', 'trait:age', 'other:Intercept')
    """

    def __init__(
        self,
        nuisances: Mapping[str, LabelSet],
        tables: Mapping[Label, Callable[..., Fraction]],
        outputs: LabelSet = NO_YES,
        observations: LabelSet = NO_YES,
    ) -> None:
        self.outputs = Categories.of(outputs, name="outputs")
        self.nuisances = {name: Categories.of(labels, name=name) for name, labels in nuisances.items()}
        sizes = [len(self.outputs), *map(len, self.nuisances.values())]
        combinations = list(product(*map(range, sizes)))
        labels = self.model(["Intercept"]).outputs
        self.arms: dict[Label, MatrixChannel] = {}
        for group, table in tables.items():
            yes = [Fraction(table(*codes)) for codes in combinations]
            self.arms[group] = MatrixChannel([[1 - p for p in yes], yes], outputs=labels, observations=observations)

    def model(self, terms: Sequence[str], nuisance_terms: Sequence[str] = ("Intercept",)) -> HiddenVariables:
        """The trait given covariates, and nuisances that do not depend on it, nor on more than `nuisance_terms`."""
        others = [Factor(name, labels, nuisance_terms) for name, labels in self.nuisances.items()]
        return HiddenVariables([Factor(TRAIT, self.outputs, terms), *others])

    def combinations(self, trait: Iterable[Any], *nuisances: Iterable[Any]) -> list[str]:
        """Labels of combinations, of traits and nuisances side by side: for simulations."""
        return [BETWEEN.join(map(str, row)) for row in zip(trait, *nuisances, strict=True)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(groups {', '.join(map(str, self.arms))})"


class UnrelatedQuestionUnknown(HiddenDesign):
    """The sensitive question with probability p, else another one; how many say yes to that one is not known.

    P(yes) = p π + (1 − p) ω, with ω the share of yes to the other question.

    Args:
        question: p of every group: at least two, different.
        groups: names of the groups; default: 1, 2, …
    """

    def __init__(self, question: Sequence[Number], groups: Sequence[Label] | None = None) -> None:
        chances = _chances(groups, question=question)
        tables = {group: _other_question(p) for group, (p,) in chances.items()}
        super().__init__({"other": NO_YES}, tables)


class StochasticLieDetector(HiddenDesign):
    """Carriers answer as they like, others say the truth with probability p and else yes (Moshagen et al. 2012).

    P(yes) = π t + (1 − π)(1 − p), with t the share of carriers who say so.

    Args:
        truth: p of every group: at least two, different.
        groups: names of the groups; default: 1, 2, …
    """

    def __init__(self, truth: Sequence[Number], groups: Sequence[Label] | None = None) -> None:
        chances = _chances(groups, truth=truth)
        super().__init__({"honest": NO_YES}, {group: _lie_detector(p) for group, (p,) in chances.items()})


class CheatingDetection(HiddenDesign):
    """Told to say yes with probability p, else to tell the truth; cheaters say no whatever they are told (CDM).

    P(yes) = (1 − γ)(τ + (1 − τ) p): γ cheat, and τ of those who do not have the trait. What the literature calls π and
    β are (1 − γ) τ and (1 − γ)(1 − τ), the combinations "yes & no" and "no & no" of trait and cheating; nothing is
    learned of the trait of cheaters. The symmetric design has a probability p₀ of being told to say no too:
    P(yes) = (1 − γ)(τ (1 − p₀) + (1 − τ) p).

    Args:
        yes: p of every group: at least two groups, with other chances.
        no: p₀ of every group; default: 0.
        groups: names of the groups; default: 1, 2, …
    """

    def __init__(
        self, yes: Sequence[Number], no: Sequence[Number] | None = None, groups: Sequence[Label] | None = None
    ) -> None:
        chances = _chances(groups, yes=yes, **({} if no is None else {"no": no}))
        for p, *rest in chances.values():
            if p + sum(rest) >= 1:
                raise InputError(
                    f"yes = {p} and no = {sum(rest)} leave no room for the truth; allowed: below 1 together.",
                    remedy="Correct the probabilities of this group.",
                )
        tables = {group: _cheating(p, sum(rest, Fraction(0))) for group, (p, *rest) in chances.items()}
        super().__init__({"cheats": NO_YES}, tables)


class CrosswiseControl(HiddenDesign):
    """The crosswise design beside a control question that nobody can answer with yes: it shows who answers at random.

    Those who do say "same" with probability `guess`, to both questions. False answers of another kind need an anchor:
    a question that everybody, or a known share, answers with yes.

    Args:
        prevalence: of the innocuous question that goes with the sensitive one.
        control: of the innocuous question that goes with the control question; default: the same.
        guess: P("same") of who answers at random; default: 1/2.
        groups: names of the sensitive and the control question in the column of arms.
    """

    def __init__(
        self,
        prevalence: Number,
        control: Number | None = None,
        *,
        guess: Number = Fraction(1, 2),
        groups: Sequence[Label] = ("question", "control"),
    ) -> None:
        p = as_probability(prevalence, "prevalence")
        q = p if control is None else as_probability(control, "control")
        rate = as_probability(guess, "guess")
        question, about = group_names(groups, 2)

        def same(trait: int, share: Fraction) -> Fraction:
            return share if trait else 1 - share

        tables = {
            question: lambda trait, random: rate if random else same(trait, p),
            about: lambda _, random: rate if random else same(0, q),
        }
        super().__init__({"random": NO_YES}, tables, observations=("different", "same"))


def _other_question(p: Fraction) -> Callable[..., Fraction]:
    return lambda trait, other: p * trait + (1 - p) * other


def _lie_detector(p: Fraction) -> Callable[..., Fraction]:
    return lambda trait, honest: Fraction(honest) if trait else 1 - p


def _cheating(p: Fraction, forced_no: Fraction) -> Callable[..., Fraction]:
    return lambda trait, cheats: Fraction(0) if cheats else 1 - forced_no if trait else p


def _chances(groups: Sequence[Label] | None, **parameters: Sequence[Number]) -> dict[Label, tuple[Fraction, ...]]:
    """The probabilities of every group; refuses fewer than two different groups, and other numbers of names."""
    lists = {}
    for name, chances in parameters.items():
        values = as_list(chances, name, '["1/5", "4/5"], one of every group')
        lists[name] = [as_probability(p, f"{name}[{i}]") for i, p in enumerate(values)]
    first, *others = lists
    for name in others:
        count = len(lists[first])
        as_many(lists[name], count, name, f"probabilities for {count} groups", "Give one per group.")
    rows = list(zip(*lists.values(), strict=True))
    number(len(set(rows)), "the number of groups with other chances", 2, 100, remedy="Give groups other chances.")
    names = range(1, len(rows) + 1) if groups is None else group_names(groups, len(rows))
    return dict(zip(names, rows, strict=True))


def group_names(groups: Sequence[Label], count: int) -> list[Label]:
    """So many names of groups, all different."""
    names: list[Label] = list(Categories(as_list(groups, "groups", '["a", "b"]'), minimum=1, name="groups").labels)
    as_many(names, count, "groups", f"names for {count} groups", "Name every group once, as the column of arms does.")
    return names
