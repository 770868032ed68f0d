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
from askance._words import words
from askance.categories import Categories, Label, LabelSet
from askance.channels.armed_design import TRAIT, ArmedDesign
from askance.channels.matrix import MatrixChannel
from askance.channels.registry import CHANCES, NAMES, PROBABILITY, Parameter, register
from askance.channels.survey_designs import NO_YES
from askance.errors import InputError
from askance.models.hidden import BETWEEN, Factor, HiddenVariables

#: The parameter of designs with groups that are numbered unless they have names.
_GROUPS = Parameter("groups", NAMES, "names of the groups in the column of arms (default: 1, 2, …)", default=None)


class HiddenDesign(ArmedDesign):
    """Groups with a known table each, about a trait and nuisances.

    Args:
        nuisances: labels of every hidden variable beside the trait.
        tables: of every group, P(second report | trait, nuisances) as a function of their codes.
        outputs: labels of the trait.
        observations: labels of the reports.
        parameters: what the design was built from.

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
        **parameters: Any,
    ) -> None:
        self._given = {**parameters, "groups": list(tables)}
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


@register(
    family="groups",
    summary="answer the sensitive question, or another one whose prevalence nobody knows",
    use="no unrelated trait has a known prevalence, and two groups can have other chances of the question",
    parameters=[Parameter("question", CHANCES, "probability of getting the sensitive question, by group"), _GROUPS],
    examples=[{"question": ["4/5", "3/10"]}, {"question": [0.7, 0.4], "groups": ["a", "b"]}],
)
class UnrelatedQuestionUnknown(HiddenDesign):
    """The sensitive question with probability p, else another one; how many say yes to that one is not known.

    P(yes) = p π + (1 − p) ω, with ω the share of yes to the other question.

    Args:
        question: p of every group: at least two, different.
        groups: names of the groups; default: 1, 2, …

    >>> design = UnrelatedQuestionUnknown(["4/5", "3/10"])
    >>> design.arms[1].outputs.labels  # trait & answer to the other question
    ('no & no', 'no & yes', 'yes & no', 'yes & yes')
    >>> design.arms[1].matrix[1]  # who says yes
    array([0. , 0.2, 0.8, 1. ])
    """

    kind = "unrelated-question-unknown"

    def __init__(self, question: Sequence[Number], groups: Sequence[Label] | None = None) -> None:
        chances = _chances(groups, question=question)
        tables = {group: _other_question(p) for group, (p,) in chances.items()}
        super().__init__({"other": NO_YES}, tables, question=_texts(chances))

    @property
    def law(self) -> str:
        """What is assumed, in words."""
        return "assumed: a yes to the other question is as common whatever the trait, the covariates and the group"


@register(
    family="groups",
    summary="who has the trait answers freely; others say the truth or yes, as the device tells",
    use="some who have the trait are thought to deny it, and the share of those who admit it is wanted too",
    parameters=[Parameter("truth", CHANCES, "probability that who lacks the trait says so, by group"), _GROUPS],
    examples=[{"truth": ["1/5", "4/5"]}, {"truth": [0.3, 0.9], "groups": ["a", "b"]}],
)
class StochasticLieDetector(HiddenDesign):
    """Carriers answer as they like, others say the truth with probability p and else yes (Moshagen et al. 2012).

    P(yes) = π t + (1 − π)(1 − p), with t the share of carriers who say so.

    Args:
        truth: p of every group: at least two, different.
        groups: names of the groups; default: 1, 2, …

    >>> design = StochasticLieDetector(["1/5", "4/5"])
    >>> design.arms[1].outputs.labels  # trait & whether its carriers are honest
    ('no & no', 'no & yes', 'yes & no', 'yes & yes')
    >>> design.arms[1].matrix[1]  # who says yes
    array([0.8, 0.8, 0. , 1. ])
    """

    kind = "stochastic-lie-detector"

    def __init__(self, truth: Sequence[Number], groups: Sequence[Label] | None = None) -> None:
        chances = _chances(groups, truth=truth)
        tables = {group: _lie_detector(p) for group, (p,) in chances.items()}
        super().__init__({"honest": NO_YES}, tables, truth=_texts(chances))

    @property
    def law(self) -> str:
        """What is assumed, in words."""
        return (
            "assumed: everybody with the trait admits it with the same probability, whatever the covariates and the "
            "group, and all others do as they are told"
        )


@register(
    family="groups",
    summary="told to say yes, or (symmetric) no, or to tell the truth; some say no whatever they are told",
    use="some are thought to say no against the instruction, and their share is wanted too",
    parameters=[
        Parameter("yes", CHANCES, "probability of being told to say yes, by group"),
        Parameter("no", CHANCES, "probability of being told to say no, by group (default: nobody is)", default=None),
        _GROUPS,
    ],
    examples=[{"yes": ["1/5", "7/10"]}, {"yes": ["1/5", "1/2"], "no": ["1/10", "3/10"], "groups": ["a", "b"]}],
)
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

    >>> design = CheatingDetection(["1/5", "7/10"])
    >>> design.arms[1].outputs.labels  # trait & cheating
    ('no & no', 'no & yes', 'yes & no', 'yes & yes')
    >>> design.arms[1].matrix[1]  # who says yes
    array([0.2, 0. , 1. , 0. ])
    """

    kind = "cheating-detection"

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
        parameters = {"yes": _texts(chances), **({} if no is None else {"no": _texts(chances, 1)})}
        super().__init__({"cheats": NO_YES}, tables, **parameters)

    @property
    def law(self) -> str:
        """What is assumed, in words."""
        return (
            "assumed: everybody cheats with the same probability, whatever the covariates and the group; nothing is "
            "learned of the trait of those who cheat, which is taken to be as common among them as among others"
        )


@register(
    family="groups",
    summary="crosswise beside a control question that nobody answers with yes, and an anchor that a known share does",
    use="some are thought to answer the crosswise question at random, or to hide a yes; one person may be asked all",
    parameters=[
        Parameter("prevalence", PROBABILITY, "probability of a yes to the innocuous question"),
        Parameter("control", PROBABILITY, "the probability beside the control (default: the same)", default=None),
        Parameter("anchor", PROBABILITY, "the probability beside the anchor (default: the same)", default=None),
        Parameter("known", PROBABILITY, "share of yes to the anchor (default: there is no anchor)", default=None),
        Parameter("guess", PROBABILITY, 'probability that who answers at random says "same"', default="1/2"),
        Parameter("groups", NAMES, "names of question, control and anchor in the column of arms", default=None),
    ],
    examples=[
        {"prevalence": "1/6", "control": "1/4"},
        {"prevalence": "1/4", "anchor": "1/6", "known": "4/5", "guess": "2/5", "groups": ["q", "c", "a"]},
    ],
)
class CrosswiseControl(HiddenDesign):
    """The crosswise design beside a control question that nobody can answer with yes: it shows who answers at random.

    Those who do say "same" with probability g, to all questions. Who hides a yes, and reports as if it were a no, needs
    an anchor: a question that everybody, or a known share κ, answers with yes. With r at random and f hiding a yes,

        control   P(same) = r g + (1 − r)(1 − q)
        anchor    P(same) = r g + (1 − r)(1 − a + κ (1 − f)(2a − 1))
        question  P(same) = r g + (1 − r)(1 − p + π (1 − f)(2p − 1))

    so that the control tells r, the anchor f and the question π. Where one person answers several of these questions,
    every answer is a row, and `cluster` names the column of persons.

    Args:
        prevalence: p, of the innocuous question that goes with the sensitive one.
        control: q, of the innocuous question that goes with the control question; default: p.
        anchor: a, of the innocuous question that goes with the anchor; default: p.
        known: κ, the share of yes to the anchor; default: there is no anchor, and nobody hides a yes.
        guess: g, P("same") of who answers at random; default: 1/2.
        groups: names of the questions in the column of arms; default: question, control and, if there is one, anchor.

    >>> design = CrosswiseControl("1/6", known=1)
    >>> list(design.arms), list(design.nuisances)
    (['question', 'control', 'anchor'], ['random', 'hides'])
    """

    kind = "crosswise-control"

    def __init__(
        self,
        prevalence: Number,
        control: Number | None = None,
        *,
        anchor: Number | None = None,
        known: Number | None = None,
        guess: Number = Fraction(1, 2),
        groups: Sequence[Label] | None = None,
    ) -> None:
        chances = {"prevalence": prevalence, "control": control, "anchor": anchor, "known": known, "guess": guess}
        read = {name: as_probability(p, name) for name, p in chances.items() if p is not None}
        if ("anchor" in read or "known" in read) and not read.get("known"):
            raise InputError(
                words("an anchor tells nothing unless a known share says yes to it; allowed: {known} above 0."),
                remedy=words("Give {known=…}, 1 if everybody does, or leave {anchor} out."),
            )
        p, rate, yes = read["prevalence"], read["guess"], read.get("known")
        shares = {"question": p, "control": read.get("control", p), "anchor": read.get("anchor", p)}
        names = [name for name in shares if name != "anchor" or yes is not None]
        tables = {
            group: _crosswise(name, shares[name], rate, yes)
            for group, name in zip(group_names(names if groups is None else groups, len(names)), names, strict=True)
        }
        nuisances = {"random": NO_YES, **({} if yes is None else {"hides": NO_YES})}
        parameters = {name: str(chance) for name, chance in read.items()}
        super().__init__(nuisances, tables, observations=("different", "same"), **parameters)

    @property
    def law(self) -> str:
        """What is assumed, in words."""
        hides = ", and hides a yes with the same probability" if "hides" in self.nuisances else ""
        return (
            f"assumed: everybody answers at random with the same probability{hides}, whatever the trait, the "
            f'covariates and the question; who answers at random says "same" with probability {self._given["guess"]}'
        )


def _crosswise(question: str, share: Fraction, guess: Fraction, known: Fraction | None) -> Callable[..., Fraction]:
    """P(same) for a trait, whether one answers at random and whether one hides a yes."""

    def same(trait: int, random: int, hides: int = 0) -> Fraction:
        yes = {"question": Fraction(trait), "control": Fraction(0), "anchor": known or Fraction(0)}[question]
        return guess if random else 1 - share + yes * (1 - hides) * (2 * share - 1)

    return same


def _texts(chances: Mapping[Label, tuple[Fraction, ...]], place: int = 0) -> list[str]:
    """One probability of every group, as it is written down."""
    return [str(row[place]) for row in chances.values()]


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
