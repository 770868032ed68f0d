"""Which channel to take for a model at a privacy level: all that fit are built, certified and ranked by their cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import Number, as_count, as_parameter, as_positive_level, shown
from askance._threads import one_thread
from askance.channels import registry
from askance.channels.finite import FiniteChannel
from askance.channels.randomized_response import RandomizedResponse
from askance.channels.registry import AnyChannel
from askance.channels.statistics.ball_release import BallRelease
from askance.channels.statistics.choices import require_choice
from askance.channels.statistics.coordinate_release import CoordinateRelease
from askance.channels.statistics.domains import BinaryDomain
from askance.channels.statistics.hybrid import Hybrid
from askance.channels.statistics.hypercube import Hypercube
from askance.channels.statistics.per_value import PerValue
from askance.channels.statistics.subset_selection import SubsetSelection
from askance.design.certificate import certify
from askance.design.covariances import asymptotics, invert_information
from askance.design.optimum.release import optimal_release
from askance.design.weights import Weights, share_slopes, weights_at
from askance.errors import InputError, NotIdentifiedError
from askance.models.enumerated import Enumerated
from askance.tables import Column, Table, Tabulated

#: How estimates will be made: "best" is the likelihood for channels on answers and moments for those on statistics,
#: which is what the library offers; "moments" compares all by moments.
RankedBy: TypeAlias = Literal["best", "moments"]

# Possible statistics that per-value release compares pair by pair: a few seconds of work.
_MOST_LISTED, _MOST_TUNED = 512, 96
# Costs that agree in so many digits count as equal.
_DIGITS = 9


@dataclass(frozen=True)
class Recommended:
    """One channel that fits.

    Attributes:
        name: its kind, and how it was tuned.
        channel: the channel itself.
        summary: what it does.
        trace: tr W Σ of the estimator that is ranked: the predicted squared error of θ̂, or of the shares of all
            outputs, times n.
        method: that estimator: "likelihood" or "moments".
        moments: tr W Σ_mom; None where there is no unbiased β.
        likelihood: tr W Σ_marg; None for channels on statistics.
        ratio: `trace` over that of the best channel.
        privacy_level: as certified.
        standard_errors: predicted for n respondents, of θ̂, shape (d,), or of the shares of all outputs, shape (m,);
            None when n was not given.
    """

    name: str
    channel: AnyChannel
    summary: str
    trace: float
    method: str
    moments: float | None
    likelihood: float | None
    ratio: float
    privacy_level: float
    standard_errors: FloatArray | None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        errors = None if self.standard_errors is None else self.standard_errors.tolist()
        return {**self.__dict__, "channel": self.channel.specification(), "standard_errors": errors}


@dataclass(frozen=True)
class Recommendation(Tabulated):
    """All channels that fit, the best first.

    Attributes:
        privacy_level: the level that was asked for.
        theta: where costs were predicted, shape (d,).
        n: respondents; None when not given.
        of: what errors are of: "θ", or "shares", of all outputs.
        channels: sorted by `trace`.
        skipped: channels that could not be built for this model, and why.
    """

    privacy_level: float
    theta: FloatArray
    n: int | None
    of: str
    channels: tuple[Recommended, ...]
    skipped: dict[str, str]

    @property
    def best(self) -> Recommended:
        """The channel of least predicted error."""
        return self.channels[0]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        rows = [row.to_json() for row in self.channels]
        return {**self.__dict__, "theta": self.theta.tolist(), "channels": rows}

    def table(self) -> Table:
        """Every channel with its predicted error, the best first; what each is stands in `summary`."""
        columns = [Column("channel"), Column("tr Σ", "significant", "trace", digits=6)]
        columns += [Column("ratio", "decimal", digits=3), Column("level", "significant", "privacy_level", digits=6)]
        columns += [
            Column("estimated by", key="method"),
            Column("largest error", "significant", "largest_error", digits=3),
        ]
        largest = [None if row.standard_errors is None else row.standard_errors.max() for row in self.channels]
        return Table(
            columns,
            [
                (row.name, row.trace, row.ratio, row.privacy_level, row.method, error)
                for row, error in zip(self.channels, largest, strict=True)
            ],
            title=f"Channels at privacy level {self.privacy_level:g}",
            notes=[f"left out: {name}: {reason}" for name, reason in self.skipped.items()],
        )

    def summary(self) -> str:
        """A table for people."""
        errors = self.n is not None
        heading = ["channel", "tr Σ", "ratio", "level", "estimated by", *(["largest error"] if errors else []), ""]
        lines = [heading]
        for row in self.channels:
            cells = [row.name, f"{row.trace:,.6g}", f"{row.ratio:.3f}", f"{row.privacy_level:.6g}", row.method]
            if row.standard_errors is not None:
                cells.append(f"{row.standard_errors.max():.3g}")
            lines.append([*cells, row.summary])
        widths = [max(len(line[i]) for line in lines) for i in range(len(heading))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        what = "of θ, summed over the parameters" if self.of == "θ" else "of the shares, summed over all outputs"
        table.append(f"tr Σ is the predicted squared error {what}, times the number of respondents.")
        who = "" if self.n is None else f", {self.n:,} respondents"
        table.insert(0, f"privacy level {self.privacy_level:g}, θ = {shown(self.theta.tolist())}{who}")
        return "\n".join([*table, *(f"left out: {name}: {reason}" for name, reason in self.skipped.items())])

    __str__ = summary


class ChannelCase(NamedTuple):
    """What builders may look at."""

    model: Enumerated
    level: Number
    theta: FloatArray
    weights: FloatArray  # W, (d, d)
    slopes: FloatArray | None = None  # of the shares of all outputs, (m, d), where their errors are to be told

    @property
    def bounds(self) -> dict[str, Any]:
        """Where the statistics lie."""
        return {"lower": self.model.table.min(axis=1), "statistic_bound": self.model.statistic_ranges}


def _per_value(case: ChannelCase, *, tuned: bool) -> PerValue:
    """Per-value release with the outputs as possible statistics.

    Binary statistics whose norm alone says as much are given by their norm: the same level, found much sooner.
    """
    lower, width = case.bounds["lower"], case.bounds["statistic_bound"]
    shares = np.unique((case.model.table.T - lower) / width, axis=0)
    norms = shares.sum(axis=1)
    if np.isin(shares, (0.0, 1.0)).all():
        d, norm, same = case.model.dimension, int(norms.max()), len(set(norms)) == 1
        domain = BinaryDomain.of_norm(d, norm) if same else BinaryDomain.of_norm_at_most(d, norm)
        fallen = shares @ (1 - shares).T  # how many coordinates are 1 in one row and 0 in the other
        risen = fallen.T
        if ((fallen == domain.falls) & (risen == domain.rises)).any():
            density = float(case.model.probabilities(case.theta) @ ((case.model.table.T - lower) / width).mean(axis=1))
            bound: dict[str, Any] = {"l1_norm": norm} if same else {"max_l1_norm": norm}
            return PerValue(d, case.level, density=density if tuned else None, **bound, **case.bounds)
    most = _MOST_TUNED if tuned else _MOST_LISTED
    if len(shares) > most:
        raise InputError(
            f"the model has {len(shares):,} different statistics; allowed: at most {most:,}, because all pairs are "
            "compared to find the level.",
            remedy="Build PerValue with max_l1_norm instead.",
        )
    return PerValue.for_model(case.model, case.level, case.theta, tuned=tuned)


def _ball(model: Enumerated, level: Number) -> BallRelease:
    """Ball release around 0, or around the middle of the ranges where that ball is smaller."""
    middle = model.table.min(axis=1) + model.statistic_ranges / 2
    radii = {
        float(np.linalg.norm(model.table - centre[:, None], axis=0).max()): centre
        for centre in (middle, np.zeros(model.dimension))
    }
    radius = min(radii)
    return BallRelease(model.dimension, level, radius=radius, centre=radii[radius])


#: Every way to build a channel for a model: name → builder. A new channel joins here.
BUILDERS: dict[str, Callable[[ChannelCase], AnyChannel]] = {
    "randomized-response": lambda case: RandomizedResponse.for_privacy_level(case.level, outputs=case.model.outputs),
    "subset-selection": lambda case: SubsetSelection(case.model.outputs, case.level),
    "coordinate-release": lambda case: CoordinateRelease(case.model.dimension, case.level, **case.bounds),
    "coordinate-release, tuned": lambda case: optimal_release(case.model, case.level, case.theta, weights=case.weights),
    "per-value": lambda case: _per_value(case, tuned=False),
    "per-value, tuned": lambda case: _per_value(case, tuned=True),
    "per-value, one-hot": lambda case: PerValue(
        len(case.model.outputs), case.level, l1_norm=1, density=Fraction(1, len(case.model.outputs))
    ),
    "per-value, one-hot symmetric": lambda case: PerValue(len(case.model.outputs), case.level, l1_norm=1),
    "hypercube": lambda case: Hypercube(case.model.dimension, case.level, **case.bounds),
    "hybrid": lambda case: Hybrid(case.model.dimension, case.level, **case.bounds),
    "ball-release": lambda case: _ball(case.model, case.level),
}


@one_thread
def recommend(
    model: Enumerated,
    privacy_level: Number,
    theta: ArrayLike | None = None,
    n: int | None = None,
    *,
    weights: Weights = None,
    ranked_by: RankedBy = "best",
) -> Recommendation:
    """Rank all channels that fit a model at a privacy level by the predicted error of θ̂, or of shares.

    Every channel is built to spend the level exactly, and certified. Its cost is tr W Σ, the limit of n E‖θ̂ − θ‖²_W.

    Args:
        model: what is to be learned.
        privacy_level: the level every channel may spend.
        theta: a guess of θ, shape (d,) (default: 0). Costs can depend on it a lot.
        n: respondents, to predict standard errors for.
        weights: how much every parameter matters, shape (d,), or W, shape (d, d) (default: all alike); "shares" where
            the shares of the outputs matter rather than the parameters, as in most surveys.
        ranked_by: "best", by the likelihood where the library has it and otherwise by moments; or "moments".

    Raises:
        NotIdentifiedError: the model itself cannot tell some statistics apart.

    >>> model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    >>> found = recommend(model, 1, [5, -1])
    >>> found.best.name, round(found.best.trace, 1), found.best.privacy_level
    ('coordinate-release, tuned', 22568.1, 1.0)
    >>> found = recommend(Enumerated.saturated(12), 1, n=100_000, weights="shares")
    >>> found.best.name, round(float(found.best.standard_errors.max()), 4)
    ('subset-selection', 0.0056)
    """
    level = as_positive_level(privacy_level)
    at = np.zeros(model.dimension) if theta is None else as_parameter(theta, model.dimension)
    respondents = None if n is None else as_count(n, "n", minimum=1)
    require_choice(ranked_by, "ranked_by", ("best", "moments"))
    invert_information(model.fisher_information(at), model.parameter_names, "the model")
    of_shares = isinstance(weights, str)  # "shares", or it is refused
    case = ChannelCase(model, level, at, weights_at(weights, model, at), share_slopes(model, at) if of_shares else None)
    rows, skipped = [], {}
    for name, build in BUILDERS.items():
        try:
            rows.append(_row(name, build(case), case, respondents, ranked_by))
        except (InputError, NotIdentifiedError) as error:
            skipped[name] = error.message
    if not rows:
        raise NotIdentifiedError(
            f"no channel fits this model at level {shown(level)}: {skipped}.", remedy="Raise the level."
        )
    # Among equals the order above decides, not the last digits.
    rows.sort(key=lambda row: float(f"{row.trace:.{_DIGITS}g}"))
    ranked = tuple(Recommended(**(row.__dict__ | {"ratio": row.trace / rows[0].trace})) for row in rows)
    return Recommendation(float(level), at, respondents, "shares" if of_shares else "θ", ranked, skipped)


def _row(name: str, channel: AnyChannel, case: ChannelCase, n: int | None, ranked_by: RankedBy) -> Recommended:
    likelihood = moments = None
    if isinstance(channel, FiniteChannel):
        limit = asymptotics(case.model, channel, case.theta)
        likelihood, moments = limit.marginal, limit.moments
    else:
        moments = asymptotics(case.model, channel, case.theta).moments
    ranked = moments if likelihood is None or ranked_by == "moments" else likelihood
    if ranked is None:
        raise NotIdentifiedError(f"{name} has no unbiased β for this model.", remedy="Rank by the likelihood.")
    traces = [None if sigma is None else float(np.sum(case.weights * sigma)) for sigma in (ranked, moments, likelihood)]
    assert traces[0] is not None
    told = ranked if case.slopes is None else case.slopes @ ranked @ case.slopes.T
    return Recommended(
        name=name,
        channel=channel,
        summary=registry.entry(channel.kind).summary,
        trace=traces[0],
        method="moments" if ranked is moments else "likelihood",
        moments=traces[1],
        likelihood=traces[2],
        ratio=math.nan,  # known when all are
        privacy_level=certify(channel).privacy_level,
        standard_errors=None if n is None else np.sqrt(np.diag(told) / n),
    )
