"""Classic randomized response over any number of outputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from askance._arrays import CodeArray, FloatArray, GuideArray, IntArray, WordArray
from askance._checks import Number, as_distribution, as_many, as_positive_level, as_probability, shown
from askance._kernels import draw
from askance._kernels.draw import TOTAL
from askance._words import words
from askance.categories import Categories, Label, LabelSet
from askance.channels.finite import FiniteChannel
from askance.channels.observation import ObservationFunction
from askance.channels.registry import (
    DISTRIBUTION,
    LABELS,
    LEVEL,
    PROBABILITY,
    Example,
    Parameter,
    labels_as_json,
    register,
)
from askance.channels.thresholds import apportion, largest_odds
from askance.errors import InputError, ProbabilityError
from askance.models.protocols import FiniteModel


@register(
    summary="tell the truth with a known probability, otherwise answer at random",
    use="there are few categories and nothing is known about the answers; also called k-ary randomized response",
    parameters=[
        Parameter("outputs", LABELS, "number of outputs, or their labels"),
        Parameter("reveal_probability", PROBABILITY, "probability of telling the truth", default=None),
        Parameter("privacy_level", LEVEL, "the level to spend, instead of a reveal probability", default=None),
        Parameter("base_distribution", DISTRIBUTION, "what random answers follow (default: uniform)", default=None),
    ],
    examples=[
        Example(outputs=2, reveal_probability="1/2"),
        Example(outputs=4, privacy_level=1),
        Example(outputs=["never", "once", "often"], privacy_level=3, base_distribution=["1/2", "1/4", "1/4"]),
        Example(outputs=16, reveal_probability=0.1),
    ],
)
class RandomizedResponse(FiniteChannel):
    """S(o|y) = ε 1[o = y] + (1 − ε) u(o): reveal y with probability ε (`reveal_probability`), else draw from u.

    Exact level: α = log(1 + ε / ((1 − ε) min u)). β(o) = (φ(o) − (1 − ε) E_u φ) / ε.

    Args:
        reveal_probability: ε, above 0 and at most 1.
        base_distribution: u, one probability per output (default: uniform). A base probability of 0 is allowed, but
            such an output, when seen, was certainly the truth: the level is then infinite.
        outputs: labels, or their number; may be left out when `base_distribution` says how many there are.

    >>> channel = RandomizedResponse("1/2", outputs=["no", "yes"])
    >>> channel.matrix
    array([[0.75, 0.25],
           [0.25, 0.75]])
    >>> round(channel.privacy_level, 6)  # log 3
    1.098612
    """

    kind = "randomized-response"
    device_mapping = "reveal"

    def __init__(
        self,
        reveal_probability: Number,
        base_distribution: Iterable[Number] | None = None,
        *,
        outputs: LabelSet | None = None,
    ) -> None:
        base, categories = _read_base(base_distribution, outputs)
        probability = as_probability(reveal_probability, "reveal_probability")
        self._set_thresholds(
            int(probability * TOTAL), base, categories, words("{reveal_probability} is {0}", shown(probability))
        )

    @classmethod
    def for_privacy_level(
        cls,
        privacy_level: Number,
        base_distribution: Iterable[Number] | None = None,
        *,
        outputs: LabelSet | None = None,
    ) -> Self:
        """The channel with the largest reveal probability that is exactly that private.

        ε/(1 − ε) = (e^α − 1) min u; with uniform u, ε = (e^α − 1)/(e^α − 1 + m).

        >>> RandomizedResponse.for_privacy_level(1, outputs=4).privacy_level
        1.0
        """
        base, categories = _read_base(base_distribution, outputs)
        level = as_positive_level(privacy_level)
        rarest = Fraction(1, len(categories)) if base is None else min(base)
        if rarest == 0:
            raise InputError(
                "contains a 0: an output that is never given at random betrays itself, at any reveal probability",
                argument="base_distribution",
                remedy="Give every output some probability.",
            )
        limit = largest_odds(level)
        odds = (limit - 1) * rarest
        reveal = int(odds / (1 + odds) * TOTAL)
        asked = words("{privacy_level} is {0}", shown(level))
        channel = cls.__new__(cls)
        channel._set_thresholds(reveal, base, categories, asked)
        # Rounding of the base to whole units can overshoot e^α in the last digits: take what the realised base allows.
        while (ratio := channel.largest_ratio()) is None or ratio > limit:
            reveal = min(reveal - len(categories), int((limit - 1) * int(channel._base_weights.min())))
            channel = cls.__new__(cls)
            channel._set_thresholds(reveal, base, categories, asked)
        return channel

    def _set_thresholds(self, reveal: int, base: list[Fraction] | None, categories: Categories, asked: str) -> None:
        size = len(categories)
        if base is None:
            # What does not divide evenly is taken from the truth side, so that all random answers are equally likely
            # to the last bit; less than m/2⁶² of probability moves.
            reveal -= (reveal - TOTAL) % size
        elif reveal < TOTAL:
            # Every answer that can be given at random needs a threshold of its own, again from the truth side.
            reveal = min(reveal, TOTAL - sum(p > 0 for p in base))
        if reveal <= 0:
            raise ProbabilityError(
                words(
                    "{0}: the truth would be told with a probability below {1}/2⁶², and the answers say nothing of it.",
                    *(asked, size),
                ),
                remedy="Raise it; reveal probabilities above 0.01 and levels above 0.1 are usual.",
            )
        rest = TOTAL - reveal
        weights = [rest // size] * size if base is None else apportion(base, rest) if rest else [0] * size
        self.outputs = self.observations = categories
        self._base, self._reveal_weight, self._base_weights = base, reveal, np.array(weights, dtype=np.int64)

    @property
    def reveal_probability(self) -> float:
        """ε: the probability that the truth is told."""
        return self._reveal_weight / TOTAL

    @property
    def base_distribution(self) -> FloatArray:
        """u: what a random answer follows, shape (m,)."""
        if self._reveal_weight == TOTAL:
            base = self._base or [Fraction(1, len(self.outputs))] * len(self.outputs)
            return np.array([float(probability) for probability in base])
        return np.asarray(self._base_weights / (TOTAL - self._reveal_weight))

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry, from which the same thresholds are built again."""
        written: dict[str, Any] = {"outputs": labels_as_json(self.outputs)}
        written["reveal_probability"] = str(Fraction(self._reveal_weight, TOTAL))
        if self._base is not None:
            written["base_distribution"] = [str(p) for p in self._base]
        return written

    @classmethod
    def from_parameters(
        cls,
        outputs: int | Sequence[Label],
        reveal_probability: Number | None = None,
        privacy_level: Number | None = None,
        base_distribution: Sequence[Number] | None = None,
    ) -> Self:
        """Build from the registry's parameters: exactly one of reveal_probability and privacy_level."""
        if (reveal_probability is None) == (privacy_level is None):
            values = (shown(reveal_probability), shown(privacy_level))
            both = words("{reveal_probability} is {0} and {privacy_level} is {1}", *values)
            raise InputError(
                words(
                    "{0}; allowed: exactly one of {reveal_probability} and {privacy_level}.",
                    "how often the truth is told is not said" if privacy_level is None else both,
                ),
                remedy=words("Give {reveal_probability} or {privacy_level}."),
            )
        if privacy_level is not None:
            return cls.for_privacy_level(privacy_level, base_distribution, outputs=outputs)
        assert reveal_probability is not None
        return cls(reveal_probability, base_distribution, outputs=outputs)

    # -- how S acts: truth plus a rank-one part, never a dense matrix ------------------------------------------------

    def apply(self, probabilities: FloatArray) -> FloatArray:
        """S p = ε p + (1 − ε) u Σp."""
        epsilon, base = self.reveal_probability, self._base_weights / TOTAL
        return np.asarray(epsilon * probabilities + base * probabilities.sum())

    def apply_transposed(self, values: FloatArray) -> FloatArray:
        """Sᵀ g = ε g + (1 − ε) E_u g."""
        return np.asarray(self.reveal_probability * values + (self._base_weights / TOTAL) @ values)

    @property
    def integer_weights(self) -> IntArray:
        """2⁶² S, shape (m, m)."""
        weights = np.repeat(self._base_weights[:, None], len(self.outputs), axis=1)
        np.fill_diagonal(weights, self._base_weights + self._reveal_weight)
        return weights

    def extreme_weights(self) -> tuple[IntArray, IntArray]:
        """An answer is likeliest from its own truth, and equally likely from every other."""
        return self._base_weights + self._reveal_weight, self._base_weights

    def observation_function(self, model: FiniteModel, frequencies: FloatArray | None = None) -> ObservationFunction:
        """β(o) = (φ(o) − (1 − ε) E_u φ) / ε; S is invertible, so there is no other."""
        self.require_outputs_of(model)
        shift = model.table @ (self._base_weights / TOTAL)
        return ObservationFunction((model.table - shift[:, None]) / self.reveal_probability)

    @cached_property
    def _cumulative(self) -> IntArray:
        return np.asarray(self._reveal_weight + np.cumsum(self._base_weights))[None, :]

    @cached_property
    def _reveal(self) -> IntArray:
        return np.array([self._reveal_weight])

    @cached_property
    def _guide(self) -> GuideArray:
        return draw.guide_table(self._cumulative)

    def _draw(self, truth: CodeArray, words: WordArray, out: CodeArray, *, compiled: bool) -> None:
        if compiled:
            shift = draw.guide_shift(self._guide)
            draw.draw_mixture(truth, words, self._reveal_weight, self._cumulative, self._guide, shift, out)
        else:
            out[:] = draw.draw_mixture_plain(truth, words, self._reveal_weight, self._cumulative)

    def _draw_one(self, truth: int, number: np.int64) -> int:
        # An answer is always drawn, also where it is not needed, and one of the two is taken without a branch.
        return (truth, draw.place_of(number, self._cumulative[0]))[draw.place_of(number, self._reveal)]

    def thresholds(self) -> dict[str, Any]:
        """`reveal` and `base`, a weight for every output, which together make up 2⁶²; plain JSON.

        To draw, take a number below 2⁶². Where it is below `reveal` the truth is told; otherwise take `reveal` off and
        go along `base`: the answer is the first output at which the sum of the weights so far exceeds the number.

        >>> RandomizedResponse("1/2", outputs=2).thresholds() == {"reveal": 2**61, "base": [2**60, 2**60]}
        True
        """
        return {"reveal": self._reveal_weight, "base": self._base_weights.tolist()}

    def _fingerprint_parts(self) -> tuple[IntArray, ...]:
        return np.array([self._reveal_weight]), self._base_weights


def _read_base(
    base_distribution: Iterable[Number] | None, outputs: LabelSet | None
) -> tuple[list[Fraction] | None, Categories]:
    base = None if base_distribution is None else as_distribution(base_distribution, "base_distribution")
    if outputs is None:
        if base is None:
            raise InputError("neither outputs nor base_distribution is given.", remedy="Say outputs=4, for example.")
        outputs = Categories(len(base), name="the length of base_distribution")
    categories = Categories.of(outputs, name="outputs")
    if base is not None:
        as_many(
            base, len(categories), "base_distribution", f"entries for {len(categories)} outputs", "Give one per output."
        )
    return base, categories
