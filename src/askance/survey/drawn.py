"""How respondents were drawn, and what that makes of standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import one_of, shorten, shown
from askance._words import words
from askance.errors import InputError
from askance.evidence.responses import Responses
from askance.evidence.strata import Strata
from askance.survey.survey_rows import SurveyRows

# Fewer clusters, taken as they are, say little of how clusters differ.
_FEW = 30


def read_strata(
    rows: SurveyRows, strata: str, cluster: str | None, fpc: str | None, lonely: str
) -> tuple[AnyArray, Strata]:
    """Clusters within strata, numbered from 0, of every row, and their strata; without clusters every row is one.

    Args:
        rows: of the table.
        strata: name of the column of strata.
        cluster: name of the column of clusters; the same name in another stratum is another cluster.
        fpc: name of the column with the number of clusters that there are in the stratum, or the share that was drawn.
        lonely: "error" or "adjust": what to do about a stratum with one cluster.
    """
    one_of(lonely, ("error", "adjust"), "lonely_psu", "The default is error.")
    place = rows.groups(strata, "strata")
    own = np.arange(len(rows)) if cluster is None else rows.groups(cluster)
    _, first, codes = np.unique(place * (own.max() + 1) + own, return_index=True, return_inverse=True)
    home = place[first]
    counts = np.bincount(home)
    if lonely == "error" and (counts == 1).any():
        name = rows.column(strata).values[first[int(np.flatnonzero(counts[home] == 1)[0])]].item()
        named = f"{name:g}" if isinstance(name, float) else shown(name)
        raise InputError(
            f"stratum {named} of column {strata!r} has one cluster, which says nothing of its spread.",
            remedy=words("Join it with a neighbour, or write {lonely_psu=adjust}, which takes its distance from all."),
        )
    fraction = np.zeros(len(first)) if fpc is None else _fractions(rows, fpc, place, counts)[home]
    return codes.reshape(-1), Strata(home, fraction)


def _fractions(rows: SurveyRows, name: str, place: AnyArray, counts: AnyArray) -> FloatArray:
    """The share of the clusters of every stratum that was drawn, shape (H,)."""
    given = rows.weights(name)
    low, high = np.full(len(counts), np.inf), np.zeros(len(counts))
    np.minimum.at(low, place, given)
    np.maximum.at(high, place, given)
    whole = high if (high <= 1).all() else counts / high
    if (low != high).any() or (whole >= 1).any() or ((high <= 1).any() and (high > 1).any()):
        raise InputError(
            f"column {name!r} holds other numbers in one stratum, no more clusters than were drawn, or shares beside "
            "numbers.",
            remedy="Give how many clusters each stratum has, or the share of them that was drawn, below 1.",
        )
    return np.asarray(whole)


def on_strata(evidence: Responses[Any], strata: str, cluster: str | None) -> str:
    """Which errors a fit has whose clusters were drawn from strata, in words."""
    assert evidence.strata is not None
    count, own = len(evidence.strata.place), len(np.unique(evidence.strata.place))
    drawn = f"{count} clusters by {cluster}" if cluster else f"{count} rows"
    return f"std. errors: {drawn} in {own} strata by {strata}, t with {evidence.strata.freedom:g} degrees of freedom"


def on_clusters(fit: Any, evidence: Responses[Any], name: str) -> str:
    """Which errors a fit has whose rows stand in clusters, in words."""
    count = len(np.unique(np.concatenate([np.asarray(chunk.clusters) for chunk in evidence.chunks])))
    if fit.freedom is None:
        few = ", which are few: errors tend to be too small" if count < _FEW else ""
        return f"std. errors: {count} clusters by {name}{few}"
    alone = [n for n, known in zip(fit.parameter_names, fit.degrees_of_freedom.tolist(), strict=True) if known != known]
    gap = f"; one cluster alone tells of {shorten(alone)}, and no interval is known" if alone else ""
    return f"std. errors: CR2, {count} clusters by {name}, with Satterthwaite's degrees of freedom{gap}"
