"""People miscount: a channel from true to reported counts, and what posteriors say of it.

Of the N_b tokens of a tag that was looked for each is missed with probability m, and one is counted that is not there
with probability q, all independently:

    R_b = Binomial(N_b, 1 − m) + Bernoulli(q).

In a closed region every tag was looked for. What is known of a single token, every tag asked, is a label or a list of
allowed tags: no channel applies to it, and its counts must fit (`read_regions` leaves out those that do not).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from askance._arrays import FloatArray, IntArray
from askance._checks import did_you_mean, instance, require_generator, shorten, shown
from askance._kernels.region_layout import MISSED, OTHER, RegionLayout
from askance.errors import InputError, ProbabilityError
from askance.text.corpus.corpus import ends_of
from askance.text.corpus.regions import RegionCounts

BoolArray: TypeAlias = npt.NDArray[np.bool_]

#: Rates below this are taken as 0: nothing that happens less often is worth a state.
SMALLEST_RATE = 1e-9


@dataclass(frozen=True)
class Miscounts:
    """How often an annotator miscounts.

    Attributes:
        missed: m, the probability that a token with a tag that was looked for is not counted; 0 to 0.5.
        extra: q, the probability that one more is counted of a tag that was looked for; 0 to 0.5.

    >>> Miscounts(missed=0.1)
    Miscounts(missed=0.1, extra=0.0)
    """

    missed: float = 0.0
    extra: float = 0.0

    def __post_init__(self) -> None:
        for name, rate in (("missed", self.missed), ("extra", self.extra)):
            if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate <= 0.5:
                raise ProbabilityError(f"{name} is {shown(rate)}; allowed: 0 to 0.5.", remedy="0.05 is usual.")


#: One for all, or by annotator, "" being regions without one; an annotator without an entry does not miscount.
MiscountsBy: TypeAlias = Miscounts | Mapping[str, Miscounts]


@dataclass(frozen=True)
class MiscountTotals:
    """What an annotator is expected to have miscounted; the rates that make it most probable are the two quotients.

    Attributes:
        missed: expected number of tokens that were missed.
        could_be_missed: expected number of tokens with a tag that was looked for.
        extra: expected number of counts that are one too high.
        places: how many counts there are, zeros included; ranges are none.
    """

    missed: float
    could_be_missed: float
    extra: float
    places: float

    def rates(self) -> Miscounts:
        """Quotients, 0 where nothing could be, and at most 0.5.

        >>> MiscountTotals(2.0, 10.0, 1.0, 4.0).rates()
        Miscounts(missed=0.2, extra=0.25)
        """
        missed = self.missed / self.could_be_missed if self.could_be_missed > 0 else 0.0
        extra = self.extra / self.places if self.places > 0 else 0.0
        return Miscounts(min(max(missed, 0.0), 0.5), min(max(extra, 0.0), 0.5))


def may_be_miscounted(regions: RegionCounts) -> BoolArray:
    """All regions but labels and allowed tags of single tokens, shape (R,)."""
    return np.asarray(~(regions.closed & (regions.lengths == 1)))


def annotator_names(regions: RegionCounts) -> tuple[str, ...]:
    """Names, "" last: `annotator_codes` are places in it, −1 being the last."""
    return (*regions.annotators, "")


def miscount_rates(regions: RegionCounts, miscounts: MiscountsBy | None) -> tuple[FloatArray, FloatArray, BoolArray]:
    """m and q of every region, and whether it has a channel at all, shape (R,) each.

    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.corpus.regions import Region
    >>> told = [Region(0, 0, 2, {"N": 1}, False, annotator="ann"), Region(0, 0, 2, {"N": 1}, False)]
    >>> regions = RegionCounts.of(Corpus.of([["a", "dog"]]), "DN", told)
    >>> miscount_rates(regions, {"ann": Miscounts(0.1, 0.2)})
    (array([0.1, 0. ]), array([0.2, 0. ]), array([ True, False]))
    """
    if miscounts is not None:
        check_miscounts(miscounts)
    names = annotator_names(regions)
    channels = [miscounts.get(name) if isinstance(miscounts, Mapping) else miscounts for name in names]
    table = np.array([(0.0, 0.0) if channel is None else (channel.missed, channel.extra) for channel in channels])
    table[table < SMALLEST_RATE] = 0.0
    has = may_be_miscounted(regions) & np.array([channel is not None for channel in channels])[regions.annotator_codes]
    missed, extra = np.where(has[:, None], table[regions.annotator_codes], 0.0).T
    return missed, extra, has


def check_miscounts(miscounts: object) -> None:
    """Refuse what is neither `Miscounts` nor a mapping from names to such, whoever the names belong to."""
    remedy = "Write Miscounts(missed=0.05, extra=0.02)."
    kinds: tuple[type, ...] = (Miscounts, Mapping)
    instance(miscounts, kinds, "miscounts", "Miscounts, a mapping by annotator, or 'estimate'", remedy)
    for name, rates in miscounts.items() if isinstance(miscounts, Mapping) else ():
        if not isinstance(name, str) or not isinstance(rates, Miscounts):
            raise InputError(
                f"has {shown(rates)} for {shown(name)}",
                argument="miscounts",
                allowed="Miscounts, or a mapping from annotators to such",
                remedy=remedy,
            )


class Counted(Protocol):
    """Regions whose annotators are known by name."""

    @property
    def annotators(self) -> tuple[str, ...]:
        """Their names."""


def require_annotators(miscounts: MiscountsBy | None, *counted: Counted) -> None:
    """Refuse rates for a name that no region has: a misspelt one would silently be without rates.

    >>> from askance.text.corpus.corpus import Corpus
    >>> require_annotators({"": Miscounts(0.1)}, RegionCounts.of(Corpus.of([["a"]]), "X", []))
    """
    if not isinstance(miscounts, Mapping):
        return
    known = list(dict.fromkeys(name for regions in counted for name in regions.annotators))
    unknown = [name for name in miscounts if name and name not in known]
    if unknown:
        there = f"there are {shorten(known)}, and '' for regions without one" if known else "no region has one"
        raise InputError(
            f"has rates for {shown(unknown[0])}, who counted no region; {there}",
            argument="miscounts",
            remedy=did_you_mean(unknown[0], known, "Take the rates out, or one Miscounts for all."),
        )


def require_rates(regions: RegionCounts, miscounts: MiscountsBy | None) -> None:
    """Refuse counts that cannot be of annotators who have no rates where others have: likelihoods cannot explain them.

    Regions of weight 0 are not looked at; without a mapping by annotator nobody in particular lacks rates.
    """
    if not isinstance(miscounts, Mapping):
        return
    named = [name in miscounts for name in annotator_names(regions)]
    wrong = np.flatnonzero(~regions.is_possible & (regions.weights > 0) & ~np.array(named)[regions.annotator_codes])
    if not len(wrong):
        return
    region = regions.region(int(wrong[0]))
    who = "regions without an annotator" if region.annotator is None else shown(region.annotator)
    where = f"region {region.start} to {region.end} of sentence {regions.corpus.name(region.sentence)}"
    raise InputError(
        f"{where} has {region.end - region.start} tokens and counts that cannot be, {shown(dict(region.counts))}, and "
        f"miscounts has no rates for {who}; allowed: rates for all whose counts cannot be.",
        remedy=f"Add {shown(region.annotator or '')}: Miscounts(missed=0.05, extra=0.02), or leave the region out.",
    )


# -- simulation --------------------------------------------------------------------------------------------------------


def simulate(regions: RegionCounts, miscounts: MiscountsBy, rng: np.random.Generator) -> RegionCounts:
    """The regions as people who miscount would report them; ranges, labels and allowed tags stay as they are.

    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.corpus.regions import Region
    >>> regions = RegionCounts.of(Corpus.of([list("abcde")]), "XY", [Region(0, 0, 5, {"X": 3, "Y": 2})])
    >>> simulate(regions, Miscounts(0.4, 0.1), np.random.default_rng(1)).region(0).counts
    {'X': 2, 'Y': 0}
    """
    require_generator(rng)
    missed, extra, has = miscount_rates(regions, miscounts)
    of = regions.entry_region
    changed = np.flatnonzero((regions.low == regions.high) & has[of])
    low, high = regions.low.copy(), regions.high.copy()
    seen = rng.binomial(low[changed], 1 - missed[of[changed]])
    low[changed] = high[changed] = seen + (rng.random(len(changed)) < extra[of[changed]])
    region, tag = _extras_of_others(regions, extra, rng)
    ones = np.ones(len(tag), dtype=np.int32)
    owner, tags = np.concatenate([of, region]), np.concatenate([regions.tag, tag])
    order = np.lexsort((tags, owner))
    sizes = np.bincount(owner, minlength=len(regions))
    return replace(
        regions,
        offsets=ends_of(sizes),
        tag=tags[order],
        low=np.concatenate([low, ones])[order],
        high=np.concatenate([high, ones])[order],
    )


def _extras_of_others(
    regions: RegionCounts, extra: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, npt.NDArray[np.int16]]:
    """Tags without an entry in closed regions of which one is counted: their regions, and the tags."""
    at_risk = np.flatnonzero(regions.closed & (extra > 0))
    counted = rng.random((len(at_risk), len(regions.tagset))) < extra[at_risk, None]
    row = np.full(len(regions), -1)
    row[at_risk] = np.arange(len(at_risk))
    of = row[regions.entry_region]
    counted[of[of >= 0], regions.tag[of >= 0]] = False
    where, tag = np.nonzero(counted)
    return at_risk[where], tag.astype(np.int16)


# -- expectations ------------------------------------------------------------------------------------------------------


def miscount_totals(
    regions: RegionCounts, layout: RegionLayout, posterior: FloatArray, has_channel: BoolArray
) -> dict[str, MiscountTotals]:
    """What each annotator is expected to have miscounted, by name, "" for regions without one.

    The posterior is that of every token and group, flat, at layout.place; regions with a channel are added up.
    """
    count, kinds = len(regions), len(regions.tagset)
    groups = np.diff(layout.offsets)
    cells = groups * layout.length
    region = np.repeat(np.arange(count), cells)
    group = (np.arange(len(region)) - layout.place[region]) % groups[region] + layout.offsets[region]
    expected = np.bincount(group, posterior, len(layout.tag))
    of = np.repeat(np.arange(count), groups)
    missed = np.bincount(of, expected * (layout.tag == MISSED), count)
    looked_for = layout.length - np.bincount(of, expected * (layout.tag == OTHER), count)
    # Of the groups of tags with a number, not a range, the seen are taken off the reported.
    exact = regions.low == regions.high
    keys = regions.entry_region * kinds + regions.tag
    wanted = np.flatnonzero(layout.tag >= 0)
    entry = np.searchsorted(keys, of[wanted] * kinds + layout.tag[wanted])
    seen = np.bincount(of[wanted], expected[wanted] * exact[entry], count)
    reported = np.bincount(regions.entry_region, regions.low * exact, count)
    ranged = np.bincount(regions.entry_region, ~exact, count)
    places = np.where(regions.closed, kinds, np.diff(regions.offsets)) - ranged
    sums = np.stack([missed, looked_for, reported - seen, places]) * (regions.weights * has_channel)
    names = annotator_names(regions)
    code = regions.annotator_codes % len(names)
    totals = [np.bincount(code, total, len(names)) for total in sums]
    present = np.bincount(code, has_channel, len(names)) > 0
    return {name: MiscountTotals(*(float(total[n]) for total in totals)) for n, name in enumerate(names) if present[n]}
