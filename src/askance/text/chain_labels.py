"""What is known of single tokens, as evidence of a chain: labels, allowed tags, and all others open."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from askance._arrays import FloatArray, IntArray
from askance.errors import InputError
from askance.text.chain_evidence import AllowedEvidence, Evidence, LabelledEvidence
from askance.text.chain_layout import ChainLayout
from askance.text.chain_potentials import TokenPlaces
from askance.text.regions import RegionCounts


def token_evidence(regions: RegionCounts, places: TokenPlaces) -> list[Evidence]:
    """The evidence of regions of one token each.

    All that is known of the tokens of a sentence is taken together, so a sentence whose tokens all have a label is one
    labelled sequence. Where its tokens have different weights, those of each weight are taken together; what is said
    of a token twice counts twice.

    Args:
        regions: of length 1.
        places: of the tokens of their corpus.
    """
    allowed, starts = _allowed(regions), regions.corpus.starts
    sentence = np.searchsorted(starts, regions.start, side="right") - 1
    found: list[Evidence] = []
    for chosen in _layers(sentence, regions.weights, _repeats(regions.start, allowed)):
        table = np.ones((regions.corpus.n_tokens, len(regions.tagset)), dtype=bool)
        np.logical_and.at(table, regions.start[chosen], allowed[chosen])
        _require_a_tag(table, regions)
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


def _repeats(token: IntArray, allowed: npt.NDArray[np.bool_]) -> IntArray:
    """How often the same was said of the same token before, shape (R,)."""
    said = np.concatenate([token[:, None], np.packbits(allowed, axis=1)], axis=1)
    _, group = np.unique(said, axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    ordered = group.reshape(-1)[order]
    repeats = np.empty(len(token), dtype=np.int64)
    repeats[order] = np.arange(len(token)) - np.searchsorted(ordered, ordered)
    return repeats


def _layers(sentence: IntArray, weight: FloatArray, repeats: IntArray) -> list[IntArray]:
    """Numbers of regions, divided so that within each part the regions of a sentence have one weight, none repeated."""
    if (weight == 1).all() and not repeats.any():
        return [np.arange(len(weight))]
    kinds, group = np.unique(np.stack([sentence, weight, repeats]), axis=1, return_inverse=True)
    first = np.searchsorted(kinds[0], kinds[0])  # the first group of the same sentence
    layer = (np.arange(len(first)) - first)[group.reshape(-1)]
    return [np.flatnonzero(layer == number) for number in range(int(layer.max()) + 1)]


def _require_a_tag(table: npt.NDArray[np.bool_], regions: RegionCounts) -> None:
    """Refuse tokens whose regions contradict each other."""
    empty = np.flatnonzero(~table.any(axis=1))
    if len(empty):
        corpus, token = regions.corpus, int(empty[0])
        sentence = int(np.searchsorted(corpus.starts, token, side="right")) - 1
        raise InputError(
            f"token {token - int(corpus.starts[sentence])} ({corpus.words[corpus.tokens[token]]!r}) of sentence "
            f"{corpus.name(sentence)} is given tags that exclude each other; allowed: at least one tag in common.",
            remedy="Correct one of them.",
        )


def _or_none(weight: FloatArray) -> FloatArray | None:
    return None if (weight == 1).all() else weight
