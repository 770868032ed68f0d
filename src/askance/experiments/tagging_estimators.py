"""Estimators of taggers from counts, looked at on their way: the paper's two by stochastic steps, and askance's."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from askance._arrays import AnyArray, IntArray
from askance.experiments.beam import BeamLikelihood
from askance.experiments.experiment import Plain
from askance.geometry.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from askance.text.chain.counts import DEFAULT_BUDGET
from askance.text.chain.evidence import ChainObjective, Gradient
from askance.text.chain.features import ChainFeatures
from askance.text.chain.fit import ChainParameters
from askance.text.chain.potentials import ChainPotentials
from askance.text.chain.training import ChainOptions, ChainTask, climb, with_cheap_edges
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.features import TokenFeatures
from askance.text.corpus.regions import Region, RegionCounts
from askance.text.counts.likelihood import CountLikelihood
from askance.text.counts.likelihood import Method as CountMethod
from askance.text.counts.moments import moment_counts
from askance.text.node.model import fit_node, log_probabilities
from askance.text.node.training import NodeOptions, fit_counts, fit_moments
from askance.text.tagger.evaluation import evaluate_tags
from askance.text.tagger.options import DEFAULT_CONTEXT, usual_penalty
from askance.text.tagger.tagger import NEIGHBOURS, CountTagger

if TYPE_CHECKING:
    from scipy import sparse

# As CountTagger has them; a test compares the ends of the curves with its scores.
_STEPS, _TOLERANCE, _TILT_TOLERANCE = 60, 3e-3, 1e-3
_CHAIN_STEPS, _CHAIN_TOLERANCE = 100, 1e-3


@dataclass(frozen=True)
class Problem:
    """What an estimator is given.

    Attributes:
        train: the training text; estimators see its words only.
        regions: what is counted in it.
        settings: of the config.
        passes: over the regions, for steps on a few of them at a time.
        seed: of the order of regions.
    """

    train: Corpus
    regions: RegionCounts
    settings: Mapping[str, Plain]
    passes: int
    seed: int


# -- looking on the way ------------------------------------------------------------------------------------------------


class Trace:
    """Accuracy on the way, and processor seconds up to there without those of looking.

    Args:
        train: labelled, only to look at.
        test: the same.
        tagset: of the estimates.
    """

    def __init__(self, train: Corpus, test: Corpus, tagset: tuple[str, ...]) -> None:
        self._texts, self._tagset = (train, test), tagset
        self.passes: list[int | None] = []
        self.accuracy: list[tuple[float, float]] = []
        self.seconds: list[float] = []
        self.used, self._since = 0.0, time.process_time()

    def look(self, passes: int | None, tags_of: Callable[[Corpus], IntArray]) -> None:
        """Score the tags that a model gives now, after so many passes over the regions (None: solved directly)."""
        self.lap()
        train, test = (evaluate_tags(text, tags_of(text), self._tagset).accuracy for text in self._texts)
        self.passes.append(passes)
        self.accuracy.append((train, test))
        self.seconds.append(self.used)
        self._since = time.process_time()

    def lap(self) -> float:
        """Seconds used up to now."""
        self.used += time.process_time() - self._since
        self._since = time.process_time()
        return self.used

    def go_on(self, used: float) -> None:
        """Forget what was used since, and let the clock run from so many seconds."""
        self.used, self._since = used, time.process_time()


def node_tags(features: TokenFeatures, theta: AnyArray) -> Callable[[Corpus], IntArray]:
    """The likeliest tag of every token by its word alone."""
    return lambda text: np.asarray(features.matrix(text.words) @ theta).argmax(axis=1)[text.tokens]


# -- a few regions at a time -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """A few regions with the words and features that they have, so that a step on them touches nothing else.

    Attributes:
        regions: over a corpus of their own words.
        types: the number that each of these words has in the whole corpus, shape (t,).
        design: features of the words, shape (t, f), of which only those that some of them has.
        transposed: shape (f, t).
        columns: the number that each feature has in the whole design, shape (f,).
        totals: tokens of each word, shape (t, 1).
    """

    regions: RegionCounts
    types: IntArray
    design: sparse.csr_array
    transposed: sparse.csr_array
    columns: IntArray
    totals: AnyArray


def pieces(regions: RegionCounts, design: sparse.csr_array, at_once: int, rng: np.random.Generator) -> list[Piece]:
    """Regions in random order, so many at a time.

    Args:
        regions: all of them.
        design: features of the types of their corpus, shape (T, F).
        at_once: regions of a piece.
        rng: order of the regions.
    """
    order = rng.permutation(len(regions))
    return [_piece(regions.take(order[i : i + at_once]), design) for i in range(0, len(order), at_once)]


def _piece(part: RegionCounts, design: sparse.csr_array) -> Piece:
    from scipy import sparse

    starts = np.concatenate([[0], np.cumsum(part.lengths)]).astype(np.int64)
    where = np.arange(starts[-1]) + np.repeat(part.start - starts[:-1], part.lengths)
    types, tokens = np.unique(part.corpus.tokens[where], return_inverse=True)
    words = tuple(part.corpus.words[t] for t in types.tolist())
    own = Corpus(words, tokens.astype(np.int32), starts)
    regions = RegionCounts(
        own, part.tagset, starts[:-1], starts[1:], part.closed, part.offsets, part.tag, part.low, part.high
    )
    rows = design[types]
    columns, places = np.unique(rows.indices, return_inverse=True)
    matrix = sparse.csr_array((rows.data, places, rows.indptr), shape=(len(types), len(columns)))
    totals = regions.token_counts.astype(design.dtype)[:, None]
    return Piece(regions, types.astype(np.int64), matrix, matrix.T.tocsr(), columns.astype(np.int64), totals)


def stochastic_steps(
    parts: Sequence[Piece],
    theta: AnyArray,
    passes: int,
    step: float,
    rng: np.random.Generator,
    counts: Callable[[int, AnyArray], AnyArray],
    after: Callable[[int], None],
) -> None:
    """θ += step / √pass · mean over the tokens of a piece of x (C − p)ᵀ, piece after piece in random order, in place.

    Args:
        parts: a few regions each.
        theta: shape (F, K).
        passes: over all pieces.
        step: its length in the first pass.
        rng: order of the pieces.
        counts: C from the number of a piece and log p of its words.
        after: told how many passes are done.
    """
    for turn in range(passes):
        for j in rng.permutation(len(parts)).tolist():
            part = parts[j]
            log_p = log_probabilities(part.design, theta[part.columns])
            residual = counts(j, log_p) - part.totals * np.exp(log_p)
            length = step / (float(part.totals.sum()) * np.sqrt(1 + turn))
            theta[part.columns] += theta.dtype.type(length) * (part.transposed @ residual)
        after(turn + 1)


# -- the paper's estimators --------------------------------------------------------------------------------------------


def marginal_by_beam(problem: Problem, trace: Trace) -> None:
    """The paper's MargML: gradients of the likelihood of a few regions at a time, sums by a beam."""
    settings, rng = problem.settings, np.random.default_rng(problem.seed)
    features = TokenFeatures.learn(problem.train.words)
    design = features.matrix(problem.train.words)
    parts = pieces(problem.regions, design, settings["regions_at_once"], rng)
    likelihoods = [BeamLikelihood(part.regions, settings["beam"], threads=1) for part in parts]
    theta = np.zeros((len(features), len(problem.regions.tagset)), dtype=design.dtype)
    stochastic_steps(
        parts,
        theta,
        problem.passes,
        settings["marginal_step"],
        rng,
        lambda j, log_p: likelihoods[j](log_p)[1],
        lambda done: trace.look(done, node_tags(features, theta)),
    )


def moments_by_sgd(problem: Problem, trace: Trace) -> None:
    """The paper's MomML: k passes over counts for P(tag | word), then k over the sentences for θ, for every k."""
    settings, train, tagset = problem.settings, problem.train, problem.regions.tagset
    features = TokenFeatures.learn(train.words)
    design = features.matrix(train.words)
    whole = [Region(s, 0, n, {}, closed=False) for s, n in enumerate(train.lengths.tolist())]
    order = np.random.default_rng(problem.seed)
    parts = pieces(RegionCounts.of(train, tagset, whole), design, settings["regions_at_once"], order)
    prepared = trace.lap()
    for passes in range(1, problem.passes + 1):
        trace.go_on(prepared)
        counts_rng, words_rng = (np.random.default_rng([problem.seed, i]) for i in range(2))
        estimates = moment_counts(problem.regions, design, method="sgd", iterations=passes, rng=counts_rng)
        conditional = estimates.label_given_token
        theta = np.zeros((len(features), len(tagset)), dtype=design.dtype)
        stochastic_steps(
            parts,
            theta,
            passes,
            settings["moment_step"],
            words_rng,
            lambda j, log_p, conditional=conditional: parts[j].totals * conditional[parts[j].types],  # type: ignore[misc]
            lambda done: None,
        )
        trace.look(passes, node_tags(features, theta))


# -- estimators of askance ---------------------------------------------------------------------------------------------


def moments(problem: Problem, trace: Trace) -> None:
    """Moments over the simplex, solved directly."""
    tagger = CountTagger("moments").fit(problem.regions)
    trace.look(None, tagger.predict_codes)


def likelihood(problem: Problem, trace: Trace, method: CountMethod) -> None:
    """`CountTagger("node", counts=method)`, looked at after every step; a pass is one evaluation of the likelihood."""
    regions, words = problem.regions, problem.train.words
    options = NodeOptions(usual_penalty(regions, "node"), "auto", method, "lbfgs", _STEPS, _TOLERANCE, None)
    features = TokenFeatures.learn([words[t] for t in np.flatnonzero(regions.token_counts).tolist()])
    design = features.matrix(words)
    start = fit_moments(regions, design, options, lambda text, share: None, rough=True).theta
    trace.look(0, node_tags(features, start))
    sums, evaluations = CountLikelihood(regions, method=method, tolerance=_TILT_TOLERANCE), 0

    def counted(log_p: AnyArray) -> tuple[float, AnyArray]:
        nonlocal evaluations
        evaluations += 1
        return sums(log_p)

    def look(theta: AnyArray) -> bool:
        trace.look(evaluations, node_tags(features, theta))
        return False

    fit_node(design, regions.token_counts, counted, start=start, stop=look, **options.fitting())


class _CountedObjective(ChainObjective):
    """The same, and how often it was asked."""

    def __init__(self, known: ChainObjective) -> None:
        self.__dict__.update(known.__dict__)
        self.evaluations = 0

    def __call__(self, potentials: ChainPotentials) -> Gradient:
        self.evaluations += 1
        return super().__call__(potentials)


def chain(problem: Problem, trace: Trace) -> None:
    """`CountTagger("chain")`, looked at every few steps; a pass is one evaluation of a likelihood."""
    regions, settings = problem.regions, problem.settings
    penalty = usual_penalty(regions, "chain")
    node = NodeOptions(penalty, "auto", "auto", "lbfgs", _STEPS, _TOLERANCE, None)
    budget = settings.get("chain_budget", DEFAULT_BUDGET)
    options = ChainOptions(penalty, 0.0, DEFAULT_CONTEXT, budget, _CHAIN_STEPS, _CHAIN_TOLERANCE, None)
    words = [problem.train.words[t] for t in np.flatnonzero(regions.token_counts).tolist()]
    features = ChainFeatures.learn(words, None, NEIGHBOURS, settings["chain_radius"])
    task, design = ChainTask(regions, features, options), features.word.matrix(problem.train.words)

    def quiet(text: str, share: float) -> None:
        pass

    theta = fit_moments(regions, design, node, quiet, rough=True).theta
    trace.look(0, node_tags(features.word, theta))
    start, before = ChainParameters.zeros(len(features), len(regions.tagset)), 0
    start.theta[: len(theta)] = theta
    if task.has_candidates:
        climbed, _ = fit_counts(regions, features.word, design, theta, node, None, quiet)
        start.theta[: len(theta)] = climbed.theta
        start, before = with_cheap_edges(task, start)[0], climbed.evaluations + 1
        trace.look(before, task.model(start).best_tags)
    counted = task.objective = _CountedObjective(task.objective)
    steps = 0

    def look(parameters: ChainParameters) -> bool:
        nonlocal steps
        steps += 1
        if steps % settings["chain_steps_between_looks"] == 0:
            trace.look(before + counted.evaluations, task.model(parameters).best_tags)
        return False

    fit = climb(task, start, stop=look)
    if trace.passes[-1] != before + counted.evaluations:
        trace.look(before + counted.evaluations, task.model(fit.parameters).best_tags)


# -- all of them -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimator:
    """One line of the figures.

    Attributes:
        name: for people.
        function: fills a trace.
        colour: of its line.
        marker: of its points.
        cost: processor seconds for 9,000 regions of 5, 10, 20 tokens and of sentences, about.
    """

    name: str
    function: Callable[[Problem, Trace], None]
    colour: str
    marker: str
    cost: tuple[float, float, float, float]


ESTIMATORS = {
    "marginal-beam": Estimator("MargML, beam, SGD (paper)", marginal_by_beam, VERMILION, "o", (7, 32, 300, 360)),
    "moments-sgd": Estimator("MomML, SGD (paper)", moments_by_sgd, BLUE, "s", (45, 45, 45, 45)),
    "moments": Estimator("moments over the simplex", moments, GREEN, "D", (1, 1, 2, 2)),
    "tilted": Estimator(
        "likelihood, tilted (Sinkhorn)", partial(likelihood, method="sinkhorn"), ORANGE, "^", (2, 3, 5, 7)
    ),
    "exact": Estimator("likelihood, exact sums", partial(likelihood, method="exact"), PURPLE, "v", (2, 3, 300, 0)),
    "chain": Estimator("chain", chain, SKY, "*", (25, 40, 60, 80)),
}
