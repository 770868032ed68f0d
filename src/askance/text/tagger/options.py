"""Options of a tagger: checked once, each by itself and whether the method has a use for it; chosen where left open."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from askance._checks import as_count, instance, one_of, shown
from askance._words import Argument, words
from askance.errors import InputError
from askance.text.chain.counts import DEFAULT_BUDGET
from askance.text.chain.features import check_radius
from askance.text.chain.regions import entry_layout, stretches, sum_cost
from askance.text.chain.training import Edges
from askance.text.corpus.features import FeatureConfig
from askance.text.corpus.region_groups import lay_out
from askance.text.corpus.regions import RegionCounts
from askance.text.corpus.word_classes import check_sizes
from askance.text.counts.held_regions import HeldRegions
from askance.text.counts.likelihood import Method as CountMethod
from askance.text.counts.miscounts import check_miscounts
from askance.text.counts.moments import MomentMethod
from askance.text.node.training import Optimiser

#: "moments": least squares for P(tag | word) from counts, then one convex fit; no inference. "node": the likelihood of
#: the counts, started there. "chain": the same with scores of neighbouring tags. "auto": chain where neighbours are
#: seen, with cheap edges where the fit would take too long, else node.
TaggerMethod: TypeAlias = Literal["auto", "moments", "node", "chain"]

#: Words around a region that a chain looks at with it, on each side.
DEFAULT_CONTEXT = 2
_CHOICES: dict[str, tuple[str, ...]] = {
    "method": get_args(TaggerMethod),
    "moments": tuple(method for method in get_args(MomentMethod) if method != "sgd"),  # sgd needs a generator
    "counts": get_args(CountMethod),
    "optimiser": get_args(Optimiser),
    "edges": get_args(Edges),
}
_LEAVE_OUT = "Leave it out."
# What only a chain has, and whether it is given.
_OF_A_CHAIN: dict[str, Callable[[Any], bool]] = {
    "l1": lambda value: value > 0,
    "radius": lambda value: value is not None,
    "neighbours": lambda value: value is not None,
    "edges": lambda value: value is not None,
    "context": lambda value: value != DEFAULT_CONTEXT,
    "budget": lambda value: value != DEFAULT_BUDGET,
    "classes": lambda value: len(value) > 0,
    "bare_weight": lambda value: value != 1,
}


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options of `CountTagger`, by name, that are not what they may be, or that the method has no use for."""
    for name, known in _CHOICES.items():
        if options[name] is not None or name != "edges":
            one_of(options[name], known, name)
    _check_numbers(options)
    for name in ("features", "neighbours"):
        if options[name] is not None:
            remedy = 'Write FeatureConfig(prefixes=(1,)), or FeatureConfig.only("word", suffixes=(3,)).'
            instance(options[name], FeatureConfig, name, "a FeatureConfig", remedy)
    classes = options["classes"]
    if not isinstance(classes, Sequence) or isinstance(classes, (str, bytes)):
        raise InputError(
            argument="classes", got=shown(classes), allowed="a list of numbers", remedy="Write classes=(40, 150)."
        )
    check_sizes(classes)
    if options["miscounts"] is not None and options["miscounts"] != "estimate":
        check_miscounts(options["miscounts"])
    _refuse_idle(options)


def _check_numbers(options: Mapping[str, Any]) -> None:
    """Penalties, weights and limits."""
    for name in ("l2", "tolerance"):
        if options[name] is not None and not (_is_number(options[name]) and options[name] > 0):
            raise InputError(argument=name, got=shown(options[name]), allowed="above 0, finite", remedy=_LEAVE_OUT)
    for name in ("l1", "bare_weight", "budget"):
        if not (_is_number(options[name]) and options[name] >= 0):
            raise InputError(argument=name, got=shown(options[name]), allowed="0 or more, finite", remedy=_LEAVE_OUT)
    if options["radius"] is not None:
        check_radius(options["radius"])
    if options["context"] is not None:
        as_count(options["context"], "context")
    if options["max_iterations"] is not None:
        as_count(options["max_iterations"], "max_iterations", minimum=1)


def _is_number(value: object) -> bool:
    return type(value) is not bool and isinstance(value, Real) and math.isfinite(value)


def _refuse_idle(options: Mapping[str, Any]) -> None:
    """Options that the method, or what else is asked for, has no use for."""
    method = options["method"]
    if method in ("node", "moments"):
        idle = [name for name, is_given in _OF_A_CHAIN.items() if is_given(options[name])]
        if idle:
            named, are = words(", ".join(f"{{{name}}}" for name in idle)), "is" if len(idle) == 1 else "are"
            raise InputError(
                words("{0} {1} given with method {2}; allowed: with chains only.", named, are, repr(method)),
                remedy=words("Leave {0} out, or take {method=chain}.", "it" if len(idle) == 1 else "them"),
            )
    for name in ("l1", "radius"):
        if options["edges"] == "cheap" and options[name]:
            raise InputError(
                words("is {0} with {edges=cheap}", shown(options[name])),
                argument=name,
                allowed="0, as cheap edges are weighted and nothing else is fitted with them",
                remedy=words("Leave {0} out, or take {edges=likelihood}.", Argument(name)),
            )
    if options["bare_weight"] != 1 and not len(options["classes"]):
        raise InputError(
            f"is {shown(options['bare_weight'])} without classes",
            argument="bare_weight",
            allowed="1, as bare text makes classes of words and nothing else",
            remedy="Give classes=(40, 150) as well, or leave it out.",
        )


def usual_penalty(regions: RegionCounts | HeldRegions, method: str) -> float:
    """λ of the penalty where none is given: the one that had the highest likelihood of held-out counts."""
    # Labels are closed, and say nothing of how counts were asked for.
    if isinstance(regions, HeldRegions):
        closed, counted = regions.summary.longer
    else:
        closed, counted = int(regions.closed[regions.lengths > 1].sum()), int((regions.lengths > 1).sum())
    if method == "moments" or not counted:
        return 0.3
    return 0.6 if closed / counted > 0.5 else 1.0


# -- what is taken where nothing is asked for --------------------------------------------------------------------------


# Multiplications of a fit of the edges (about 60 evaluations of three products of K × K by token, and the sums over
# counts) beyond which cheap edges are taken: about an hour on one processor.
_MOST_WORK = 3e13
_EVALUATIONS, _PRODUCTS = 60, 3
# Tokens of a lattice cost about as much as so many products of K × K.
_LATTICE = 8


def choose_method(
    regions: RegionCounts, budget: float, most_work: float = _MOST_WORK
) -> tuple[Literal["node", "chain"], Literal["likelihood", "cheap"]]:
    """The model, and how its edges are found: cheaply where a fit would take more multiplications than `most_work`.

    Sums over counts are exact up to a budget of states × entries².

    >>> from askance.text.corpus.corpus import Corpus
    >>> labels = RegionCounts.of_labels(Corpus.of([["a", "b"]], [["X", None]]))
    >>> choose_method(labels, 1e5)
    ('node', 'likelihood')
    """
    if not _has_neighbours(regions):
        return "node", "likelihood"
    work = _EVALUATIONS * (_tokens(regions) * _PRODUCTS * len(regions.tagset) ** 2.0 + _sums(regions, budget))
    return "chain", "likelihood" if work <= most_work else "cheap"


def _has_neighbours(regions: RegionCounts) -> bool:
    """Whether something is known of two tokens next to each other."""
    if (regions.lengths > 1).any():
        return True
    known = np.unique(regions.start)
    following = known[1:][np.diff(known) == 1]
    firsts = regions.corpus.starts[:-1]
    return bool(np.isin(following, firsts, invert=True).any())


def _tokens(regions: RegionCounts) -> float:
    """Tokens that a pass runs over, about."""
    counted = regions.take(regions.lengths > 1)
    start, end = stretches(counted, 2)
    single = regions.start[regions.lengths == 1]
    sentences = np.unique(np.searchsorted(regions.corpus.starts, single, side="right") - 1)
    return float((end - start).sum() + regions.corpus.lengths[sentences].sum())


def _sums(regions: RegionCounts, budget: float) -> float:
    """Multiplications of the sums over counts, about."""
    counted = regions.take((regions.lengths > 1) & regions.is_possible)
    tags = len(regions.tagset)
    cost = sum_cost(entry_layout(lay_out(counted), tags))
    lattices = counted.lengths[cost > budget].sum() * _LATTICE * tags**2.0
    return float(cost[cost <= budget].sum() * 3 + lattices)
