"""Mean statistics that were asked for in several ways, as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askance._checks import as_list, shorten, shown
from askance._threads import one_thread
from askance.channels.differences import between_purposes
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError
from askance.estimation.results.mean_statistics import MeanStatistics


@one_thread
def combine_means(means: Sequence[MeanStatistics]) -> MeanStatistics:
    """One mean of every statistic from reports through different channels: each counts by its precision.

    With μ̂_ij of standard error s_ij from channel i, w_ij ∝ 1/s_ij² and Σ_i w_ij = 1:

        μ̂_j = Σ_i w_ij μ̂_ij,    s_j² = 1 / Σ_i s_ij⁻².

    The weights are estimated, which matters by O(1/n). Sums of reports tell nothing about covariances between
    statistics: each is combined for itself. Reports of one channel are added up with + instead, which loses nothing.

    Args:
        means: of the same statistics of the same population, from `estimate_mean`; everybody reported once.

    Returns:
        the combined means; `channel` is {"kind": "combined", "parts": […]}, `privacy_level` the largest of the parts.

    >>> from askance import PerValue, Tally, estimate_mean
    >>> tallies = [Tally(PerValue(2, level), [600, 500], 1000) for level in (1, 2)]
    >>> first, second = map(estimate_mean, tallies)
    >>> both = combine_means([first, second])
    >>> bool((both.standard_errors < second.standard_errors).all()), both.n_observations
    (True, 2000)
    """
    parts = as_list(means, "means", "[estimate_mean(before), estimate_mean(after)]")
    if not parts:
        raise EmptyDataError("means is empty; allowed: at least one.", remedy="Give one estimate_mean per channel.")
    for i, part in enumerate(parts):
        if not isinstance(part, MeanStatistics):
            raise InputError(
                f"means[{i}] is {shown(part)}; allowed: what estimate_mean returns.",
                remedy="Give estimate_mean(tally) for every tally; pool tallies of answers with pool.",
            )
        if part.names != parts[0].names:
            raise IncompatibleEvidenceError(
                f"means[0] is about {shorten(parts[0].names)}, means[{i}] about {shorten(part.names)}.",
                remedy="Combine means of the same statistics, in the same order.",
            )
        one, other = _purpose(parts[0]), _purpose(part)
        if one != other:
            raise IncompatibleEvidenceError(
                f"means[0] is for the purpose {one or None!r}, means[{i}] for {other or None!r}.",
                remedy=between_purposes(one, other),
            )
    precisions = np.array([part.standard_errors for part in parts]) ** -2.0
    total = precisions.sum(axis=0)
    return MeanStatistics(
        alarm="; ".join(dict.fromkeys(part.alarm for part in parts if part.alarm)),
        names=parts[0].names,
        mean=(precisions * np.array([part.mean for part in parts])).sum(axis=0) / total,
        standard_errors=total**-0.5,
        n_observations=sum(part.n_observations for part in parts),
        averaging=parts[0].averaging,
        channel={"kind": "combined", "parts": [dict(part.channel) for part in parts]}
        | ({"purpose": _purpose(parts[0])} if _purpose(parts[0]) else {}),
        privacy_level=max(part.privacy_level for part in parts),
    )


def _purpose(means: MeanStatistics) -> str:
    return str(means.channel.get("purpose", ""))
