"""Lists beside a direct question (Aronow, Coppock, Crawford and Green 2015): who admits is a carrier."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance.channels.labels import Direct
from askance.channels.list_experiment import ListExperiment
from askance.channels.survey_designs import NO_YES
from askance.errors import LabelError, NotIdentifiedError
from askance.estimation.results.means_fit import MeansFit
from askance.evidence.chunks import in_proportion
from askance.evidence.responses import Responses
from askance.evidence.together import several
from askance.models.count_means import CountMeans
from askance.models.hidden import BETWEEN
from askance.survey.answers import read_reports
from askance.survey.arms import read_armed_reports
from askance.survey.list_counts import refuse_counts
from askance.survey.survey_rows import SurveyRows

# Groups with fewer who admit, or deny, have no placebo test.
_FEWEST = 5
# Standard errors below it are rounding.
_NO_ERROR = 1e-9


def read_pairs(rows: SurveyRows, design: ListExperiment, which: AnyArray, positive: Any) -> tuple[AnyArray, list[str]]:
    """Labels of pairs (direct answer, count), shape (n,), and how values were read."""
    assert design.direct is not None
    plain = ListExperiment(design.items, groups=list(design.arms))
    column = rows.as_written(rows.parsed.answer)
    try:
        counts, readings = read_armed_reports(column, plain.arms, which, None)
    except LabelError:
        refuse_counts(column, plain, which)
        raise
    said, reading = read_reports(rows.as_written(design.direct), Direct(NO_YES), positive)
    pairs = [f"{answer}{BETWEEN}{count}" for answer, count in zip(said.tolist(), counts.tolist(), strict=True)]
    return np.array(pairs, dtype=object), [*readings, *([reading] if reading else [])]


class _Pairs(NamedTuple):
    """Of every row: whether one admits, the count, whether one was treated, weight, and cluster; shape (n,) each."""

    admits: FloatArray
    counted: FloatArray
    treated: FloatArray
    weight: FloatArray
    cluster: AnyArray | None

    @classmethod
    def of(cls, evidence: Responses[Any]) -> _Pairs:
        shares = in_proportion([chunk.weights for chunk in evidence.chunks])
        control = evidence.channels[0].fingerprint
        parts: list[list[FloatArray]] = [[], [], [], []]
        for chunk, share in zip(evidence.chunks, shares, strict=True):
            labels = [str(label).split(BETWEEN) for label in chunk.channel.observations.labels]
            # Rows that were folded into one are many.
            codes = (
                chunk.codes if chunk.multiplicity is None else np.repeat(chunk.codes, chunk.multiplicity.astype(int))
            )
            ones = np.ones(len(codes))
            parts[0].append(np.array([float(said == "yes") for said, _ in labels])[codes])
            parts[1].append(np.array([float(count) for _, count in labels])[codes])
            parts[2].append(ones * (chunk.channel.fingerprint != control))
            parts[3].append(ones if share is None else share)
        clusters = None
        if evidence.chunks[0].clusters is not None:
            clusters = np.concatenate([np.asarray(chunk.clusters) for chunk in evidence.chunks])
        admits, counted, treated, weight = (np.concatenate(part) for part in parts)
        return cls(admits, counted, treated, weight, clusters)

    def difference(self, values: FloatArray, among: FloatArray) -> tuple[float, FloatArray]:
        """Mean of the treated less that of controls, among some, and the influence of every row, shape (n,)."""
        means, influence = [], np.zeros(len(values))
        for group, sign in ((self.treated, 1.0), (1 - self.treated, -1.0)):
            weight = self.weight * among * group
            if not weight.any():
                raise NotIdentifiedError(
                    "a group has nobody among those who deny (or admit) directly: there is no difference.",
                    remedy="Check the column of direct answers.",
                )
            means.append(float(weight @ values / weight.sum()))
            influence += sign * weight * (values - means[-1]) / weight.sum()
        return means[0] - means[1], influence

    def error(self, influence: FloatArray) -> float:
        """Standard error of what every row moves so much, with clusters."""
        if self.cluster is not None:
            codes = np.unique(self.cluster, return_inverse=True)[1]
            influence = np.asarray(np.bincount(codes, weights=influence), dtype=np.float64)
        return math.sqrt(float(influence @ influence) * len(influence) / (len(influence) - 1))

    def few(self) -> str:
        """Which direct answer, "admit" or "deny", fewer than five of a group gave; "" where there are enough."""
        for answer, among in (("admit", self.admits), ("deny", 1 - self.admits)):
            people = among * (self.weight > 0)
            if min(float(people @ self.treated), float(people @ (1 - self.treated))) < _FEWEST:
                return answer
        return ""

    def placebo(self, words: str, values: FloatArray, among: FloatArray, expected: float) -> str:
        """Whether a difference among some is as expected; no figure of cells with few people, whom it would show."""
        few = self.few()
        if few:
            return f"placebo test: whether {words} {expected:g} cannot be told: too few {few} it"
        difference, influence = self.difference(values, among)
        error = self.error(influence)
        if error < _NO_ERROR:
            return f"placebo test: whether {words} {expected:g} cannot be told: answers do not vary within groups"
        p = math.erfc(abs(difference - expected) / error / math.sqrt(2))
        verdict = "" if p >= 0.05 else ": an assumption fails"
        return f"placebo test: {words} {difference:.3f} ({error:.3f}), expected {expected:g}, P = {p:.3g}{verdict}"


def combined_fit(model: CountMeans, evidence: Responses[Any]) -> MeansFit:
    """d̄ + (1 − d̄) τ: those who admit, and of those who deny the difference τ in mean counts."""
    pairs = _Pairs.of(evidence)
    share = float(pairs.weight @ pairs.admits / pairs.weight.sum())
    tau, of_tau = pairs.difference(pairs.counted, 1 - pairs.admits)
    of_share = pairs.weight * (pairs.admits - share) / pairs.weight.sum()
    error = pairs.error((1 - tau) * of_share + (1 - share) * of_tau)
    return MeansFit(
        model=model,
        theta=np.array([share + (1 - share) * tau]),
        covariance=np.array([[error**2]]),
        n_observations=evidence.n_observations,
        method="moments",
        covariance_kind="robust" if pairs.cluster is None else "cluster-robust",
        converged=True,
        log_likelihood=-math.inf,
        raw_statistics=None,
        channel=several([channel.specification() for channel in evidence.channels]),
        privacy_level=math.inf,
        evidence=evidence,
    )


def placebo_messages(evidence: Responses[Any]) -> list[str]:
    """Two tests of what lists with a direct question assume.

    Among those who admit, the sensitive item adds 1 to the count (nobody admits falsely, and lists are answered
    truthfully); and which list one had does not change the direct answer.
    """
    pairs = _Pairs.of(evidence)
    everybody = np.ones(len(pairs.admits))
    return [
        pairs.placebo("among those who admit the item adds", pairs.counted, pairs.admits, 1.0),
        pairs.placebo("the list changes direct answers by", pairs.admits, everybody, 0.0),
    ]
