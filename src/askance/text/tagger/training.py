"""How a tagger came about."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from askance.tables import as_json


@dataclass(frozen=True)
class Training:
    """How a tagger came about.

    Attributes:
        method: "moments", "node" or "chain".
        regions: how many stretches of two tokens or more were used.
        labelled_tokens: single tokens with a label.
        single_tokens: what else is known of single tokens: lists of allowed tags, answers about some tags.
        tokens: tokens in all of these.
        types: different words among these.
        features: of the words, and of the words around them.
        iterations: of the convex fit and of the likelihood.
        converged: whether the last of them did.
        log_likelihood: of what is known, per region (NaN for moments).
        exact_regions: how many of them, single tokens included, the likelihood was exact for.
        edges: "none", "cheap" (pairs of tags expected given the counts, weighted) or "likelihood".
        edge_weight: that weight, chosen on held-out regions; NaN where there is none.
        held_out: log-likelihood of the held-out regions, per region; NaN without them.
        stopped_early: whether they stopped the training.
        seconds: of processor time.
    """

    method: str
    regions: int
    labelled_tokens: int
    single_tokens: int
    tokens: int
    types: int
    features: int
    iterations: int
    converged: bool
    log_likelihood: float
    exact_regions: int
    edges: str
    edge_weight: float
    held_out: float
    stopped_early: bool
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {name: as_json(value) for name, value in asdict(self).items()}
