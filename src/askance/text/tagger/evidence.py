"""What a tagger is trained on: checked once, and what follows from it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Literal

import numpy as np

from askance._arrays import FloatArray
from askance._checks import shown
from askance.errors import EmptyDataError, InputError, UnaskedTagsWarning
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.held_regions import HeldRegions
from askance.text.counts.indistinct_tags import warn_of_indistinct
from askance.text.counts.miscounts import MiscountsBy, require_annotators


def checked_held_out(
    regions: object, held_out: object, miscounts: MiscountsBy | Literal["estimate"] | None
) -> RegionCounts | None:
    """Refuse what cannot be learned from; the held-out regions, within the tag set of the others.

    Args:
        regions: what is to be learned from.
        held_out: other regions, or None.
        miscounts: how often people miscount; by annotator, the annotators of all regions must be among them.

    Warns:
        UnaskedTagsWarning: several tags were never asked for.
        IndistinctTagsWarning: tags have equal counts in all regions, or are the same share of each; not looked for
            where an engine holds the regions.
    """
    known: RegionCounts | HeldRegions
    if isinstance(regions, HeldRegions):
        known = regions
    else:
        known = _counts(regions, "regions", "Take read_regions(path).regions, sample_regions(corpus, …) or ")
        warn_of_indistinct(known, stacklevel=3)
    others = None if held_out is None else _counts(held_out, "held_out", "Take read_regions(path).regions or ")
    if isinstance(miscounts, Mapping):
        require_annotators(miscounts, known, *([] if others is None else [others]))
    _warn_of_unasked(known)
    return others if others is None or others.tagset == known.tagset else others.with_tagset(known.tagset)


def refuse_idle(held_out: object, idle: str | None) -> None:
    """Refuse held-out regions that would do nothing: `idle` says how the tagger is trained, None that they stop it."""
    if held_out is not None and idle is not None:
        raise InputError(
            f"held_out is given, and the tagger is trained by {idle}; allowed: with a likelihood, which it stops.",
            remedy="Leave held_out out.",
        )


def _counts(regions: object, name: str, others: str) -> RegionCounts:
    """Refuse what are no regions, and none that count."""
    if not isinstance(regions, RegionCounts):
        raise InputError(
            f"{name} is {shown(regions)}; allowed: RegionCounts.", remedy=f"{others}RegionCounts.of_labels(corpus)."
        )
    what = "regions" if name == "regions" else "held-out regions"
    if not len(regions):
        raise EmptyDataError(f"there are no {what}.", remedy="Give at least one, or leave them out.")
    counted = regions.with_positive_weight()
    if not len(counted):
        raise EmptyDataError(f"all {what} have the weight 0.", remedy="Give some a weight above 0.")
    return counted


def sizes_of(regions: RegionCounts | HeldRegions) -> tuple[tuple[str, ...], tuple[int, int, int, int]]:
    """The words that regions cover; regions of two tokens or more, labels, other single tokens, and tokens in all."""
    if isinstance(regions, HeldRegions):
        every, labelled, others, tokens = regions.summary.sizes[:4].tolist()
        return tuple(sorted(regions.words)), (every - labelled - others, labelled, others, tokens)
    words = tuple(regions.corpus.words[t] for t in np.flatnonzero(regions.token_counts).tolist())
    single, tokens = int((regions.lengths == 1).sum()), int(regions.lengths.sum())
    return words, (len(regions) - single, regions.labelled, single - regions.labelled, tokens)


def token_weights(regions: RegionCounts, bare: float) -> FloatArray:
    """1 for the tokens of sentences that something is known of, `bare` for others, shape (N,)."""
    corpus = regions.corpus
    weight = np.full(len(corpus), bare)
    weight[regions.sentence] = 1.0
    return np.repeat(weight, corpus.lengths)


def _warn_of_unasked(regions: RegionCounts | HeldRegions) -> None:
    """Tags that nobody looked for share what is left: which of them a word gets is chance."""
    never = [name for name, seen in zip(regions.tagset, regions.asked, strict=True) if not seen]
    if len(never) > 1:
        some = ", ".join(never[:5]) + (", …" if len(never) > 5 else "")
        warnings.warn(
            f"{len(never)} of {len(regions.tagset)} tags were never asked for and cannot be told apart ({some}): words "
            "get one of them by chance. Ask for more tags, or count the others as one tag.",
            UnaskedTagsWarning,
            stacklevel=4,
        )
