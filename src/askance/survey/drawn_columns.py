"""What columns say of how respondents were drawn: clusters in strata, replicate weights, and which errors follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import as_floats, number, one_of, shorten, shown
from askance._words import words
from askance.errors import InputError
from askance.evidence.chunks import all_clusters
from askance.evidence.replication import Replication
from askance.evidence.responses import Responses
from askance.evidence.strata import Strata
from askance.survey.drawn import Drawn
from askance.survey.survey_rows import SurveyRows

_KINDS = ("JK1", "JKn", "BRR", "Fay", "bootstrap")
# Columns that are a combination of the others to this share of their length say nothing new, as in R.
_DEPENDENT = 1e-5
# Fewer clusters, taken as they are, say little of how clusters differ.
_FEW = 30


def read_strata(rows: SurveyRows, name: str) -> tuple[AnyArray, Strata]:
    """Clusters within strata, numbered from 0, of every row, and their strata; without clusters every row is one.

    The same name of a cluster in another stratum is another cluster.
    """
    drawn, place = rows.drawn, rows.groups(name, "strata")
    own = np.arange(len(rows)) if drawn.cluster is None else rows.groups(drawn.cluster)
    _, first, codes = np.unique(place * (own.max() + 1) + own, return_index=True, return_inverse=True)
    home = place[first]
    counts = np.bincount(home)
    if drawn.lonely_psu == "error" and (counts == 1).any():
        value = rows.column(name).values[first[int(np.flatnonzero(counts[home] == 1)[0])]].item()
        named = f"{value:g}" if isinstance(value, float) else shown(value)
        raise InputError(
            f"stratum {named} of column {name!r} has one cluster, which says nothing of its spread.",
            remedy=words("Join it with a neighbour, or write {lonely_psu=adjust}, which takes its distance from all."),
        )
    fraction = np.zeros(len(first)) if drawn.fpc is None else _fractions(rows, drawn.fpc, place, counts)[home]
    return codes.reshape(-1), Strata(home, fraction)


def _fractions(rows: SurveyRows, name: str, place: AnyArray, counts: AnyArray) -> FloatArray:
    """The share of the clusters of every stratum that was drawn, shape (H,)."""
    sizes = rows.weights(name)
    low, high = np.full(len(counts), np.inf), np.zeros(len(counts))
    np.minimum.at(low, place, sizes)
    np.maximum.at(high, place, sizes)
    whole = high if (high <= 1).all() else counts / high
    if (low != high).any() or (whole >= 1).any() or ((high <= 1).any() and (high > 1).any()):
        raise InputError(
            f"column {name!r} holds other numbers in one stratum, no more clusters than were drawn, or shares beside "
            "numbers.",
            remedy="Give how many clusters each stratum has, or the share of them that was drawn, below 1.",
        )
    return np.asarray(whole)


# -- replicate weights -------------------------------------------------------------------------------------------------


def read_replicates(rows: SurveyRows) -> tuple[FloatArray, Replication]:
    """The replicate weights of every row, shape (n, R), and their `Replication`."""
    names = rows.drawn.copies(rows.table.names)
    scale, scales = _scaling(rows.drawn, len(names))
    table = np.column_stack([rows.weights(name, zero=True) for name in names])
    length = np.sqrt((table * table).sum(axis=0))
    if not length.all():
        raise InputError(f"column {names[int(np.argmin(length))]!r} holds no weight above 0.", remedy="Leave it out.")
    freedom = float(np.linalg.matrix_rank(table / length, tol=_DEPENDENT)) - 1
    if freedom < 1:
        raise InputError("all replicates have the same weights.", remedy="Check the columns.")
    return table, Replication(scale, scales, freedom)


def _scaling(drawn: Drawn, count: int) -> tuple[float, FloatArray]:
    """Scale and scales, R's where none are given."""
    kind = one_of(drawn.replicate_kind, _KINDS, "replicate_kind", "The documentation of the survey says which.")
    if kind == "JKn" and drawn.replicate_scales is None:
        raise InputError(
            words("JKn needs {replicate_scales}: (n − 1)/n of the stratum of every replicate."),
            remedy=words("Give {replicate_scales}, one for each of the {0} replicates.", str(count)),
        )
    if (kind == "Fay") != (drawn.fay is not None):
        raise InputError(
            words("{fay} is {0}, and {replicate_kind} is {1}.", shown(drawn.fay), kind),
            remedy=words("Give {fay}, which is ρ, with replicates of the kind Fay, and only then."),
        )
    if kind in ("BRR", "Fay") and drawn.replicate_scale is not None:
        raise InputError(words("{0} has no {replicate_scale}.", kind), remedy="Leave it out.")
    rho = 0.0 if drawn.fay is None else number(drawn.fay, "fay", 0, 1, open=True, remedy="0.5 and 0.3 are usual.")
    usual = {"JK1": (count - 1) / count, "JKn": 1.0, "bootstrap": 1 / (count - 1)}
    scale = usual.get(kind, 1 / (count * (1 - rho) ** 2)) if drawn.replicate_scale is None else drawn.replicate_scale
    given = drawn.replicate_scales
    scales = np.ones(count) if given is None else as_floats(given, "replicate_scales")
    if scales.shape != (count,) or not (scales >= 0).all() or not scales.any():
        raise InputError(
            words("{replicate_scales} are {0}; allowed: {1} numbers from 0.", shown(given), str(count)),
            remedy="Give one for every replicate, in their order.",
        )
    return number(scale, "replicate_scale", 0, open=True, remedy="Leave it out for R's."), scales


# -- which errors follow -----------------------------------------------------------------------------------------------


def on_drawn(drawn: Drawn, fit: Any, evidence: Responses[Any]) -> list[str]:
    """By what rows are weighted, and which errors their fit has."""
    weighted = [] if drawn.weights is None else [f"weighted by {drawn.weights}"]
    if evidence.strata is not None:
        return [*weighted, f"std. errors: {_on_strata(drawn, evidence)}"]
    if drawn.cluster is not None:
        return [*weighted, f"std. errors: {_on_clusters(fit, evidence, drawn.cluster)}"]
    if drawn.replicates is None:
        return weighted
    if fit.replicates is None or fit.freedom is None:
        return [*weighted, "replicate weights are not part of the posterior's spread"]
    known = f"t with {fit.freedom.number:g} degrees of freedom"
    return [*weighted, f"std. errors: {len(fit.replicates)} replicate weights ({drawn.replicate_kind}), {known}"]


def _on_strata(drawn: Drawn, evidence: Responses[Any]) -> str:
    assert evidence.strata is not None
    count, own = len(evidence.strata.place), len(np.unique(evidence.strata.place))
    each = f"{count} clusters by {drawn.cluster}" if drawn.cluster else f"{count} rows"
    return f"{each} in {own} strata by {drawn.strata}, t with {evidence.strata.freedom:g} degrees of freedom"


def _on_clusters(fit: Any, evidence: Responses[Any], name: str) -> str:
    count = len(all_clusters(evidence))
    if fit.freedom is None:
        few = ", which are few: errors tend to be too small" if count < _FEW else ""
        return f"{count} clusters by {name}{few}"
    alone = [n for n, known in zip(fit.parameter_names, fit.degrees_of_freedom.tolist(), strict=True) if known != known]
    gap = f"; one cluster alone tells of {shorten(alone)}, and no interval is known" if alone else ""
    return f"CR2, {count} clusters by {name}, with Satterthwaite's degrees of freedom{gap}"
