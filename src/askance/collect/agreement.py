"""What the lead of a counting campaign sees: whether people agree, how fast they are, how often they miscount.

Of every tag, two people agree on a stretch if they said the same number. Some of that is chance: Krippendorff's α is

    α = 1 − D_o / D_e,

with D_o the share of pairs within stretches that differ, and D_e the share of all pairs that would: 1 is perfect, 0 is
what chance gives. Each stretch counts with as many answers as it has; any number of people and of gaps is right.
"""

from __future__ import annotations

import math
import statistics
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from askance.collect.campaign import Counting
from askance.collect.counts import Count, Counted
from askance.collect.curve import CurvePoint, learning_curve
from askance.collect.export import regions_of
from askance.errors import AskanceError, AskanceWarning
from askance.tables import Column, Table, Tabulated, as_json, interval_columns
from askance.text.counts.miscount_estimate import estimate_miscounts

# A rate that ends here is 0.
_NOTHING = 1e-4


class TagAgreement(NamedTuple):
    """How far people agree about a tag.

    Attributes:
        tag: its name; of single words "one word".
        stretches: that two people or more counted.
        same: share of pairs of people who said the same.
        alpha: Krippendorff's α, NaN where all that was said is the same.
    """

    tag: str
    stretches: int
    same: float
    alpha: float


class Person(NamedTuple):
    """One annotator, by pseudonym."""

    annotator: str
    counts: int
    skipped: int
    seconds: float  # the median of a stretch
    same: float  # share of pairs with others, over all tags, that are the same
    missed: float
    missed_error: float
    extra: float
    extra_error: float


@dataclass(frozen=True, eq=False)
class CountingReport(Tabulated):
    """What is known of a counting campaign.

    Attributes:
        counts: that hold.
        skipped: stretches that somebody skipped.
        replaced: counts that others replaced.
        repeated: counts of the same person for the same stretch that were left out.
        seconds: the median of a stretch; NaN without counts.
        agreement: by tag.
        people: by pseudonym.
        curve: what was learned.
        curve_is: what `right` is in the curve.
    """

    counts: int
    skipped: int
    replaced: int
    repeated: int
    seconds: float
    agreement: Sequence[TagAgreement]
    people: Sequence[Person]
    curve: Sequence[CurvePoint] = ()
    curve_is: str = ""

    def table(self) -> Table:
        """Annotators: how many, how fast, how well they agree, how often they miscount."""
        columns = (
            *(Column("annotator"), Column("counts", "count"), Column("skipped", "count")),
            *(Column("seconds", "decimal", digits=1), Column("as others", "percent", "same")),
            *(Column("missed", "percent"), Column("± missed", "percent", "missed_error")),
            *(Column("extra", "percent"), Column("± extra", "percent", "extra_error")),
        )
        notes = [
            f"{self.counts:,} counts hold; {self.replaced:,} were replaced by others, {self.repeated:,} were repeated, "
            f"{self.skipped:,} stretches skipped; seconds are the median",
            "missed: of the words of a tag, the share that was not counted; extra: of the counts, the share with one "
            "too many; estimated from what was counted twice; ± is a standard error, – where it is not known",
            "as others: two people differ wherever either errs, so this falls about twice as fast",
        ]
        return Table(columns, self.people, title="Annotators", notes=notes, rows_are="annotators")

    def agreement_table(self) -> Table:
        """Agreement by tag."""
        columns = (
            *(Column("tag"), Column("stretches counted twice", "count", "stretches")),
            *(Column("the same", "percent", "same"), Column("beyond chance (α)", "number", "alpha", digits=3)),
        )
        return Table(columns, self.agreement, title="Agreement")

    def curve_table(self) -> Table:
        """The learning curve."""
        columns = (Column("counts", "count"), Column(self.curve_is or "right", "percent", "right"))
        return Table((*columns, *interval_columns(0.95, "percent")), self.curve, title="What a tagger learns from them")

    def to_json(self) -> dict[str, Any]:
        """Plain values, and the tables."""
        plain = {name: getattr(self, name) for name in ("counts", "skipped", "replaced", "repeated", "seconds")}
        tables = (self.agreement_table(), self.table(), self.curve_table())
        return {
            **{name: as_json(value) for name, value in plain.items()},
            **{
                name: [{key: as_json(value) for key, value in row._asdict().items()} for row in getattr(self, name)]
                for name in ("agreement", "people", "curve")
            },
            "curve_is": self.curve_is,
            "tables": [table.to_json() for table in tables if table.rows],
        }


class CountingLook:
    """What the lead is told, look after look: a curve is worked out again when a quarter more was counted.

    Attributes:
        counting: what is counted.
    """

    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        self._curve: list[CurvePoint] = []
        self._at = 0

    def report(self, known: Counted) -> CountingReport:
        """What is known now."""
        n = len(known.counts)
        if not self._at <= n < 1.25 * self._at:
            self._curve, self._at = learning_curve(self.counting, known.counts), n
        return counting_report(self.counting, known, self._curve)


def counting_report(counting: Counting, known: Counted, curve: Sequence[CurvePoint] | None = None) -> CountingReport:
    """Work out what is known.

    Args:
        counting: what is counted.
        known: what was said.
        curve: where it was worked out before; None: now.

    >>> counting = Counting((("a", "dog"), ("it", "runs")), ("N",), 2, 2, "")
    >>> said = [(0, 1, "ann"), (0, 1, "ben"), (1, 0, "ann"), (1, 1, "ben")]
    >>> known = Counted([Count(stretch, (n,), 2.0, who) for stretch, n, who in said], [])
    >>> report = counting_report(counting, known, ())
    >>> report.agreement[0].same, report.agreement[0].alpha
    (0.5, 0.0)
    """
    points = learning_curve(counting, known.counts) if curve is None else curve
    rates = _miscounts(counting, known.counts)
    same = _agreement_by_person(counting, known.counts)
    skipped = Counter(annotator for _, annotator in known.skipped)
    by_person: defaultdict[str, list[Count]] = defaultdict(list)
    for count in known.counts:
        by_person[count.annotator].append(count)
    people = [
        Person(who, len(own), skipped[who], _median(own), same.get(who, math.nan), *rates.get(who, (math.nan,) * 4))
        for who, own in sorted(by_person.items())
    ]
    return CountingReport(
        len(known.counts),
        len(known.skipped),
        known.replaced,
        known.repeated,
        _median(known.counts),
        _agreement(counting, known.counts),
        people,
        points,
        "words right" if counting.labelled is not None else "held-out counts predicted",
    )


def _median(counts: Sequence[Count]) -> float:
    return statistics.median(count.seconds for count in counts) if counts else math.nan


# -- agreement ---------------------------------------------------------------------------------------------------------


def _units(counting: Counting, counts: Iterable[Count]) -> dict[str, dict[int, list[tuple[str, int]]]]:
    """By tag and stretch, where two people said something, who said which number; of single words which tag it is."""
    units: defaultdict[str, defaultdict[int, list[tuple[str, int]]]] = defaultdict(lambda: defaultdict(list))
    for count in counts:
        stretch = counting.stretches[count.stretch]
        if stretch.end - stretch.start == 1:
            units["one word"][count.stretch].append((count.annotator, (*count.counts, 1).index(1)))
            continue
        for tag, number in zip(counting.tags, count.counts, strict=True):
            if number is not None:
                units[tag][count.stretch].append((count.annotator, number))
    return {tag: {n: said for n, said in own.items() if len(said) > 1} for tag, own in units.items()}


def _agreement(counting: Counting, counts: Iterable[Count]) -> list[TagAgreement]:
    units = _units(counting, counts)
    return [
        TagAgreement(tag, len(units[tag]), *_same_and_alpha([[n for _, n in said] for said in units[tag].values()]))
        for tag in (*counting.tags, "one word")
        if units.get(tag)
    ]


def _same_and_alpha(units: Sequence[Sequence[int]]) -> tuple[float, float]:
    """The share of pairs that are the same, and Krippendorff's α for names.

    >>> _same_and_alpha([[1, 1], [1, 1], [0, 0], [0, 1]])
    (0.75, 0.5333333333333333)
    """
    totals, same, differing, pairs = Counter[int](), 0, 0.0, 0
    for said in units:
        own = Counter(said)
        totals += own
        equal, all_pairs = sum(n * (n - 1) for n in own.values()), len(said) * (len(said) - 1)
        same, pairs = same + equal, pairs + all_pairs
        differing += (all_pairs - equal) / (len(said) - 1)
    n = totals.total()
    expected = n * n - sum(count * count for count in totals.values())
    return same / pairs, 1 - (n - 1) * differing / expected if expected else math.nan


def _agreement_by_person(counting: Counting, counts: Iterable[Count]) -> dict[str, float]:
    """The share of pairs with others that are the same, over all tags, by annotator."""
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for units in _units(counting, counts).values():
        for said in units.values():
            values = Counter(n for _, n in said)
            for who, n in said:
                sums[who][0] += values[n] - 1
                sums[who][1] += len(said) - 1
    return {who: same / pairs for who, (same, pairs) in sums.items()}


def _miscounts(counting: Counting, counts: Sequence[Count]) -> Mapping[str, tuple[float, float, float, float]]:
    """Rates and their standard errors, by annotator; nobody's where nothing tells them."""
    with warnings.catch_warnings():  # that rates are not known well is seen by their errors
        warnings.simplefilter("ignore", AskanceWarning)
        try:
            estimates = estimate_miscounts(regions_of(counting, counts))
        except AskanceError:  # nothing was counted twice, or nothing at all
            return {}
    return {
        who: (
            *(r.missed * (r.missed > _NOTHING), _known(r.missed_error)),
            *(r.extra * (r.extra > _NOTHING), _known(r.extra_error)),
        )
        for who, r in estimates.items()
    }


def _known(error: float) -> float:
    """NaN, which tables show as a dash, for an error without end."""
    return error if math.isfinite(error) else math.nan
