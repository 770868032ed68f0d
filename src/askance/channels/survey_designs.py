"""Designs of sensitive questions, by the names survey researchers know. All ask about one yes/no answer.

Every design is its matrix S (rows: what is reported, columns: the truth, "no" before "yes").
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

from askance._checks import SUM_TOLERANCE, Number, as_count, as_probability
from askance._words import words
from askance.categories import Categories, Label, LabelSet
from askance.channels.matrix import MatrixChannel
from askance.channels.registry import COUNT, LABELS, PROBABILITY, Parameter, register
from askance.errors import InputError, ProbabilityError

_OUTPUTS = Parameter("outputs", LABELS, "labels of the answers no and yes", default=["no", "yes"])
NO_YES: tuple[Label, Label] = ("no", "yes")
_NO, _YES = {"no", "0", "false", "n"}, {"yes", "1", "true", "y"}


class _YesNoDesign(MatrixChannel):
    """A design whose S is [[1 − a, 1 − b], [a, b]]: a = P(second report | no), b = P(second report | yes)."""

    def __init__(
        self, a: Fraction, b: Fraction, outputs: LabelSet, observations: LabelSet | None, **probabilities: Fraction
    ) -> None:
        categories = _pair(outputs)
        if a == b:
            raise ProbabilityError(
                words(
                    f"with {', '.join(f'{{{name}}} = {p}' for name, p in probabilities.items())} a report is equally "
                    "likely whatever the truth: the design carries no information."
                ),
                remedy="Change the probabilities so that yes and no are reported differently.",
            )
        super().__init__(
            [[1 - a, 1 - b], [a, b]],
            outputs=categories,
            observations=categories if observations is None else observations,
        )
        self._given = probabilities

    def _described(self) -> dict[str, Any]:
        return {name: str(value) for name, value in self._given.items()}


@register(
    summary="with a known probability the question is asked, otherwise its opposite (mirrored question)",
    use="the design must be easy to explain, and a device with a probability other than 1/2 is at hand",
    parameters=[Parameter("question", PROBABILITY, "probability of getting the sensitive question"), _OUTPUTS],
    examples=[{"question": "2/3"}, {"question": 0.2, "outputs": 2}],
)
class Warner(_YesNoDesign):
    """Warner's (mirrored question) design: the statement with probability p, its negation with 1 − p.

    P(yes | truth yes) = p, P(yes | truth no) = 1 − p.

    Args:
        question: p, such as 0.75 or "3/4"; anything but 1/2.
        outputs: labels of the answers no and yes, in this order.

    >>> Warner(question=0.75).matrix
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    kind = "warner"

    def __init__(self, question: Number, *, outputs: LabelSet = NO_YES) -> None:
        p = as_probability(question, "question")
        super().__init__(1 - p, p, outputs, None, question=p)


@register(
    summary="answer truthfully, or say yes, or say no, as the device tells",
    use="respondents have a die: the usual choice in the field, and the truth is told most of the time",
    parameters=[
        Parameter("truth", PROBABILITY, "probability of being told to answer truthfully"),
        Parameter("yes", PROBABILITY, "probability of being told to say yes"),
        Parameter("no", PROBABILITY, "probability of being told to say no (default: what remains)", default=None),
        _OUTPUTS,
    ],
    examples=[{"truth": "2/3", "yes": "1/6"}, {"truth": 0.5, "yes": 0.4, "no": 0.1}],
)
class ForcedResponse(_YesNoDesign):
    """Forced response: the truth with probability t, a forced yes with f₁, a forced no with f₀; t + f₁ + f₀ = 1.

    P(yes | truth yes) = t + f₁, P(yes | truth no) = f₁.

    Args:
        truth: t, the probability of being told to answer truthfully, such as 0.75 or "3/4"; above 0.
        yes: f₁, the probability of being told to say yes.
        no: f₀, the probability of being told to say no; default: what remains.
        outputs: labels of the answers no and yes, in this order.

    >>> ForcedResponse("2/3", "1/6").matrix.round(4)
    array([[0.8333, 0.1667],
           [0.1667, 0.8333]])
    """

    kind = "forced-response"

    def __init__(self, truth: Number, yes: Number, no: Number | None = None, *, outputs: LabelSet = NO_YES) -> None:
        t, forced_yes = as_probability(truth, "truth"), as_probability(yes, "yes")
        forced_no = 1 - t - forced_yes if no is None else as_probability(no, "no")
        total = t + forced_yes + forced_no
        if forced_no < -SUM_TOLERANCE or abs(total - 1) > SUM_TOLERANCE:
            raise ProbabilityError(
                words(
                    "the probabilities are {truth} = {0}, {yes} = {1}, {no} = {2}; allowed: 0 or more each, 1 in all.",
                    *(t, forced_yes, forced_no),
                ),
                remedy="Leave the probability of a forced no out to have it computed, or correct the three.",
            )
        t, forced_yes, forced_no = t / total, forced_yes / total, max(forced_no / total, Fraction(0))
        super().__init__(forced_yes, t + forced_yes, outputs, None, truth=t, yes=forced_yes, no=forced_no)


@register(
    summary="answer the sensitive question, or an unrelated one whose prevalence is known",
    use="respondents would not accept a forced answer, and the prevalence of some unrelated trait is really known",
    parameters=[
        Parameter("question", PROBABILITY, "probability of getting the sensitive question"),
        Parameter("prevalence", PROBABILITY, "probability of a yes to the unrelated question"),
        _OUTPUTS,
    ],
    examples=[{"question": "3/4", "prevalence": "1/4"}, {"question": 0.6, "prevalence": 0.5}],
)
class UnrelatedQuestion(_YesNoDesign):
    """Unrelated question with known prevalence: P(yes | truth y) = p y + (1 − p) π.

    Args:
        question: p, the probability of getting the sensitive question, such as 0.75 or "3/4"; above 0.
        prevalence: π, the probability of a yes to the unrelated question.
        outputs: labels of the answers no and yes, in this order.

    >>> UnrelatedQuestion(question=0.75, prevalence=0.25).matrix
    array([[0.9375, 0.1875],
           [0.0625, 0.8125]])
    """

    kind = "unrelated-question"

    def __init__(self, question: Number, prevalence: Number, *, outputs: LabelSet = NO_YES) -> None:
        p, pi = as_probability(question, "question"), as_probability(prevalence, "prevalence")
        super().__init__((1 - p) * pi, p + (1 - p) * pi, outputs, None, question=p, prevalence=pi)


@register(
    summary="say whether the answers to the sensitive and an innocuous question are the same",
    use="there is no device: a birthday or a phone number serves, if its prevalence is known and is not 1/2",
    parameters=[
        Parameter("prevalence", PROBABILITY, "probability of a yes to the innocuous question"),
        _OUTPUTS,
        Parameter("observations", LABELS, "labels of the reports", default=["different", "same"]),
    ],
    examples=[{"prevalence": "1/6"}, {"prevalence": 0.25, "observations": ["B", "A"]}],
)
class Crosswise(_YesNoDesign):
    """Crosswise: report whether both answers agree. P(same | truth yes) = π, P(same | truth no) = 1 − π.

    Args:
        prevalence: π, the probability of a yes to the innocuous question, such as 0.25 or "1/4"; anything but 1/2.
        outputs: labels of the answers no and yes, in this order.
        observations: labels of the reports, the one for different answers first.

    >>> Crosswise(prevalence=0.25).observations.labels
    ('different', 'same')
    """

    kind = "crosswise"

    def __init__(
        self,
        prevalence: Number,
        *,
        outputs: LabelSet = NO_YES,
        observations: LabelSet = ("different", "same"),
    ) -> None:
        pi = as_probability(prevalence, "prevalence")
        super().__init__(1 - pi, pi, outputs, observations, prevalence=pi)


@register(
    summary="draw a card from the stack of one's answer and report its colour",
    use="nobody should have to say yes or no aloud",
    parameters=[
        Parameter("red_if_yes", PROBABILITY, "share of red cards in the stack for yes"),
        Parameter("red_if_no", PROBABILITY, "share of red cards in the stack for no (default: mirrored)", default=None),
        _OUTPUTS,
        Parameter("observations", LABELS, "labels of the reports", default=["black", "red"]),
    ],
    examples=[{"red_if_yes": 0.8}, {"red_if_yes": "3/4", "red_if_no": "1/2"}],
)
class DisguisedResponse(_YesNoDesign):
    """Disguised response: P(red | truth yes) = p, P(red | truth no) = 1 − p, or any second share.

    Args:
        red_if_yes: p, the share of red cards in the stack for yes, such as 0.8 or "4/5".
        red_if_no: the share of red cards in the stack for no, another one; default: 1 − p.
        outputs: labels of the answers no and yes, in this order.
        observations: labels of the reports, the one for a black card first.

    >>> DisguisedResponse(red_if_yes=0.8).matrix
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """

    kind = "disguised-response"

    def __init__(
        self,
        red_if_yes: Number,
        red_if_no: Number | None = None,
        *,
        outputs: LabelSet = NO_YES,
        observations: LabelSet = ("black", "red"),
    ) -> None:
        yes = as_probability(red_if_yes, "red_if_yes")
        no = 1 - yes if red_if_no is None else as_probability(red_if_no, "red_if_no")
        super().__init__(no, yes, outputs, observations, red_if_yes=yes, red_if_no=no)


@register(
    summary="draw cards from the stack of one's answer, and report how many were red",
    use="one card tells too little: every further draw lowers the error, and raises the level by as much again",
    parameters=[
        Parameter("red_if_yes", PROBABILITY, "share of red cards in the stack for yes"),
        Parameter("red_if_no", PROBABILITY, "share of red cards in the stack for no (default: mirrored)", default=None),
        Parameter("draws", COUNT, "how many cards are drawn, each put back", default=1),
        _OUTPUTS,
    ],
    examples=[{"red_if_yes": "4/5", "red_if_no": "3/10", "draws": 5}, {"red_if_yes": 0.75}],
)
class Kuk(MatrixChannel):
    """Kuk's design: the number of red cards among d draws with replacement is binomial, Bin(d, p_y).

    P(k | truth y) = C(d, k) p_y^k (1 − p_y)^(d−k). With one draw it is `DisguisedResponse`, whose reports are colours.

    Args:
        red_if_yes: p₁, the share of red cards in the stack for yes, such as 0.8 or "4/5".
        red_if_no: p₀, the share of red cards in the stack for no, another one; default: 1 − p₁.
        draws: d, how many cards are drawn; each is put back.
        outputs: labels of the answers no and yes, in this order.

    >>> Kuk("3/4", "1/4", draws=2).matrix
    array([[0.5625, 0.0625],
           [0.375 , 0.375 ],
           [0.0625, 0.5625]])
    """

    kind = "kuk"

    def __init__(
        self, red_if_yes: Number, red_if_no: Number | None = None, draws: int = 1, *, outputs: LabelSet = NO_YES
    ) -> None:
        once = DisguisedResponse(red_if_yes, red_if_no, outputs=outputs)
        self._given = {**once._given, "draws": as_count(draws, "draws", minimum=1, maximum=100)}
        no, yes = once._given["red_if_no"], once._given["red_if_yes"]
        super().__init__(
            [[comb(draws, k) * p**k * (1 - p) ** (draws - k) for p in (no, yes)] for k in range(draws + 1)],
            outputs=once.outputs,
        )

    def _described(self) -> dict[str, Any]:
        return {name: value if name == "draws" else str(value) for name, value in self._given.items()}


@register(
    summary="who has the trait says yes; others say the truth or yes, as the device tells",
    use="nothing needs to be hidden of those without the trait: a no is always true, and errors are smaller for it",
    parameters=[Parameter("truth", PROBABILITY, "probability that who lacks the trait says so"), _OUTPUTS],
    examples=[{"truth": "7/10"}, {"truth": 0.5, "outputs": ["never", "ever"]}],
)
class Mangat(_YesNoDesign):
    """Mangat's design: P(yes | truth yes) = 1, P(yes | truth no) = 1 − p.

    A no tells for certain that the trait is absent: no level bounds what a report tells.

    Args:
        truth: p, the probability that who lacks the trait is told to say so, such as 0.7 or "7/10"; above 0.
        outputs: labels of the answers no and yes, in this order.

    >>> Mangat("3/4").matrix
    array([[0.75, 0.  ],
           [0.25, 1.  ]])
    """

    kind = "mangat"

    def __init__(self, truth: Number, *, outputs: LabelSet = NO_YES) -> None:
        p = as_probability(truth, "truth")
        super().__init__(1 - p, Fraction(1), outputs, None, truth=p)


@register(
    summary="say whether the answers to the sensitive and an innocuous question are both no",
    use="there is no device, and nothing needs to be hidden of those who answer no to both questions",
    parameters=[
        Parameter("prevalence", PROBABILITY, "probability of a yes to the innocuous question"),
        _OUTPUTS,
        Parameter("observations", LABELS, "labels of the reports", default=["neither", "some"]),
    ],
    examples=[{"prevalence": "1/6"}, {"prevalence": 0.5, "observations": ["A", "B"]}],
)
class Triangular(_YesNoDesign):
    """Triangular: report whether at least one answer is yes. P(some | truth yes) = 1, P(some | truth no) = π.

    "Neither" tells for certain that the trait is absent: no level bounds what a report tells.

    Args:
        prevalence: π, the probability of a yes to the innocuous question, such as 0.25 or "1/4"; below 1.
        outputs: labels of the answers no and yes, in this order.
        observations: labels of the reports, the one for two no first.

    >>> Triangular(prevalence=0.25).matrix
    array([[0.75, 0.  ],
           [0.25, 1.  ]])
    """

    kind = "triangular"

    def __init__(
        self,
        prevalence: Number,
        *,
        outputs: LabelSet = NO_YES,
        observations: LabelSet = ("neither", "some"),
    ) -> None:
        pi = as_probability(prevalence, "prevalence")
        super().__init__(pi, Fraction(1), outputs, observations, prevalence=pi)


def _pair(outputs: LabelSet) -> Categories:
    categories = Categories.of(outputs, name="outputs")
    if len(categories) != 2:
        raise InputError(
            f"has {len(categories)} answers",
            argument="outputs",
            allowed="2, since this design asks a yes/no question",
            remedy="Use randomized-response or matrix for more categories.",
        )
    first, second = (str(label).strip().lower() for label in categories.labels)
    if first in _YES and second in _NO:
        raise InputError(
            f"are {list(categories.labels)!r}: yes comes first",
            argument="outputs",
            allowed="no, then yes",
            remedy=f"Write outputs={list(reversed(categories.labels))!r}.",
        )
    return categories
