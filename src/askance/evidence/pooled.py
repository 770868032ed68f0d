"""Tallies of different channels as one: what was asked in several ways is estimated once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NoReturn, Self, cast

import numpy as np

from askance._arrays import ArrayLike
from askance._checks import as_list, shown
from askance._kernels.draw import TOTAL
from askance.categories import Label
from askance.channels.differences import between_purposes
from askance.channels.finite import FiniteChannel
from askance.channels.matrix import MatrixChannel
from askance.channels.table import MOST_ENTRIES
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError
from askance.evidence.sources import Sources
from askance.evidence.tally import Tally, of_answers


class PooledChannel(MatrixChannel):
    """S = [f₁S₁; f₂S₂; …], shape (Σ k_i, m): a share f_i of the people was asked through S_i, and it is known which.

    It says how a pooled tally came about, and is saved and loaded as the `MatrixChannel` it is. Nobody was asked
    through it, nor can anybody be: every person answered through one of the parts.

    Attributes:
        parts: the channels S_i.
        sizes: how many reports came through each; f_i = sizes[i] / Σ sizes.
    """

    parts: tuple[FiniteChannel, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, parts: Sequence[FiniteChannel], sizes: Sequence[int]) -> PooledChannel:
        """Stack channels on the same outputs in exact shares, all above 0."""
        observations = sum(len(part.observations) for part in parts)
        outputs = parts[0].outputs
        if observations * len(outputs) > MOST_ENTRIES:
            raise InputError(
                f"the tallies have {observations:,} observations of {len(outputs):,} outputs together; allowed: tables "
                f"of at most {MOST_ENTRIES:,} probabilities.",
                remedy="Estimate from every tally alone, or merge rare outputs.",
            )
        n = sum(sizes)
        rows = [
            [Fraction(size * int(weight), n * TOTAL) for weight in row]
            for part, size in zip(parts, sizes, strict=True)
            for row in part.integer_weights
        ]
        names = [name for i, part in enumerate(parts, 1) for name in _numbered(i, part.observations.labels)]
        channel = cls(cast(Any, rows), outputs=outputs, observations=names)
        channel.parts, channel.sizes, channel.purpose = tuple(parts), tuple(sizes), parts[0].purpose
        return channel

    def for_purpose(self, purpose: str) -> Self:
        """The same for that question, in all parts."""
        other = super().for_purpose(purpose)
        other.parts = tuple(part.for_purpose(purpose) for part in self.parts)
        return other

    def largest_ratio(self) -> Fraction | None:
        """The largest of the parts: a row f_i S_i(o|·) has the ratios of S_i(o|·), and people met a part, not the sum.

        It is not read off the thresholds of this table, which round f_i S_i to multiples of 2⁻⁶² once more.
        """
        ratios = [part.largest_ratio() for part in self.parts]
        return None if None in ratios else max(ratio for ratio in ratios if ratio is not None)

    device_mapping = ""

    def randomize(self, truth: ArrayLike) -> NoReturn:
        """Refused: ask through one of the parts, whose thresholds are those that were certified."""
        raise self._nobody_is_asked()

    def randomize_one(self, truth: Label) -> NoReturn:
        """Refused like `randomize`."""
        raise self._nobody_is_asked()

    def report_from_words(self, truth: Label, words: Iterable[int]) -> NoReturn:
        """Refused like `randomize`."""
        raise self._nobody_is_asked()

    def _nobody_is_asked(self) -> InputError:
        return InputError(
            f"the channel is {shown(self)}, which describes a pooled tally; allowed: a channel to ask people through.",
            remedy="Take one of its parts: channel.parts[0].",
        )

    def __repr__(self) -> str:
        return f"PooledChannel({', '.join(f'{n} × {part!r}' for n, part in zip(self.sizes, self.parts, strict=True))})"


def pool(tallies: Sequence[Tally]) -> Tally:
    """Tallies of the same outputs through different channels, as one tally of the stacked channel.

    With n_i reports through S_i and f_i = n_i/n, S = [f₁S₁; f₂S₂; …] has observations "1: a", "1: b", …, "2: a", …

    The shares do not matter to the likelihood: with counts c_i(o),

        Σ_i Σ_o c_i(o) log (f_i S_i(o|·) p_θ) = Σ_i ℓ_i(θ) + Σ_i n_i log f_i,

    and the last sum does not depend on θ. So the pooled likelihood is the joint one, its information per report is
    Σ_i f_i J_i(θ), and whether the shares were fixed, drawn, or chosen after looking at the first tallies makes no
    difference. The f_i in use are those that were met, so that M = Sᵀ D⁻¹ S = Σ_i f_i S_iᵀ D_i⁻¹ S_i and the unbiased
    β of least covariance combines the moments of all channels, each weighted by its information. There may be one
    even where no single channel has an unbiased β.

    Everybody answered through one channel, so the privacy level is the largest of them. It does not add up.

    Args:
        tallies: at least one with reports. Those of equal channels are added up first, those without reports are left
            out, and a single one that remains is returned as it is. Pooled tallies are taken apart and pooled anew.

    Raises:
        EmptyDataError: there is no tally, or none has reports.
        IncompatibleEvidenceError: they are about different outputs or questions, or share files of reports.

    >>> from askance import Enumerated, RandomizedResponse, estimate
    >>> strict, lax = (RandomizedResponse.for_privacy_level(level, outputs=["no", "yes"]) for level in (1, 2))
    >>> both = pool([Tally(strict, [60, 40]), Tally(lax, [180, 120])])
    >>> both.channel.observations.labels
    ('1: no', '1: yes', '2: no', '2: yes')
    >>> both.n_observations, both.channel.privacy_level
    (400, 2.0)
    >>> estimate(Enumerated.saturated(["no", "yes"]), both).standard_errors.round(3)
    array([0.152])
    """
    parts = as_list(tallies, "tallies", "[Tally(first_channel, …), Tally(second_channel, …)]")
    if not parts:
        raise EmptyDataError("tallies is empty; allowed: at least one Tally.", remedy="Give one tally per channel.")
    merged: dict[str, Tally] = {}
    for i, tally in enumerate(parts):
        _require_fitting(tally, i, parts[0])
        for part in taken_apart(tally):
            known = merged.get(part.channel.fingerprint)
            merged[part.channel.fingerprint] = part if known is None else known + part
    kept = [tally for tally in merged.values() if tally.n_observations]
    if not kept:
        raise EmptyDataError(
            f"none of the {len(parts)} tallies has reports; allowed: at least one report.",
            remedy="Add observations before pooling.",
        )
    if len(kept) == 1:
        return kept[0]
    channel = PooledChannel.of([tally.channel for tally in kept], [tally.n_observations for tally in kept])
    sources = Sources(
        frozenset().union(*(tally.sources.files for tally in kept)),
        frozenset().union(*(tally.sources.row_groups for tally in kept)),
        frozenset().union(*(tally.sources.id_parts for tally in kept)),
    )
    return Tally(channel, np.concatenate([tally.counts for tally in kept]), sources=sources)


def _require_fitting(tally: object, place: int, first: Tally) -> None:
    """Refuse what is no tally, and tallies of other outputs or another question than the first."""
    if not of_answers(tally):
        raise InputError(
            f"tallies[{place}] is {shown(tally)}; allowed: a Tally of answers.",
            remedy="Count with Tally(channel).add(reports); sums of noised statistics have no likelihood to pool.",
        )
    if tally.channel.outputs != first.channel.outputs:
        raise IncompatibleEvidenceError(
            f"tallies[0] is about {first.channel.outputs.shown()}, tallies[{place}] about "
            f"{tally.channel.outputs.shown()}.",
            remedy="Build all channels from the same labels, in the same order.",
        )
    if tally.channel.purpose != first.channel.purpose:
        one, other = first.channel.purpose, tally.channel.purpose
        raise IncompatibleEvidenceError(
            f"tallies[0] is for the purpose {one or None!r}, tallies[{place}] for {other or None!r}.",
            remedy=between_purposes(one, other),
        )


def taken_apart(tally: Tally[Any]) -> list[Tally[Any]]:
    """The tallies that were pooled; a tally of one channel is its own only part."""
    channel = tally.channel
    if not isinstance(channel, PooledChannel):
        return [tally]
    ends = np.cumsum([len(part.observations) for part in channel.parts])[:-1]
    # Nobody knows any more which file belongs to which part; that matters only where a part meets the same file again.
    return [
        Tally(part, counts, sources=tally.sources)
        for part, counts in zip(channel.parts, np.split(tally.counts, ends), strict=True)
    ]


def _numbered(number: int, labels: Sequence[Label]) -> list[str]:
    """Labels as texts that say which channel; 1 and "1" stay different."""
    texts = [str(label) for label in labels]
    if len(set(texts)) < len(texts):
        texts = [repr(label) for label in labels]
    return [f"{number}: {text}" for text in texts]
