"""Rows that tell no more than a set of outputs with the true one in it: "no or maybe", rounded, partial labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NoReturn, Self

import numpy as np

from askance._arrays import ArrayLike, CodeArray, IntArray, WordArray
from askance._checks import as_list
from askance._kernels.draw import TOTAL
from askance._words import words
from askance.categories import Categories, LabelSet
from askance.channels.finite import FiniteChannel
from askance.channels.labels import Direct
from askance.channels.observation import ObservationFunction
from askance.channels.registry import build_answer_channel, labels_as_json
from askance.channels.reports import Reports
from askance.channels.table import TableChannel, empty_table
from askance.errors import IncompatibleEvidenceError, InputError, NotIdentifiedError
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally
from askance.models.protocols import FiniteModel
from askance.models.softmax import Covariates

# Sets of more outputs are named by the first and the last of them.
_NAMED_IN_FULL = 6


class CandidateSets(TableChannel):
    """S[o, y] = 1 where output y is in the set o, else 0: likelihoods up to a factor that only depends on the set.

    It stands where a channel does, so that rows, tallies and their likelihood need to know nothing of it. But it is no
    law of reports: how often each set is told of an output is not known, so that nobody is asked through it, nothing
    is unbiased, and what a report will tell on average cannot be said.

    Args:
        outputs: labels, or their number.
        sets: codes of the outputs in each set; those of a single output are always there, and come first.
    """

    kind = "candidate-sets"
    has_law = False
    device_mapping = ""

    def __init__(self, outputs: LabelSet, sets: Iterable[tuple[int, ...]] = ()) -> None:
        categories = Categories.of(outputs, name="outputs")
        alone = [(code,) for code in range(len(categories))]
        several = sorted({codes for codes in sets if len(codes) > 1}, key=lambda codes: (len(codes), codes))
        self.sets: tuple[tuple[int, ...], ...] = (*alone, *several)
        weights = empty_table(len(self.sets), len(categories))
        for row, codes in zip(weights, self.sets, strict=True):
            row[list(codes)] = TOTAL
        names = [_name([str(categories.labels[code]) for code in codes]) for codes in several]
        if len({*categories.labels, *names}) < len(self.sets):
            names = [f"{number}: {name}" for number, name in enumerate(names, 1)]
        super().__init__(weights, categories, Categories([*categories.labels, *names], name="sets"))

    @property
    def are_outputs(self) -> bool:
        """Whether every set is a single output."""
        return len(self.sets) == len(self.outputs)

    def joined(self, sets: Iterable[tuple[int, ...]]) -> CandidateSets:
        """With further sets."""
        return CandidateSets(self.outputs, {*self.sets, *sets}).for_purpose(self.purpose)

    def places(self, sets: Iterable[tuple[int, ...]]) -> IntArray:
        """Where the sets stand among those of this channel, shape (their number,)."""
        place_of = {codes: place for place, codes in enumerate(self.sets)}
        return np.array([place_of[codes] for codes in sets], dtype=np.int64)

    def parameters(self) -> dict[str, Any]:
        """Labels of the outputs, and of those in every set of several."""
        labels = self.outputs.labels
        several = [[labels[code] for code in codes] for codes in self.sets if len(codes) > 1]
        return {"outputs": labels_as_json(self.outputs), "sets": several}

    def extreme_weights(self) -> tuple[IntArray, IntArray]:
        """0 and 1 for every set: however often it is told, it may be."""
        return np.full(len(self.sets), TOTAL, dtype=np.int64), np.zeros(len(self.sets), dtype=np.int64)

    def observation_function(self, model: FiniteModel, frequencies: Any = None) -> ObservationFunction:
        """Refused, unless every set is a single output."""
        if self.are_outputs:
            return super().observation_function(model, frequencies)
        raise NotIdentifiedError(
            "candidate sets have no unbiased indicators of the outputs: how often each set is told of an output is not "
            "known.",
            remedy=words("Use {method=marginal}, which need not know it."),
        )

    def _draw(self, truth: CodeArray, words: WordArray, out: CodeArray, *, compiled: bool) -> NoReturn:
        raise self._no_law()

    def _draw_one(self, truth: int, number: np.int64) -> NoReturn:
        raise self._no_law()

    def _no_law(self) -> InputError:
        return InputError(
            "candidate sets say what was told, not how often each set is told.",
            remedy="Ask through a channel, such as Coarsened(groups), which tells the group of an output.",
        )


class Candidates(Responses[CandidateSets]):
    """Evidence of which every row tells a set of outputs that contains the true one, with covariates or without.

    P(set | y) = 1[y in set] up to a factor that does not depend on y: how coarse an answer is may depend on x and on
    the set, but not on which of its outputs is the true one ("coarsened at random"). Somebody who says "no or maybe"
    *because* the truth is "maybe" breaks this, and the data alone do not show it.

    The marginal likelihood follows, and its observed information; how often each set is told does not. So there is no
    unbiased β and no expected information: moments are refused, unless every set is a single output, which is `Direct`;
    covariances are observed or robust. Beside parts with an unbiased β (see `Together`), moments leave sets out, and
    one-step has its start from the other parts, and the information of sets from their scores.

    Args:
        outputs: labels, or their number.

    >>> from askance import Softmax, estimate
    >>> x = np.column_stack([np.ones(600), np.arange(600) // 6 % 2])
    >>> told = ["no", ["no", "maybe"], "maybe", ["maybe", "yes"], "yes", ["no", "maybe", "yes"]] * 100
    >>> evidence = Candidates(["no", "maybe", "yes"]).add(x, told)
    >>> fit = estimate(Softmax(["no", "maybe", "yes"], ["Intercept", "odd"]), evidence, "marginal")
    >>> fit.covariance_kind, fit.n_observations
    ('observed', 600)
    """

    def __init__(self, outputs: LabelSet) -> None:
        super().__init__(CandidateSets(outputs))
        #: Whether rows came with covariates.
        self.has_covariates = True

    def add(
        self,
        x: Covariates | None,
        sets: Any,
        *,
        weights: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        arm: ArrayLike | None = None,
    ) -> Self:
        """This evidence and more rows.

        Args:
            x: covariates, shape (n, p); None without any, for models without covariates.
            sets: for each of n rows the labels that are possible, such as ["no", "maybe"], or the only one, "no".
            weights: sampling weights, positive, shape (n,).
            clusters: labels of groups of respondents who may depend on each other, shape (n,).
            arm: refused: all rows are sets.
        """
        if self.chunks and self.has_covariates is (x is None):
            raise IncompatibleEvidenceError(
                "some rows have covariates and some have not.", remedy="Give x for all rows, or None for all."
            )
        if x is None and not (weights is None and clusters is None):
            raise InputError(
                "there are weights or clusters and no covariates.",
                remedy='Give x as a column of ones, with the model Softmax(outputs, ["Intercept"]).',
            )
        rows = self._read(as_list(sets, "sets", '["no", ["no", "maybe"]], the labels that are possible of each row'))
        wider = self._onto(self.channel.joined(set(rows)))
        codes = Reports(wider.channel, {"answer": wider.channel.places(rows)})
        covariates = np.ones((len(rows), 1)) if x is None else x
        whole = super(Candidates, wider).add(covariates, codes, weights=weights, clusters=clusters, arm=arm)
        whole.has_covariates = x is not None
        return whole

    def merge(self, other: Responses[Any]) -> Self:
        """The evidence of both; refused where one has covariates and the other has not."""
        if not isinstance(other, Candidates) or other.channel.outputs != self.channel.outputs:
            return super().merge(other)  # which says why not
        if self.chunks and other.chunks and self.has_covariates != other.has_covariates:
            raise IncompatibleEvidenceError(
                "some rows have covariates and some have not.", remedy="Keep them apart: they need other models."
            )
        channel = self.channel.joined(other.channel.sets)
        both = super(Candidates, self._onto(channel)).merge(other._onto(channel.for_purpose(other.channel.purpose)))
        both.has_covariates = self.has_covariates if self.chunks else other.has_covariates
        return both

    @property
    def whole(self) -> Responses[Any] | Tally[Any]:
        """What estimators take: rows, or without covariates their tally; `Direct` where all sets are single outputs."""
        channel: FiniteChannel = self.channel
        if self.channel.are_outputs:
            channel = Direct(channel.outputs).for_purpose(channel.purpose)
        if self.has_covariates:
            return Responses(channel, [chunk.through(channel) for chunk in self.chunks], self.terms)
        return Tally(channel, self.sums)

    def _onto(self, channel: CandidateSets) -> Self:
        """The same rows, their sets found among those of a channel that has them all."""
        places = channel.places(self.channel.sets)
        chunks = [replace(chunk, reports=places[chunk.codes], channel=channel) for chunk in self.chunks]
        other = self._with(chunks, self.terms)
        other.arms = dict.fromkeys(self.arms, channel)
        return other

    def _read(self, rows: list[Any]) -> list[tuple[int, ...]]:
        """The codes of the outputs in every set, in order."""
        outputs, result = self.channel.outputs, []
        known: dict[str, tuple[int, ...]] = {}  # looking labels up takes longer than to see that they are the same
        for place, row in enumerate(rows):
            several = isinstance(row, (list, tuple, set, frozenset, np.ndarray))
            labels = (row.tolist() if isinstance(row, np.ndarray) else list(row)) if several else [row]
            if not labels:
                raise InputError(
                    argument=f"sets[{place}]",
                    got="empty",
                    allowed="at least one output",
                    remedy="Give all outputs where nothing was told, or leave the row out.",
                )
            key = repr(labels)
            if key not in known:
                codes = outputs.encode(np.array(labels, dtype=object), f"sets[{place}]")
                known[key] = tuple(sorted({int(code) for code in codes}))
            result.append(known[key])
        return result

    def __repr__(self) -> str:
        several = len(self.channel.sets) - len(self.channel.outputs)
        return f"Candidates({self.n_observations} rows, {several} sets of {self.channel.outputs.shown()})"


def _name(labels: list[str]) -> str:
    """A set in a few words."""
    if len(labels) <= _NAMED_IN_FULL:
        return " or ".join(labels)
    return f"{labels[0]} or … or {labels[-1]} ({len(labels)} outputs)"


def seen_through(specification: Mapping[str, Any]) -> FiniteChannel:
    """How answers were seen, from what a fit says of it: a channel, or candidate sets."""
    if specification.get("kind") != CandidateSets.kind:
        return build_answer_channel(specification)
    outputs = Categories.of(specification["outputs"], name="outputs")
    sets = [tuple(sorted(outputs.encode(labels, "sets").tolist())) for labels in specification["sets"]]
    return CandidateSets(outputs, sets).for_purpose(specification.get("purpose", ""))
