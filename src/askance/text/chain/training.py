"""Training a chain on all that is known: labels, allowed tags, counts, each with its weight, in one fit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance._cores import processors
from askance.errors import ConvergenceWarning
from askance.text.chain.counts import CountEvidence
from askance.text.chain.evidence import ChainObjective, Evidence, Gradient, token_evidence
from askance.text.chain.features import ChainFeatures
from askance.text.chain.fit import ChainFit, ChainParameters, ChainProblem, descend
from askance.text.chain.model import ChainModel
from askance.text.chain.potentials import TokenPlaces
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.miscounts import MiscountsBy, miscount_rates
from askance.text.node.training import NodeOptions, fit_counts, fit_moments
from askance.text.node.watch import Course, Progress, Watch

#: "likelihood": edges are fitted with everything else. "cheap": pairs of tags expected given the counts, weighted.
Edges: TypeAlias = Literal["likelihood", "cheap"]

# Every so manieth region is held out when the weight of cheap edges is chosen.
_HELD_OUT = 10
# Where sums run over candidates, these are chosen anew after so many steps.
_STEPS_OF_A_ROUND = 8
# A larger share of regions that are left out is worth a warning.
_MANY = 0.05
# Held-out regions are looked at after so many steps: a look costs as much as a step.
_STEPS_BETWEEN_LOOKS = 4


@dataclass(frozen=True)
class ChainOptions:
    """How a chain is trained."""

    l2: float  # λ of λ/2 ‖θ‖²
    l1: float  # μ of μ ‖θ‖₁
    context: int | None  # words around a region that are looked at with it, on each side; None: the sentence
    budget: float  # states × entries² up to which sums over counts are exact
    max_iterations: int  # of the likelihood
    tolerance: float  # on the relative gain of an iteration
    miscounts: MiscountsBy | None  # how often people miscount


class ChainTask:
    """The likelihood of regions under chains with these features."""

    def __init__(self, regions: RegionCounts, features: ChainFeatures, options: ChainOptions) -> None:
        self.regions, self.features, self.options = regions, features, options
        self.places = TokenPlaces.of(regions.corpus, features.distances)
        missed, extra, _ = miscount_rates(regions, options.miscounts)
        single = (regions.lengths == 1) & (missed == 0) & (extra == 0)  # a count that may be wrong is no label
        self.evidence: list[Evidence] = []
        self.counts: CountEvidence | None = None
        if single.any():
            self.evidence += token_evidence(regions.take(single), self.places)
        if not single.all():
            self.counts = CountEvidence(
                regions.take(~single),
                context=options.context,
                budget=options.budget,
                missed=missed[~single],
                extra=extra[~single],
            )
            self.evidence.append(self.counts)
        self.objective = ChainObjective(self.evidence, self.places, len(regions.tagset), processors())

    @property
    def exact_regions(self) -> int:
        """Regions whose sums are exact; what is known of single tokens always is."""
        counted = 0 if self.counts is None else int((~self.counts.exact).sum())
        return len(self.regions) - counted

    @property
    def is_empty(self) -> bool:
        """Whether all that is known is left out."""
        return self.counts is not None and len(self.evidence) == 1 and self.counts.left_out == len(self.counts.exact)

    @property
    def has_candidates(self) -> bool:
        """Whether some sums run over candidates."""
        return self.counts is not None and not bool(self.counts.exact.all())

    def model(self, parameters: ChainParameters) -> ChainModel:
        """A chain with these parameters."""
        return ChainModel(self.features, self.regions.tagset, parameters)

    def prepare(self, parameters: ChainParameters) -> None:
        """Choose candidates anew, where sums run over candidates."""
        if self.counts is not None and self.has_candidates:
            self.counts.prepare(self.model(parameters).potentials(self.regions.corpus))

    def log_likelihood(self, parameters: ChainParameters) -> float:
        """Of all that is known, but for regions that are left out."""
        return self.objective(self.model(parameters).potentials(self.regions.corpus)).value

    @property
    def lost(self) -> float:
        """What is taken off for regions that are left out, where log-likelihoods are compared."""
        return 0.0 if self.counts is None else self.counts.lost

    def comparable(self, parameters: ChainParameters) -> float:
        """The log-likelihood with candidates chosen for these parameters, less what is lost."""
        self.prepare(parameters)
        return self.log_likelihood(parameters) + self.lost


def climb(
    task: ChainTask,
    start: ChainParameters,
    *,
    progress: Callable[[int, float], None] | None = None,
    stop: Callable[[ChainParameters], bool] | None = None,
) -> ChainFit:
    """Maximise the penalised likelihood from a start.

    Where sums run over candidates the fit goes in rounds: candidates are chosen, the likelihood of what they leave is
    climbed for a few steps, and so on, until a round gains as little as so many steps may.
    """
    options, designs = task.options, task.features.matrices(task.regions.corpus.words)
    problem = ChainProblem(designs, task.objective, options.l2, l1=options.l1)
    done, evaluations, before = 0, 0, -np.inf
    while True:
        task.prepare(start)
        if task.is_empty:
            return ChainFit(start, -np.inf, -np.inf, done, False, evaluations, False)
        left = options.max_iterations - done
        fit = descend(
            problem,
            start,
            max_iterations=min(left, _STEPS_OF_A_ROUND) if task.has_candidates else left,
            tolerance=options.tolerance,
            progress=None if progress is None else _later(progress, done),
            stop=stop,
        )
        start, done, evaluations = fit.parameters, done + fit.iterations, evaluations + fit.evaluations
        reached = fit.objective + task.lost
        small = reached - before <= _STEPS_OF_A_ROUND * options.tolerance * abs(reached)
        settled = fit.converged if not task.has_candidates else small or (fit.converged and before > -np.inf)
        if settled or fit.stopped or done >= options.max_iterations or not task.has_candidates:
            return ChainFit(start, fit.objective, fit.log_likelihood, done, settled, evaluations, fit.stopped)
        before = reached


def _later(progress: Callable[[int, float], None], done: int) -> Callable[[int, float], None]:
    return lambda step, value: progress(done + step, value)


def _begin(task: ChainTask, node: NodeOptions, tell: Progress, cheap: bool) -> tuple[ChainParameters, Course]:
    """Where the likelihood of a chain is climbed from, without edges or with cheap ones, and how it was reached."""
    regions = task.regions
    design = task.features.word.matrix(regions.corpus.words)
    fit = fit_moments(regions, design, node, tell, rough=True)
    start = ChainParameters.zeros(len(task.features), len(regions.tagset))
    start.theta[: len(fit.theta)] = fit.theta
    if not (cheap or task.has_candidates):
        return start, Course(fit.iterations, bool(fit.converged))
    climbed, course = fit_counts(regions, task.features.word, design, fit.theta, node, None, tell)
    start.theta[: len(fit.theta)] = climbed.theta
    tell("cheap edges", 0.4)
    start, weight = with_cheap_edges(task, start)
    return start, Course(fit.iterations + course.iterations, course.converged, edge_weight=weight)


def train_chain(
    task: ChainTask,
    node: NodeOptions,
    held_out: RegionCounts | None,
    tell: Progress,
    *,
    cheap: bool = False,
    optional: bool = False,
) -> tuple[ChainModel, Course]:
    """Train a chain from moments; where sums run over candidates, or edges are cheap, from the model without edges.

    Args:
        task: the likelihood.
        node: how the model without edges is trained.
        held_out: regions that stop the training when their likelihood gets worse.
        tell: told what is going on.
        cheap: whether edges stay as cheap as they are.
        optional: whether there need not be edges: none are fitted where held-out counts want no cheap ones.
    """
    regions, most = task.regions, task.options.max_iterations
    start, begun = _begin(task, node, tell, cheap)
    held_out_value = None if held_out is None else _held_out_value(held_out, task)
    # What is said of single tokens side by side wants edges whatever held-out counts say.
    if cheap or (optional and begun.edge_weight == 0 and (regions.lengths > 1).all()):
        task.prepare(start)
        value = task.log_likelihood(start) / len(regions)
        seen = math.nan if held_out_value is None else held_out_value(start)
        return task.model(start), replace(begun, log_likelihood=value, exact_regions=task.exact_regions, held_out=seen)
    watch = None if held_out_value is None else Watch(held_out_value, start, every=_STEPS_BETWEEN_LOOKS)
    told = "likelihood of the chain"
    chain = climb(task, start, progress=lambda step, _: tell(told, 0.5 + 0.5 * step / most), stop=watch)
    kept, value = chain.parameters, chain.log_likelihood
    _warn_of_left_out(task)
    if watch is not None:
        if not chain.stopped:
            watch.look(kept)  # the last steps were not looked at
        if watch.best is not kept:
            kept = watch.best
            task.prepare(kept)
            value = task.log_likelihood(kept)
    return task.model(kept), Course(
        begun.iterations + chain.iterations,
        bool(chain.converged),
        value / len(regions),
        task.exact_regions,
        held_out=math.nan if watch is None else watch.highest,
        stopped_early=chain.stopped,
    )


def _warn_of_left_out(task: ChainTask) -> None:
    """Say where many regions could not be summed over."""
    counts = task.counts
    if counts is not None and counts.left_out > _MANY * len(counts.exact):
        warnings.warn(
            f"{counts.left_out} of {len(counts.exact)} regions leave too much open to be summed over and are not used. "
            "Count shorter stretches or more tags, raise budget, or train without edges (method node).",
            ConvergenceWarning,
            stacklevel=5,
        )


def _held_out_value(held_out: RegionCounts, task: ChainTask) -> Callable[[ChainParameters], float]:
    """The log-likelihood of held-out regions, per region."""
    other = ChainTask(held_out, task.features, task.options)
    return lambda parameters: other.comparable(parameters) / len(held_out)


def with_cheap_edges(task: ChainTask, start: ChainParameters) -> tuple[ChainParameters, float]:
    """Parameters with cheap edges, and the weight of these; NaN, and no edges, where there is too little to choose on.

    Edges are made from all that is known of nine sentences in ten, and their weight is chosen on the tenth.
    """
    sentence = task.regions.sentence
    number = np.unique(sentence, return_inverse=True)[1]
    if int(number.max()) < _HELD_OUT - 1:
        return start, math.nan
    tenth = number % _HELD_OUT == 0
    made, held_out = (ChainTask(task.regions.take(chosen), task.features, task.options) for chosen in (~tenth, tenth))
    made.prepare(start)
    potentials = task.model(start).potentials(task.regions.corpus)
    edges = cheap_edges(made.objective(potentials))
    choices = [
        ChainParameters(start.theta, (weight * edges).astype(start.edges.dtype), start.first, start.last)
        for weight in WEIGHTS
    ]
    best = int(np.argmax([held_out.comparable(choice) for choice in choices]))
    return choices[best], WEIGHTS[best]


# -- cheap edges -------------------------------------------------------------------------------------------------------


#: Weights that are tried.
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Added to every expected number of pairs: what was seen less than about once says nothing.
_PRIOR = 0.5


def cheap_edges(likelihood: Gradient) -> FloatArray:
    """Scores of neighbouring tags without a fit, shape (K, K), from posteriors and marginals of pairs at edges of 0.

    With C(b', b) the expected number of times that b follows b' given the counts, under a model without edges, and
    n pairs in all, the score is log (C(b', b) n / (C(b', ·) C(·, b))), the logarithm of how much more often they
    meet than by chance. At full weight it says too much where tokens are uncertain: the weight with the highest
    likelihood of held-out counts is taken, which may be 0.

    >>> import types
    >>> pairs = np.array([[40.0, 10.0], [10.0, 40.0]])
    >>> cheap_edges(types.SimpleNamespace(pairs=pairs - 25.0, model_pairs=np.full((2, 2), 25.0))).round(2)
    array([[ 0.46, -0.89],
           [-0.89,  0.46]])
    """
    pairs = np.maximum(likelihood.pairs + likelihood.model_pairs, 0.0)
    chance = pairs.sum(axis=1, keepdims=True) * pairs.sum(axis=0, keepdims=True) / max(float(pairs.sum()), 1.0)
    return np.asarray(np.log((pairs + _PRIOR) / (chance + _PRIOR)))
