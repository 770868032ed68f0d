"""How a tagger came about, for people line by line: what was given, what was learned, how well it fits."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from askance.errors import EmptyDataError
from askance.tables import as_json
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.identifiability import Unsettled, unsettled_words
from askance.text.counts.miscounts import Miscounts

if TYPE_CHECKING:
    from askance.text.tagger.tagger import CountTagger


@dataclass(frozen=True)
class Training:
    """How a tagger came about."""

    method: str  # "moments", "node" or "chain"
    regions: int  # how many stretches of two tokens or more were used
    labelled_tokens: int  # single tokens with a label
    single_tokens: int  # what else is known of single tokens: lists of allowed tags, answers about some tags
    tokens: int  # tokens in all of these
    types: int  # different words among these
    features: int  # of the words, and of the words around them
    iterations: int  # of the convex fit and of the likelihood
    converged: bool  # whether the last of them did
    log_likelihood: float  # of what is known, per region (NaN for moments)
    exact_regions: int  # how many of them, single tokens included, the likelihood was exact for
    edges: str  # "none", "cheap" (pairs of tags expected given the counts, weighted) or "likelihood"
    edge_weight: float  # that weight, chosen on held-out regions; NaN where there is none
    held_out: float  # log-likelihood of the held-out regions, per region; NaN without them
    stopped_early: bool  # whether they stopped the training
    seconds: float  # of processor time

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {name: as_json(value) for name, value in asdict(self).items()}


# -- for people and programs -------------------------------------------------------------------------------------------


def left_open(known: RegionCounts) -> Unsettled | None:
    """What counts and labels leave open of words; None where that is not known, or nothing was asked."""
    try:
        return unsettled_words(known)
    except EmptyDataError:  # a tagger can be made of nothing, and warns of it
        return None


def training_rows(tagger: CountTagger, unsettled: Unsettled | None) -> list[tuple[str, str]]:
    """A name and a value each, for people; `unsettled` as `left_open` tells it."""
    training = tagger.training
    assert training is not None
    known = training.regions + training.labelled_tokens + training.single_tokens
    rows = [
        ("method", training.method),
        ("tags", f"{len(tagger.tagset)}: {', '.join(tagger.tagset[:12])}{', …' if len(tagger.tagset) > 12 else ''}"),
        ("regions", f"{training.regions:,} of two words or more"),
        ("labelled tokens", f"{training.labelled_tokens:,}"),
    ]
    if training.single_tokens:
        rows.append(("other single tokens", f"{training.single_tokens:,}, of which something else is known"))
    rows += [("tokens in all of them", f"{training.tokens:,}"), ("different words", f"{training.types:,}")]
    if unsettled is not None and unsettled.words:
        left = f"{unsettled.words:,} with {unsettled.tokens:,} tokens"
        rows.append(("not settled by counts", f"{left}: by what words have in common"))
    rows.append(("features", f"{training.features:,}"))
    if tagger.l1 > 0:
        rows.append(("scores other than 0", f"{(tagger.theta != 0).sum():,} of {tagger.theta.size:,}"))
    if training.edges != "none":
        weight = f", weight {training.edge_weight:g}" if training.edges == "cheap" else ""
        rows.append(("edges", training.edges + weight))
    rows.append(("iterations", f"{training.iterations}{'' if training.converged else ' (not converged)'}"))
    if training.method != "moments":
        rows.append(("exact regions", f"{training.exact_regions:,} of {known:,}, single tokens included"))
        rows.append(("log-likelihood per region", f"{training.log_likelihood:.4f}"))
    if not math.isnan(training.held_out):
        stopped = " (stopped early)" if training.stopped_early else ""
        rows.append(("held out, per region", f"{training.held_out:.4f}{stopped}"))
    for name, rates in _rates_of(tagger).items():
        who = f"{name} miscounts" if name else "miscounts"
        missed, extra = (_percent(rates, name) for name in ("missed", "extra"))
        rows.append((who, f"{missed} missed, {extra} one too many"))
    return rows


def training_as_json(tagger: CountTagger, unsettled: Unsettled | None) -> dict[str, Any]:
    """The same for programs."""
    assert tagger.training is not None
    rates = {name: _rate_fields(rate) for name, rate in _rates_of(tagger).items()}
    open_words = None if unsettled is None else unsettled._asdict()
    return {**tagger.training.to_json(), "miscounts": rates, "unsettled": open_words}


def _rates_of(tagger: CountTagger) -> dict[str, Miscounts]:
    """Miscounts by annotator, "" for all."""
    used = tagger.miscounts_used
    return {} if used is None else {"": used} if isinstance(used, Miscounts) else dict(sorted(used.items()))


def _percent(rates: Miscounts, name: str) -> str:
    """A rate in per cent, with half the width of its 95 % interval where it was estimated.

    >>> from askance.text.counts.miscount_errors import EstimatedMiscounts
    >>> _percent(EstimatedMiscounts(0.125, 0.0, 0.02), "missed"), _percent(EstimatedMiscounts(0.125, 0.0), "extra")
    ('12.5 ± 3.9 %', '0.0 %')
    """
    half = 1.96 * getattr(rates, f"{name}_error", math.nan)
    known = "" if math.isnan(half) else f" ± {100 * half:.1f}" if math.isfinite(half) else " ± ?"
    return f"{100 * getattr(rates, name):.1f}{known} %"


def _rate_fields(rates: Miscounts) -> dict[str, float | None]:
    """Rates, and their standard errors where they were estimated; None: not known."""
    names = ("missed", "extra", "missed_error", "extra_error")
    return {name: as_json(float(getattr(rates, name))) for name in names if hasattr(rates, name)}
