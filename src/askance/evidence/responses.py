"""Reports with covariates: who said what, in chunks."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import add, is_
from typing import Any, Generic, Self, cast

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, IntArray
from askance._checks import as_column, shown
from askance.categories import Categories, Label
from askance.channels.differences import between_purposes, differences, way_out
from askance.channels.finite import FiniteChannel
from askance.channels.reports import Reports, require_reports
from askance.channels.statistics.clique_release import CliqueRelease
from askance.errors import (
    EmptyDataError,
    IncompatibleEvidenceError,
    InputError,
    LabelError,
    MissingValueError,
    ShapeError,
)
from askance.evidence import totals
from askance.evidence.chunks import (
    Chunk,
    collapsed,
    joined_by_arm,
    names_of,
    read_clusters,
    read_covariates,
    read_weights,
    require_same_kind,
    thin,
    weight_of,
)
from askance.evidence.replication import Replication
from askance.evidence.strata import Strata
from askance.evidence.tally import C
from askance.models.softmax import Covariates

# The only arm of evidence of one channel.
_ALONE = ""


class Responses(Generic[C]):
    """Reports with the covariates of those who gave them: regressions, and fields with covariates.

    A value like `Tally`: `add` and `merge` return new evidence that shares the chunks; x is kept without copying, so do
    not change the array afterwards. With covariates the fit needs the sample of x, so the rows are kept; `collapse`
    folds equal rows into one where there are few different ones.

    Args:
        channel: how everybody was seen: a channel on answers, or a `CliqueRelease`. Or several, {arm: channel}, all
            about the same outputs: every row then says by its arm which of them it came through.
        chunks: rows of one channel each, checked by `add`.
        terms: names of the columns of x, where it came with names (data frames).
        strata: that clusters, numbered 0, 1, …, were drawn from.

    >>> from askance import Direct, ForcedResponse
    >>> design = ForcedResponse("2/3", "1/6")
    >>> men = Responses(design).add(np.array([[1.0, 0.0]] * 3), ["no", "yes", "no"])
    >>> women = Responses(design).add(np.array([[1.0, 1.0]] * 2), ["yes", "yes"])
    >>> (men + women).n_observations
    5
    >>> both = Responses({"dice": design, "direct": Direct(["no", "yes"])})
    >>> both = both.add([[1.0], [1.0], [1.0]], ["no", "yes", "no"], arm=["dice", "direct", "dice"])
    >>> [(chunk.channel.kind, len(chunk)) for chunk in both.chunks]
    [('forced-response', 2), ('direct', 1)]
    """

    def __init__(
        self,
        channel: C | Mapping[Any, C],
        chunks: Sequence[Chunk[C]] = (),
        terms: tuple[str, ...] | None = None,
        strata: Strata | None = None,
    ) -> None:
        self.strata = strata
        self.replication: Replication | None = None
        self.arms: dict[Label, C] = dict(channel) if isinstance(channel, Mapping) else {_ALONE: channel}
        _require_fitting(self.arms)
        self.chunks = tuple(c if c.channel is not None else replace(c, channel=self.channel) for c in chunks)
        self.terms = terms

    @property
    def channels(self) -> tuple[C, ...]:
        """The different channels, in the order in which they were given."""
        return tuple({channel.fingerprint: channel for channel in self.arms.values()}.values())

    @property
    def channel(self) -> C:
        """The channel of all rows; refused where there are several."""
        if len(self.channels) > 1:
            raise InputError(
                f"the evidence came through {len(self.channels)} channels "
                f"({', '.join(shown(arm) for arm in self.arms)}); allowed here: one channel for all rows.",
                remedy="Take evidence of one channel; chunks have their own: evidence.chunks[0].channel.",
            )
        return self.channels[0]

    @property
    def n_observations(self) -> int:
        """The number of reports."""
        return sum(chunk.n_observations for chunk in self.chunks)

    @property
    def head(self) -> Chunk[C]:
        """Rows that show what all chunks hold: the first chunk."""
        return self.chunks[0]

    @property
    def n_rows(self) -> int:
        """Rows, equal ones that were folded counted once."""
        return sum(map(len, self.chunks))

    @property
    def weighing(self) -> tuple[int, float]:
        """e with the largest sampling weight between ½ and 1 times 2^e, and Σ of all, in units of 2^e.

        Only proportions matter, and sums of weights near the ends of what numbers can hold would not be numbers.
        """
        weights = [chunk.weights for chunk in self.chunks if chunk.weights is not None]
        if not weights:
            return 0, 0.0
        exponent = math.frexp(max(float(part.max(initial=0.0)) for part in weights))[1]
        return exponent, float(self.total(partial(weight_of, exponent=exponent))[0])

    @property
    def sums(self) -> IntArray:
        """What the reports of evidence of one channel add up to, as in a `Tally`; sampling weights are not used."""
        return sum((chunk.sums for chunk in self.chunks), np.zeros(self.channel.sums_size, dtype=np.int64))

    # -- collecting ------------------------------------------------------------------------------------------------

    def add(
        self,
        x: Covariates,
        reports: ArrayLike | Reports[Any],
        *,
        weights: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        arm: ArrayLike | None = None,
    ) -> Self:
        """This evidence and more reports.

        Args:
            x: covariates, shape (n, p): an array, a data frame, or a SciPy sparse matrix.
            reports: labels out of the channel's observations, shape (n,), or `Reports`.
            weights: sampling weights, positive, shape (n,).
            clusters: labels of groups of respondents whose reports may depend on each other, shape (n,).
            arm: where there are several channels: through which each row came, shape (n,), or the one of all rows;
                `Reports` know it themselves.
        """
        seen, n = self._seen(reports, arm)
        terms = names_of(x)
        parts = read_covariates(x, n), read_weights(weights, n), read_clusters(clusters, n)
        added = []
        for arm_of, channel, rows, held in seen:
            own = [part if part is None or rows is None else part[rows] for part in parts]
            added.append(Chunk(own[0], held, None, own[1], own[2], channel, arm_of))
        self._require_columns(terms, added)
        return self._with((*self.chunks, *added) if n else self.chunks, self.terms if terms is None else terms)

    def _seen(
        self, reports: ArrayLike | Reports[Any], arm: ArrayLike | None
    ) -> tuple[list[tuple[Label | None, C, AnyArray | None, Any]], int]:
        """Arm, channel, places (None: all) and reports of the rows of every arm, and the number of rows."""
        if isinstance(reports, Reports) or not isinstance(self.channels[0], FiniteChannel):
            if arm is not None:
                raise InputError("arm is given with Reports, which know their channel.", remedy="Leave it out.")
            own = getattr(reports, "channel", None)
            channel = own if own in self.channels else self.channels[0]
            known = [name for name, its in self.arms.items() if its == channel]
            held = _as_held(require_reports(reports, channel))
            return [(known[0] if len(known) == 1 else None, channel, None, held)], len(held)
        answers = cast("dict[Label, FiniteChannel]", self.arms)
        if arm is None and len(answers) == 1:
            ((name, only),) = answers.items()
            codes = only.observations.encode(reports, "observed")
            return [(name, cast("C", only), None, codes)], len(codes)
        column = as_column(reports, "observed")
        which = self._arms(arm, len(column))
        seen: list[tuple[Label | None, C, AnyArray | None, Any]] = []
        for code, (name, channel) in enumerate(answers.items()):
            rows = np.flatnonzero(which == code)
            if rows.size:
                seen.append((name, cast("C", channel), rows, _encoded(channel, column, rows)))
        return seen, len(column)

    def _arms(self, arm: ArrayLike | None, n: int) -> IntArray:
        """The arm of each of n rows, as its place among all."""
        if arm is None or _ALONE in self.arms:
            raise InputError(
                f"arm is {shown(arm)}, and the evidence has {len(self.arms)} channels; allowed: an arm for every row, "
                "where there are several.",
                remedy="Build the evidence with Responses({name: channel, …}), and add with arm=[name, …].",
            )
        names = as_column(arm, "arm")
        if len(names) == 1:
            names = np.repeat(names, n)
        if len(names) != n:
            raise ShapeError(f"arm has {len(names)} rows for {n} reports.", remedy="Give one arm per report.")
        return np.asarray(Categories(list(self.arms), minimum=1, name="channels").encode(names, "arm"), dtype=np.int64)

    def _require_columns(self, terms: tuple[str, ...] | None, added: Sequence[Chunk[C]]) -> None:
        """Refuse columns, weights or clusters other than those of the evidence so far."""
        if not self.chunks:
            return
        if terms is not None and self.terms is not None and terms != self.terms:
            raise ShapeError(
                f"x has the columns {shown(list(terms))}, the evidence so far {shown(list(self.terms))}.",
                remedy="Give the same columns in the same order.",
            )
        for chunk in added:
            require_same_kind(self.chunks[0], chunk)

    def _with(self, chunks: Sequence[Chunk[C]], terms: tuple[str, ...] | None) -> Self:
        other = copy.copy(self)
        other.chunks, other.terms = tuple(chunks), terms
        return other

    def for_purpose(self, purpose: str) -> Self:
        """This evidence, of that question: where nothing says of which it is; refused where it is of another."""
        return self._through({arm: cast("C", channel.named(purpose)) for arm, channel in self.arms.items()})

    def through(self, channel: Any) -> Self:
        """The same reports, taken as having come through another channel, all of them; or one for every arm."""
        arms = dict(channel) if isinstance(channel, Mapping) else dict.fromkeys(self.arms, channel)
        return self._through(arms)

    def _through(self, arms: dict[Label, C]) -> Self:
        new = {channel.fingerprint: arms[arm] for arm, channel in self.arms.items()}
        chunks = [chunk.through(new[chunk.channel.fingerprint]) for chunk in self.chunks]
        other = self._with(chunks, self.terms)
        other.arms = arms
        return other

    def merge(self, other: Responses[Any]) -> Self:
        """The evidence of both; refused when the channels, the columns or the kinds of weights differ."""
        if not isinstance(other, Responses):
            raise IncompatibleEvidenceError(
                f"cannot merge reports with {shown(other)}; allowed: Responses.",
                remedy="Add rows with add(x, reports).",
            )
        same = len(self.channels) == len(other.channels) == 1 and self.channel == other.channel
        if not same and self.arms != other.arms:
            one, another = self.channels[0], other.channels[0]
            alike = len(self.channels) == len(other.channels) == 1
            raise IncompatibleEvidenceError(
                f"cannot merge reports through different channels: {', '.join(map(repr, self.channels))} and "
                f"{', '.join(map(repr, other.channels))}.{f' {differences(one, another)}' if alike else ''}",
                remedy=(alike and way_out(one, another))
                or "Give each row its channel, Responses({name: channel, …}), or estimate from Together(one, other).",
            )
        if other.chunks:
            self._require_columns(other.terms, other.chunks[:1])
        return self._with(self.chunks + other.chunks, self.terms if other.terms is None else other.terms)

    def __add__(self, other: Responses[Any]) -> Self:
        return self.merge(other) if isinstance(other, Responses) else NotImplemented

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum(parts) works

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def units(self) -> IntArray | None:
        """Which rows were seen together: every row is a report by itself, as None says."""
        return None

    def blocks(self) -> Iterator[Chunk[C]]:
        """The rows in order, in blocks of one channel that stay in the processor's cache."""
        for chunk in self.chunks:
            for rows in totals.blocks_of(len(chunk)):
                yield chunk.take(rows)

    def total(
        self,
        f: Callable[[Chunk[C]], Any],
        merge: Callable[[Any, Any], Any] = totals.add,
        by: Callable[[Chunk[C]], AnyArray] | None = None,
    ) -> Any:
        """f of every block of rows, put together in one order: the only loop over rows.

        Args:
            f: of a block, as `askance.evidence.totals.total` describes it.
            merge: puts results together; default: arrays are added, one by one.
            by: keys of the rows of a block; the result then is `KeyedSums`.

        >>> from askance import Warner
        >>> evidence = Responses(Warner("2/3")).add([[1.0], [2.0]], ["no", "yes"], clusters=[7, 7])
        >>> evidence.total(lambda rows: rows.x, by=lambda rows: rows.clusters)
        KeyedSums(keys=array([7]), sums=array([[3.]]))
        """
        return totals.total(self.blocks(), f, merge) if by is None else totals.total(self.blocks(), f, by=by)

    def collapse(self) -> Self:
        """The same evidence with equal rows of an arm folded into one, where a probe says that it pays.

        Rows with sampling weights or clusters, and sparse ones, are left as they are.
        """
        order = {channel.fingerprint: place for place, channel in enumerate(self.channels)}
        own = sorted(self.chunks, key=lambda chunk: order[chunk.channel.fingerprint])
        by_arm: dict[Any, list[Chunk[C]]] = {}
        for chunk in own:
            by_arm.setdefault((chunk.channel.fingerprint, chunk.arm), []).append(chunk)
        of_arm = [tuple(chunks) for chunks in by_arm.values()]
        folded = [collapsed(chunks) for chunks in of_arm]
        return self if all(map(is_, folded, of_arm)) else self._with(sum(folded, ()), self.terms)

    def widened(self, x: Sequence[Covariates]) -> Self:
        """The same reports with other covariates, one array for every chunk; they have no names."""
        return self._with([replace(chunk, x=own) for chunk, own in zip(self.chunks, x, strict=True)], None)

    def thinned(self, share: int) -> Self:
        """One row in `share` of every block, drawn at random: a sample for a first look, not for results."""
        return self._with(joined_by_arm(self.total(partial(thin, share=share), add)), self.terms)

    def joined(self) -> tuple[FloatArray, Reports[C]]:
        """All rows of x (n, p) and their `Reports`, of one channel, in the order in which they were added."""
        if not self.chunks:
            raise EmptyDataError("there are no reports.", remedy="Add rows with add(x, reports) before estimating.")
        if self.chunks[0].weights is not None or self.chunks[0].clusters is not None:
            raise InputError(
                "the reports have weights or clusters; allowed with a field: neither.",
                remedy="Leave them out: fields with covariates do not use them yet.",
            )
        x = [c.x if isinstance(c.x, np.ndarray) else c.x.toarray() for c in self.chunks]
        reports = [chunk.reports for chunk in self.chunks]
        return (x[0], reports[0]) if len(x) == 1 else (np.concatenate(x), Reports.join(reports))

    def replicated(self, table: FloatArray, replication: Replication) -> Self:
        """The same reports with replicate weights, from 0, shape (n, R), in the order of the rows here."""
        parts = np.split(table, np.cumsum([len(chunk) for chunk in self.chunks])[:-1])
        own = [replace(chunk, replicates=part) for chunk, part in zip(self.chunks, parts, strict=True)]
        other = self._with(own, self.terms)
        other.replication = replication
        return other

    def replicate(self, r: int) -> Self:
        """The same reports with the weights of replicate r alone, some of which may be 0."""
        own = [
            replace(c, weights=None if c.replicates is None else c.replicates[:, r], replicates=None)
            for c in self.chunks
        ]
        other = self._with(own, self.terms)
        other.replication = None
        return other

    def used(self) -> Self:
        """The same evidence without the arms that nobody met."""
        met = {chunk.channel.fingerprint for chunk in self.chunks}
        other = self._with(self.chunks, self.terms)
        other.arms = {arm: channel for arm, channel in self.arms.items() if channel.fingerprint in met} or self.arms
        return other

    def of_channel(self, channel: Any) -> Self:
        """The rows that came through one of the channels."""
        other = self._with([c for c in self.chunks if c.channel.fingerprint == channel.fingerprint], self.terms)
        other.arms = {_ALONE: channel}
        return other

    def __repr__(self) -> str:
        through = repr(self.channels[0]) if len(self.channels) == 1 else f"{len(self.channels)} channels"
        return f"Responses({self.n_observations} reports through {through})"


def joined_arms(parts: Sequence[Responses[C]]) -> Responses[C]:
    """Evidence of several channels about the same outputs as one, each row with the channel it came through."""
    channels = {channel.fingerprint: channel for part in parts for channel in part.channels}
    arms = {str(number): channel for number, channel in enumerate(channels.values(), 1)}
    names = dict(zip(channels, arms, strict=True))
    whole: Responses[C] = Responses(arms if len(arms) > 1 else next(iter(channels.values())))
    for part in parts:
        if part.chunks:
            whole._require_columns(part.terms, part.chunks[:1])
            terms = whole.terms if part.terms is None else part.terms
            named = (replace(chunk, arm=names[chunk.channel.fingerprint]) for chunk in part.chunks)
            whole = whole._with((*whole.chunks, *named), terms)
    return whole


def _require_fitting(arms: Mapping[Label, object]) -> None:
    """Refuse what is no channel whose reports can be kept with covariates, and channels about different outputs."""
    if not arms:
        raise InputError("channel is {}; allowed: at least one channel.", remedy="Give {name: channel, …}.")
    for arm, channel in arms.items():
        if not isinstance(channel, (FiniteChannel, CliqueRelease)):
            raise InputError(
                f"channel{'' if arm == _ALONE else f' {shown(arm)}'} is {shown(channel)}; allowed with covariates: a "
                "channel on answers, or a CliqueRelease.",
                remedy="Build one, such as ForcedResponse(…), or CliqueRelease(field.sizes, field.cliques, level).",
            )
    (start, first), *others = arms.items()
    for arm, channel in others:
        one, other = _outputs_of(first), _outputs_of(channel)
        if one != other:
            raise IncompatibleEvidenceError(
                f"channel {shown(start)} is about {one}, channel {shown(arm)} about {other}.",
                remedy="Build all channels from the same labels, in the same order.",
            )
        mine, its = first.purpose, channel.purpose  # type: ignore[attr-defined]
        if mine != its:
            raise IncompatibleEvidenceError(
                f"channel {shown(start)} is for the purpose {mine or None!r}, {shown(arm)} for {its or None!r}.",
                remedy=between_purposes(mine, its),
            )


def _outputs_of(channel: object) -> str:
    """What a channel is about, in full: labels of answers, or sizes of hidden variables."""
    if isinstance(channel, FiniteChannel):
        return f"{channel.outputs!r}"
    assert isinstance(channel, CliqueRelease)
    return f"variables of {list(channel.tables.sizes)} values"


def _as_held(reports: Reports[Any]) -> Any:
    """Reports as chunks hold them: codes of answers, all others as they are."""
    return reports.columns["answer"] if isinstance(reports.channel, FiniteChannel) else reports


def _encoded(channel: FiniteChannel, column: AnyArray, rows: AnyArray) -> AnyArray:
    """Codes of the reports of some rows; errors name the place in the whole column."""
    try:
        return channel.observations.encode(column[rows], "observed")
    except (LabelError, MissingValueError):
        pass  # said again below, with the place in the whole column
    for row in rows.tolist():
        channel.observations.encode(column[row : row + 1], "observed", row)
    raise AssertionError("one of the rows is refused")
