"""Training P(tag | word) alone: the convex fit to moments, and the likelihood of counts started there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, SparseRows
from askance.text.corpus.features import TokenFeatures
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.held_regions import HeldLikelihood, HeldRegions
from askance.text.counts.likelihood import CountLikelihood
from askance.text.counts.likelihood import Method as CountMethod
from askance.text.counts.miscounts import MiscountsBy
from askance.text.counts.moments import MomentMethod, moment_counts
from askance.text.node.model import NodeFit, fit_node, log_probabilities
from askance.text.node.watch import Course, Progress, Watch

#: How the likelihood is climbed: by its gradient, or by fitting expected counts again and again.
Optimiser: TypeAlias = Literal["lbfgs", "em"]

#: In training tilted counts may be off by this much, which changes the likelihood by its square.
TILT_TOLERANCE = 1e-3
# A start need not be exact: its fit may stop this many times earlier.
_ROUGH = 3.0
# Steps of the convex fit within one of EM, whose gains are smaller than those of steps of the likelihood by about this.
_EM_STEPS, _EM_STEP = 5, 0.1


@dataclass(frozen=True)
class NodeOptions:
    """How P(tag | word) is trained."""

    l2: float  # λ
    moments: MomentMethod  # how P(tag | word) is found from counts
    counts: CountMethod  # how the likelihood of counts is worked out
    optimiser: Optimiser  # of the likelihood
    max_iterations: int  # of each fit
    tolerance: float  # on the relative gain of an iteration
    miscounts: MiscountsBy | None  # how often people miscount

    def fitting(self, rough: float = 1.0) -> dict[str, Any]:
        """What `fit_node` is told."""
        return {"l2": self.l2, "max_iterations": self.max_iterations, "tolerance": rough * self.tolerance}


def fit_moments(
    regions: RegionCounts | HeldRegions, design: SparseRows, options: NodeOptions, tell: Progress, *, rough: bool
) -> NodeFit:
    """The convex fit to P(tag | word) from counts; a rough one where it is a start only."""
    tell("moments", 0.05)
    start = moment_counts(regions, design, method=options.moments, miscounts=options.miscounts)
    share = 0.3 if rough else 0.9
    return fit_node(
        design,
        regions.token_counts,
        start.counts,
        progress=lambda i, value: tell("convex fit", 0.1 + share * i / options.max_iterations),
        **options.fitting(_ROUGH if rough else 1.0),
    )


def fit_counts(
    regions: RegionCounts | HeldRegions,
    features: TokenFeatures,
    design: SparseRows,
    start: AnyArray,
    options: NodeOptions,
    held_out: RegionCounts | None,
    tell: Progress,
) -> tuple[NodeFit, Course]:
    """Climb the likelihood of counts from a start; θ is that of the best look at held-out regions, if there are any."""
    likelihood = _likelihood(regions, options)
    watch = None if held_out is None else Watch(_held_out_value(held_out, features, options), start)
    fit = (_climb_by_em if options.optimiser == "em" else fit_node)(
        design,
        regions.token_counts,
        likelihood,
        start=start,
        progress=lambda i, value: tell("likelihood of the counts", 0.4 + 0.6 * i / options.max_iterations),
        stop=watch,
        **options.fitting(),
    )
    theta = fit.theta if watch is None else watch.best
    if theta is fit.theta:
        value = fit.objective + 0.5 * options.l2 * float(np.sum(theta.astype(np.float64) ** 2))
    else:
        value, _ = likelihood(log_probabilities(design, theta))
    return replace(fit, theta=theta), Course(
        fit.iterations,
        bool(fit.converged),
        value / likelihood.sizes[0],
        likelihood.sizes[1],
        held_out=math.nan if watch is None else watch.highest,
        stopped_early=watch is not None and watch.stopped,
    )


def _likelihood(regions: RegionCounts | HeldRegions, options: NodeOptions) -> CountLikelihood | HeldLikelihood:
    if isinstance(regions, HeldRegions):
        return HeldLikelihood(regions)
    return CountLikelihood(regions, method=options.counts, tolerance=TILT_TOLERANCE, miscounts=options.miscounts)


def _held_out_value(
    held_out: RegionCounts, features: TokenFeatures, options: NodeOptions
) -> Callable[[AnyArray], float]:
    """The log-likelihood of held-out regions, per region, from θ."""
    likelihood = CountLikelihood(held_out, method=options.counts, miscounts=options.miscounts)
    design = features.matrix(held_out.corpus.words)
    return lambda theta: likelihood(log_probabilities(design, theta))[0] / len(held_out)


def _climb_by_em(
    design: SparseRows,
    totals: AnyArray,
    likelihood: CountLikelihood | HeldLikelihood,
    *,
    start: npt.NDArray[np.float32],
    l2: float,
    max_iterations: int,
    tolerance: float,
    progress: Callable[[int, float], None],
    stop: Callable[[npt.NDArray[np.float32]], bool] | None,
) -> NodeFit:
    """Expectation and maximisation: the counts expected at θ, then a few steps of the convex fit to them."""
    theta, before, evaluations = start, -math.inf, 0
    for iteration in range(1, max_iterations + 1):
        value, counts = likelihood(log_probabilities(design, theta))
        value -= 0.5 * l2 * float(np.sum(theta.astype(np.float64) ** 2))
        evaluations += 1
        progress(iteration, value)
        if value - before <= tolerance * abs(value) * _EM_STEP:
            return NodeFit(theta, value, iteration, True, evaluations)
        before = value
        theta = fit_node(design, totals, counts, l2=l2, start=theta, max_iterations=_EM_STEPS).theta
        if stop is not None and stop(theta):
            break
    return NodeFit(theta, before, iteration, False, evaluations)
