"""How far a campaign is, and what can be said of it: in blocks, so that whoever looks cannot see a single answer."""

from __future__ import annotations

import warnings
from typing import Any

from askance.channels.finite import FiniteChannel
from askance.collect.collection import Collection, withdrawn_from
from askance.collect.counts import counted
from askance.collect.export import answers_of, tally_of
from askance.collect.live import BLOCK, live_estimates
from askance.collect.store import Store
from askance.errors import AskanceError, AskanceWarning
from askance.estimation.results.regression_fit import RegressionFit
from askance.survey.regress import regress

# Regressions read all answers again: beyond this many they are left to `askance fit`, on a copy.
_MOST_ROWS = 50_000


class Progress:
    """What is told of a campaign while answers come in; it changes when at least a block of answers is new."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._told: dict[str, Any] | None = None
        self._counted = 0
        self._look = None
        if (counting := collection.campaign.counting) is not None:
            from askance.collect.agreement import CountingLook  # which loads taggers

            self._look = CountingLook(counting)

    def told(self) -> dict[str, Any]:
        """Numbers of answers, and estimates whose intervals hold at all looks, as of the last change."""
        with self._collection.opened() as store:
            n = store.count()
            if self._told is None or abs(n - self._counted) >= BLOCK:
                self._counted = n if n >= BLOCK else 0
                self._told = self._now(store, self._counted)
        return self._told

    def _now(self, store: Store, n: int) -> dict[str, Any]:
        campaign = self._collection.campaign
        issued, spent = store.token_count()
        noised = [question for question in campaign.questions if question.channel is not None]
        # A device that sends in every window is not new in each: what is told is of the present one.
        window = self._collection.window() if campaign.kind == "devices" else None
        tallies = {question.name: tally_of(question, store, window) for question in noised if n}
        declined = {name: n - tally.n_observations for name, tally in tallies.items()}
        live = live_estimates(
            tallies,
            campaign.planned_n,
            fits=self._fits(store) if tallies and n <= _MOST_ROWS else {},
            declined=declined if campaign.kind == "survey" else {},
        )
        return {
            "campaign": campaign.name,
            "n": n,
            "planned_n": campaign.planned_n,
            "block": BLOCK,
            "tokens": {"issued": issued, "spent": spent - spent % BLOCK},
            "withdrawn": withdrawn_from(store.meta()),
            "live": live.to_json(),
            "counting": self._look.report(counted(campaign.counting, store.entries())).to_json()
            if self._look is not None and campaign.counting is not None and n
            else None,
        }

    def _fits(self, store: Store) -> dict[str, RegressionFit]:
        """Every noised answer of a survey, explained by all open ones; those that cannot be fitted are left out."""
        campaign = self._collection.campaign
        noised = [question.name for question in campaign.questions if isinstance(question.channel, FiniteChannel)]
        openly = [question.name for question in campaign.questions if question.channel is None]
        if campaign.kind != "survey" or not openly:
            return {}
        columns, codebook, fits = answers_of(campaign, store), campaign.codebook(), dict[str, RegressionFit]()
        varied = [name for name in openly if len({*columns[name]} - {None}) > 1]
        terms = " + ".join(f"`{name}`" for name in varied) or "1"  # a name may hold anything but such a quote
        for name in noised:
            with warnings.catch_warnings():  # what a fit warns of is among its messages, or makes it too early to tell
                warnings.simplefilter("ignore", AskanceWarning)
                try:
                    fits[name] = regress(f"`{name}` ~ {terms}", columns, codebook, missing="drop")
                except AskanceError:
                    continue
        return fits
