"""What is known of single tokens, as evidence of a chain: labels, allowed tags, and all others open."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray
from askance.text.chain.evidence import AllowedEvidence, Evidence, LabelledEvidence
from askance.text.chain.layout import ChainLayout
from askance.text.chain.potentials import TokenPlaces
from askance.text.corpus.region_groups import lay_out
from askance.text.corpus.regions import RegionCounts


def token_evidence(regions: RegionCounts, places: TokenPlaces) -> list[Evidence]:
    """The evidence of regions of one token each.

    All that is known of the tokens of a sentence is taken together, so a sentence whose tokens all have a label is one
    labelled sequence. Where its tokens have different weights, those of each weight are taken together. What is said of
    a token twice counts twice, and where annotators disagree what each says is evidence of its own.

    Args:
        regions: of length 1.
        places: of the tokens of their corpus.
    """
    lay_out(regions)  # refuses counts that cannot be
    allowed, starts = _allowed(regions), regions.corpus.starts
    sentence = regions.sentence
    found: list[Evidence] = []
    for chosen in _layers(sentence, regions.weights, _repeats(regions.start, regions.weights, allowed)):
        table = np.ones((regions.corpus.n_tokens, len(regions.tagset)), dtype=bool)
        np.logical_and.at(table, regions.start[chosen], allowed[chosen])
        known, first = np.unique(sentence[chosen], return_index=True)
        weight = regions.weights[chosen][first]
        single = np.bincount(
            np.searchsorted(starts, np.flatnonzero(table.sum(axis=1) == 1), side="right") - 1, minlength=len(starts)
        )
        complete = single[known] == regions.corpus.lengths[known]
        for is_complete in (True, False):
            own = known[complete == is_complete]
            if not len(own):
                continue
            layout = ChainLayout.of(starts[own], starts[own + 1])
            weights = _or_none(weight[complete == is_complete])
            if is_complete:
                tags = table.argmax(axis=1).astype(np.int16)
                found.append(LabelledEvidence(places, layout, tags, len(regions.tagset), weights))
            else:
                found.append(AllowedEvidence(layout, table, weights))
    return found


def _allowed(regions: RegionCounts) -> npt.NDArray[np.bool_]:
    """The tags that the token of each region may have, shape (R, K)."""
    allowed = np.repeat(~regions.closed[:, None], len(regions.tagset), axis=1)
    allowed[regions.entry_region, regions.tag] = regions.high >= 1
    certain = np.flatnonzero(regions.low >= 1)
    allowed[regions.entry_region[certain]] = False
    allowed[regions.entry_region[certain], regions.tag[certain]] = True
    return allowed


def _repeats(token: IntArray, weight: FloatArray, allowed: npt.NDArray[np.bool_]) -> IntArray:
    """Which statements can be taken together, as numbers of parts, shape (R,).

    What is said of a token in the same words, or in contradiction to what else is said, is put into different parts.
    """
    told = np.stack([token, weight], axis=1)
    rank = _occurrence(np.concatenate([told, np.packbits(allowed, axis=1)], axis=1))
    group = np.unique(told, axis=0, return_inverse=True)[1].reshape(-1)
    common = np.ones((len(told), allowed.shape[1]), dtype=bool)
    np.logical_and.at(common, group, allowed)
    divided = np.asarray(~common.any(axis=1))[group]
    return np.where(divided, _occurrence(told), rank)


def _occurrence(rows: AnyArray) -> IntArray:
    """How many rows before are equal to each, shape (R,)."""
    _, group = np.unique(rows, axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    ordered = group.reshape(-1)[order]
    found = np.empty(len(rows), dtype=np.int64)
    found[order] = np.arange(len(rows)) - np.searchsorted(ordered, ordered)
    return found


def _layers(sentence: IntArray, weight: FloatArray, repeats: IntArray) -> list[IntArray]:
    """Numbers of regions, divided so that within each part the regions of a sentence have one weight, none repeated."""
    if (weight == 1).all() and not repeats.any():
        return [np.arange(len(weight))]
    kinds, group = np.unique(np.stack([sentence, weight, repeats]), axis=1, return_inverse=True)
    first = np.searchsorted(kinds[0], kinds[0])  # the first group of the same sentence
    layer = (np.arange(len(first)) - first)[group.reshape(-1)]
    return [np.flatnonzero(layer == number) for number in range(int(layer.max()) + 1)]


def _or_none(weight: FloatArray) -> FloatArray | None:
    return None if (weight == 1).all() else weight
