"""What all channels over finitely many outputs and observations share."""

from __future__ import annotations

import hashlib
import json
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from askance._arrays import AnyArray, ArrayLike, CodeArray, FloatArray, IntArray, WordArray
from askance._checks import as_column, instance, require_generator, shown
from askance._kernels.compiler import COMPILED_PAYS_FROM
from askance._kernels.draw import TOTAL
from askance.categories import Categories, Label
from askance.channels.described import Described
from askance.channels.even_time import in_even_time
from askance.channels.observation import ObservationFunction, solve_observation_function
from askance.channels.randomness import LONGEST_DRAW, WordSource, secure_number, secure_words, seeded_words
from askance.channels.registry import labels_as_json
from askance.channels.reports import Column, Reports, impossible_report, require_reports
from askance.channels.sum_law import CountLaw, SumLaw
from askance.channels.thresholds import log_rounded_up
from askance.channels.words import Words
from askance.errors import IncompatibleEvidenceError, InputError
from askance.models.protocols import FiniteModel

# Pieces of this many reports stay in the processor's cache while they are converted and counted.
_PIECE = 1 << 15


class FiniteChannel(Described):
    """S(o | y) over finite outputs y and observations o, with S[o, y] = `integer_weights[o, y]` / 2⁶² exactly.

    A subclass says how S acts (`apply`, `apply_transposed`), what its integer weights are, and how one chunk is drawn.
    Everything a user meets is here and the same for all.
    """

    outputs: Categories
    observations: Categories
    #: A tally holds at most so many reports: two such add up within 64 bits.
    most_reports = (1 << 62) - 1
    #: What sums are called.
    sums_name = "counts"
    device_mapping = "columns"
    #: Whether S is the law of reports; of candidate sets it is known up to a factor only.
    has_law = True

    # -- what a subclass provides ----------------------------------------------------------------------------------

    @abstractmethod
    def apply(self, probabilities: FloatArray) -> FloatArray:
        """S p, shape (k,): the distribution of observations when outputs follow p."""

    @abstractmethod
    def apply_transposed(self, values: FloatArray) -> FloatArray:
        """Sᵀ g, shape (m,): the expectation of g(o) given each output."""

    @property
    @abstractmethod
    def integer_weights(self) -> IntArray:
        """2⁶² S as the sampler realises it, shape (k, m); every column sums to 2⁶²."""

    @abstractmethod
    def extreme_weights(self) -> tuple[IntArray, IntArray]:
        """Largest and smallest integer weight of every observation over the outputs, two arrays (k,)."""

    @abstractmethod
    def _draw(self, truth: CodeArray, words: WordArray, out: CodeArray, *, compiled: bool) -> None:
        """Draw one chunk of observations, one word each, by the compiled or by the plain loop."""

    @abstractmethod
    def _draw_one(self, truth: int, number: np.int64) -> int:
        """Draw one observation from a number below 2⁶² (`device/1`), in steps that do not depend on the truth.

        The number has a fixed size: Python's own have fewer digits where they are small, and are compared faster. A
        small one may mean that the truth is told.
        """

    # -- what a user meets -----------------------------------------------------------------------------------------

    @cached_property
    def matrix(self) -> FloatArray:
        """S[o, y] = P(o | y), shape (k, m); columns sum to 1."""
        return np.asarray(self.integer_weights / TOTAL)

    def randomize(self, truth: ArrayLike) -> AnyArray:
        """Draw an observation for every true output from a cryptographic source.

        This is what protects a person's answer: it takes no seed and cannot be repeated.

        Args:
            truth: labels out of `outputs`, shape (n,).

        Returns:
            labels out of `observations`, shape (n,).
        """
        column = as_column(truth, "truth", secret=True)
        return self._observe(column, secure_words(column.size))

    @in_even_time
    def randomize_one(self, truth: Label) -> Label:
        """`randomize` for a single answer, as on a respondent's device: no compiler.

        The same steps are taken for every answer, and whether or not the truth is told, in 20 microseconds or a
        multiple of them; `randomize` noises many answers far faster.

        >>> from askance import Warner
        >>> Warner("2/3").randomize_one("yes") in ("no", "yes")
        True
        """
        code = self.outputs.code(truth, "truth", secret=True)
        return self.observations.labels[self._draw_one(code, secure_number())]

    def report_from_words(self, truth: Label, words: Iterable[int]) -> tuple[Label, int]:
        """The report that `device/1` makes of a truth and of 64-bit words, and how many words it took: always one.

        `randomize_one` is this with a word from the operating system. Known words protect nobody: this is for devices
        in other languages to be compared with (`askance vectors`), and for `permanent_words`.

        >>> from askance import Warner
        >>> Warner("3/4").report_from_words("yes", [2**62 - 1]), Warner("3/4").report_from_words("yes", [2**62])
        (('no', 1), ('yes', 1))
        """
        code = self.outputs.code(truth, "truth", secret=True)
        return self.observations.labels[self._draw_one(code, Words.given(words).number())], 1

    def device_truth(self) -> dict[str, Any]:
        """What a device needs to read a truth and to name a report, as plain JSON values."""
        sides = {"outputs": self.outputs, "observations": self.observations}
        return {name: labels_as_json(side) for name, side in sides.items()}

    def simulate(self, truth: ArrayLike, rng: np.random.Generator) -> AnyArray:
        """Draw an observation for every true output from a seeded generator: for experiments, not for people."""
        return self._observe(as_column(truth, "truth", secret=True), seeded_words(require_generator(rng)))

    def _observe(self, truth: AnyArray, source: WordSource) -> AnyArray:
        out: CodeArray = np.empty(truth.size, dtype=self.observations.code_dtype)
        for start in range(0, truth.size, LONGEST_DRAW):
            piece = slice(start, start + LONGEST_DRAW)
            codes = self.outputs.encode(truth[piece], "truth", start, secret=True)
            self._draw(codes, source(codes.size), out[piece], compiled=truth.size >= COMPILED_PAYS_FROM)
        return self.observations.decode(out)

    # -- what adds up ----------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[Column, ...]:
        """What a report consists of: the code of the observation."""
        return (Column("answer", "integer", limit=len(self.observations), description="the noised answer"),)

    @property
    def sums_size(self) -> int:
        """K, the number of observations."""
        return len(self.observations)

    @property
    def sum_law(self) -> SumLaw:
        """What counts of reports can be, and what they are on average: every report counts once."""
        high, low = (weights / TOTAL for weights in self.extreme_weights())
        return CountLaw(low, high, "answer", size=np.ones(1, dtype=np.int64), labels=self.observations.labels)

    def check_reports(self, columns: Mapping[str, AnyArray]) -> None:
        """Refuse observations that the channel never gives."""
        never = np.isin(columns["answer"], self.never_observed) if self.never_observed.size else np.zeros(0, dtype=bool)
        if never.any():
            row = int(np.argmax(never))
            label = self.observations.labels[int(columns["answer"][row])]
            raise impossible_report(row, f"{shown(label)} in column 'answer', which the channel never gives")

    def sums(self, reports: ArrayLike | Reports[FiniteChannel]) -> IntArray:
        """How often each observation was reported, shape (k,).

        Args:
            reports: labels out of `observations`, shape (n,), or `Reports`.
        """
        checked = require_reports(reports, self).columns["answer"] if isinstance(reports, Reports) else None
        column = as_column(reports, "observed") if checked is None else checked  # type: ignore[arg-type]
        counts = np.zeros(self.sums_size, dtype=np.int64)
        for start in range(0, column.size, _PIECE):
            piece = column[start : start + _PIECE]
            codes = self.observations.encode(piece, "observed", start) if checked is None else piece
            counts += np.bincount(codes.astype(np.intp, copy=False), minlength=self.sums_size)
        self.refuse_never_observed(counts)
        return counts

    def n_told_by(self, sums: IntArray) -> int | None:
        """How many reports have these counts."""
        total = float(sums.sum(dtype=np.float64))  # whole numbers of 64 bits may add up to more than 64 bits
        return int(sums.sum()) if 2.0**53 <= total < 2.0**63 else int(total)

    def require_possible(self, sums: IntArray, n: int) -> None:
        """Refuse what no n reports have as counts."""
        wrong = self.sum_law.violation(sums, n)
        if wrong is not None:
            raise InputError(
                f"no {n} reports of {self.kind} have these counts: {wrong}.",
                remedy="Count with Tally(channel).add(reports).",
            )
        self.refuse_never_observed(sums)

    def refuse_never_observed(self, counts: IntArray) -> None:
        """Refuse counts (k,) of observations that have probability 0 whatever the output."""
        never = self.never_observed
        if never.size and counts[never].any():
            o = int(never[np.argmax(counts[never] > 0)])
            raise IncompatibleEvidenceError(
                f"{self.observations.labels[o]!r} was reported {counts[o]} times, and the channel never gives it.",
                remedy="Correct the reports, or the probabilities of the channel.",
            )

    # -- what it says ----------------------------------------------------------------------------------------------

    def log_likelihood(self, observed: ArrayLike) -> FloatArray:
        """Log S(o | y) for every observation and every output, shape (n, m)."""
        codes = self.observations.encode(observed, "observed")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.matrix)[codes])

    def largest_ratio(self) -> Fraction | None:
        """Max over o, y, y′ of S(o|y)/S(o|y′), exactly; None when some observation excludes some output."""
        largest, smallest = self.extreme_weights()
        if ((smallest == 0) & (largest > 0)).any():
            return None
        pairs = {(int(a), int(b)) for a, b in zip(largest, smallest, strict=True) if a > 0}
        return max(Fraction(a, b) for a, b in pairs)

    @cached_property
    def never_observed(self) -> IntArray:
        """Codes of the observations that have probability 0 whatever the output is."""
        return np.flatnonzero(self.extreme_weights()[0] == 0)

    @cached_property
    def privacy_level(self) -> float:
        """The smallest α with S(o|y) ≤ e^α S(o|y′) for all o, y, y′; infinite when there is none.

        Computed from the thresholds the sampler uses and rounded up to a float, so it is safe to state.
        """
        ratio = self.largest_ratio()
        return math.inf if ratio is None else log_rounded_up(ratio)

    def observation_function(self, model: FiniteModel, frequencies: FloatArray | None = None) -> ObservationFunction:
        """β with E[β(o) | y] = φ(y), built from S.

        Where several are unbiased, `frequencies` (the observed distribution, all positive) selects the one of least
        covariance; without it the plain one, of least norm, is returned.
        """
        self.require_outputs_of(model)
        return solve_observation_function(model, self.matrix, frequencies)

    def require_outputs_of(self, model: FiniteModel) -> None:
        """Refuse a model about other outputs, and what is no model."""
        outputs = getattr(model, "outputs", None)
        if not isinstance(outputs, Categories):
            raise InputError(
                argument="model",
                got=shown(model),
                allowed="a model",
                remedy="Build one, such as Enumerated.saturated(outputs).",
            )
        if outputs != self.outputs:
            raise IncompatibleEvidenceError(
                f"the model is about {outputs.shown()}, the channel about {self.outputs.shown()}.",
                remedy="Build both from the same labels, in the same order.",
            )

    def thresholds(self) -> dict[str, Any]:
        """What a device in another language needs to draw the same law: whole numbers over 2⁶², plain JSON.

        `columns` has a list for every output, in their order, with the weight of every observation, in theirs. To draw,
        take a number below 2⁶² and go along the list of the true output: the observation is the first at which the sum
        of the weights so far exceeds the number.

        >>> from askance import Warner
        >>> Warner("3/4").thresholds() == {"columns": [[3 * 2**60, 2**60], [2**60, 3 * 2**60]]}
        True
        """
        return {"columns": self.integer_weights.T.tolist()}

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the labels, the realised thresholds and the purpose: equal fingerprints may be merged."""
        labels = [list(side.labels) if not side.are_codes else len(side) for side in (self.outputs, self.observations)]
        digest = hashlib.sha256(json.dumps(labels).encode())
        for part in self._fingerprint_parts():
            digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        if self.purpose:
            digest = hashlib.sha256(json.dumps([digest.hexdigest(), {"purpose": self.purpose}]).encode())
        return digest.hexdigest()

    def _fingerprint_parts(self) -> tuple[IntArray, ...]:
        return (self.integer_weights,)


def require_channel(channel: object) -> FiniteChannel:
    """Refuse what is no channel."""
    remedy = "Build one, such as RandomizedResponse(0.5, outputs=2); `askance channels` lists all."
    return instance(channel, FiniteChannel, "channel", "a channel", remedy)
