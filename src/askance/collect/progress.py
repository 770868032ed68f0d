"""How far a campaign is, and what can be said of it: in blocks, so that whoever looks cannot see a single answer.

What is told changes when a block of answers is new, and what is told of a question when a block of reports to it is
new. How intervals became narrower, block by block, is remembered while the process runs and nowhere else: the store
keeps no order, and sums of blocks beside the answers would be one, since which answers add up to them can be found out.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from askance.channels.finite import FiniteChannel
from askance.collect.collection import Collection, people_of, withdrawn_from
from askance.collect.counts import counted
from askance.collect.export import answers_of
from askance.collect.live import BLOCK, as_records, live_estimates
from askance.collect.store import Store, Verdict
from askance.errors import AskanceError, AskanceWarning
from askance.estimation.results.regression_fit import RegressionFit
from askance.estimation.sequences.confidence_sequence import ConfidenceSequence
from askance.estimation.sequences.share_sequence import share_sequence
from askance.evidence.tally import Tally
from askance.survey.regress import regress

if TYPE_CHECKING:
    from askance.collect.agreement import CountingLook

# Regressions read all answers again: beyond this many they are left to `askance fit`, on a copy.
_MOST_ROWS = 50_000
# The path of an interval has so many points up to the planned number, and has paths of so many answers.
_POINTS, _MOST_PATHS = 50, 8
#: A question and a window.
Place: TypeAlias = tuple[str, int]


class _Held(NamedTuple):
    """What is told of a question, until a block of reports to it is new."""

    tally: Tally[Any]
    entries: int
    fit: RegressionFit | None = None


class Progress:
    """What is told of a campaign while answers come in; it changes when at least a block of answers is new."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._lock = threading.Lock()
        self._told: dict[str, Any] | None = None
        self._counted = 0
        self._held: dict[Place, _Held] = {}
        self._path: dict[str, list[dict[str, Any]]] = {}
        self._step = max(BLOCK, collection.campaign.planned_n // _POINTS)
        self._annotators: CountingLook | None = None
        if (counting := collection.campaign.counting) is not None:
            from askance.collect.agreement import CountingLook  # which loads taggers

            self._annotators = CountingLook(counting)

    def told(self) -> dict[str, Any]:
        """Numbers of answers, and estimates whose intervals hold at all looks, as of the last change."""
        with self._lock, self._collection.opened() as store:
            n = store.count()
            if self._told is None or abs(n - self._counted) >= BLOCK:
                self._look(store, n)
            assert self._told is not None
            return self._told

    def watch(self) -> None:
        """Look where nobody did for long, so that the path of intervals has no holes."""
        with self._lock, self._collection.opened() as store:
            n = store.count()
            if abs(n - self._counted) >= self._step:
                self._look(store, n)

    def _look(self, store: Store, n: int) -> None:
        counted = n if n >= BLOCK else 0
        self._told = self._now(store, counted)
        self._counted = counted

    def _now(self, store: Store, n: int) -> dict[str, Any]:
        campaign = self._collection.campaign
        issued, spent = store.token_count()
        issued += len(people_of(store.meta()))  # who counts has one token for all counts, which is never spent
        self._held = self._hold(store, n) if n else {}
        # A device that sends in every window is not new in each: what is told is of the present one.
        window = self._collection.window()
        present = {name: held for (name, of), held in self._held.items() if of == window}
        declined = {name: held.entries - held.tally.n_observations for name, held in present.items()}
        live = live_estimates(
            {name: held.tally for name, held in present.items()},
            campaign.planned_n,
            fits={name: held.fit for name, held in present.items() if held.fit is not None},
            declined=declined if campaign.kind == "survey" else {},
            duplicates=self._collection.came[Verdict.KNOWN],
            conflicts=self._collection.came[Verdict.CONFLICT],
        )
        told = {
            "campaign": campaign.name,
            "n": n,
            "planned_n": campaign.planned_n,
            "block": BLOCK,
            "tokens": {"issued": issued, "spent": spent - spent % BLOCK},
            "withdrawn": withdrawn_from(store.meta()),
            "live": live.to_json(),
        }
        if campaign.kind == "survey":
            self._extend(live.shares)
            return told | {"path": {name: list(points) for name, points in self._path.items()}}
        if self._annotators is not None:
            return told | (_counted(self._annotators, store) if n else {"stretches": None, "counting": None})
        return told | {"windows": self._windows()}

    # -- what is held ----------------------------------------------------------------------------------------------

    def _hold(self, store: Store, n: int) -> dict[Place, _Held]:
        """What is told of every question in every window: nothing of less than a block, and of what is new neither."""
        columns = self._columns(store, n)
        held = dict[Place, _Held]()
        for place, tally in self._tallies(store, columns).items():
            before = self._held.get(place)
            if abs(tally.n_observations - (before.tally.n_observations if before else 0)) < BLOCK:
                held |= {} if before is None else {place: before}
            elif tally.n_observations >= BLOCK:
                entries = n if columns is None else len(columns[place[0]])
                held[place] = _Held(tally, entries, self._fit(place[0], columns))
        return held

    def _columns(self, store: Store, n: int) -> dict[str, list[Any]] | None:
        """All answers, where regressions want them: tallies are then of the very same ones."""
        campaign = self._collection.campaign
        openly = any(question.channel is None for question in campaign.questions)
        return answers_of(campaign, store) if campaign.kind == "survey" and openly and n <= _MOST_ROWS else None

    def _tallies(self, store: Store, columns: Mapping[str, list[Any]] | None) -> dict[Place, Tally[Any]]:
        channels = {q.name: q.channel for q in self._collection.campaign.questions if q.channel is not None}
        if columns is None:
            sums = sorted(store.tallies().items())
            return {place: Tally(channels[place[0]], *own) for place, own in sums if place[0] in channels}
        told = {name: [value for value in columns[name] if value is not None] for name in channels}
        return {(name, 0): Tally(channels[name]).add(values) for name, values in told.items() if values}

    def _fit(self, name: str, columns: Mapping[str, list[Any]] | None) -> RegressionFit | None:
        """A noised answer of a survey, explained by all open ones; None where that cannot be fitted."""
        campaign = self._collection.campaign
        if columns is None or not isinstance(campaign.by_name[name].channel, FiniteChannel):
            return None
        openly = [question.name for question in campaign.questions if question.channel is None]
        varied = [other for other in openly if len({*columns[other]} - {None}) > 1]
        terms = " + ".join(f"`{other}`" for other in varied) or "1"  # a name may hold anything but such a quote
        with warnings.catch_warnings():  # what a fit warns of is among its messages, or makes it too early to tell
            warnings.simplefilter("ignore", AskanceWarning)
            try:
                fit: RegressionFit = regress(f"`{name}` ~ {terms}", columns, campaign.codebook(), missing="drop")
                return fit
            except AskanceError:
                return None

    # -- over time -------------------------------------------------------------------------------------------------

    def _extend(self, shares: Mapping[str, ConfidenceSequence]) -> None:
        """One more point of every path; the last one moves on until it is far enough from the one before."""
        before, self._path = self._path, {}
        for name, at in shares.items():
            points = [point for point in before.get(name, []) if point["n"] < at.n]
            if len(points) > 1 and points[-1]["n"] - points[-2]["n"] < self._step:
                points.pop()
            if len(at.names) <= _MOST_PATHS:
                self._path[name] = [*points, {"n": at.n, "shares": as_records(at)}]

    def _windows(self) -> dict[str, list[dict[str, Any]]]:
        """Of devices: every window by itself, by question."""
        campaign, windows = self._collection.campaign, dict[str, list[dict[str, Any]]]()
        for (name, window), held in self._held.items():
            begins = date(1970, 1, 1) + timedelta(days=window * campaign.window_days)
            try:
                shares = as_records(share_sequence(held.tally, campaign.planned_n))
            except AskanceError:  # such a channel has none, which is among the findings
                shares = []
            own = {"window": window, "begins": begins.isoformat(), "n": held.tally.n_observations, "shares": shares}
            windows.setdefault(name, []).append(own)
        return windows


def _counted(look: CountingLook, store: Store) -> dict[str, Any]:
    """How many stretches were counted, and how many often enough; and what the lead is told of those who count."""
    counting = look.counting
    known = counted(counting, store.entries())
    times = Counter(count.stretch for count in known.counts)
    enough = sum(count >= counting.times for count in times.values())
    stretches = {"all": len(counting.stretches), "begun": len(times), "enough": enough, "times": counting.times}
    return {"stretches": stretches, "counting": look.report(known).to_json()}
