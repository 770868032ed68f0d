"""How far a campaign is, in blocks: whoever looks again and again cannot see what a single answer changed."""

from __future__ import annotations

from typing import Any

from askance.channels.finite import FiniteChannel
from askance.collect.collection import Collection, withdrawn_from
from askance.collect.export import tally_of
from askance.collect.store import Store

#: What is told changes when at least so many answers are new.
BLOCK = 20


class Progress:
    """What is told of a campaign while answers come in."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._told: dict[str, Any] | None = None

    def told(self) -> dict[str, Any]:
        """Numbers of answers, and sums of reports by question, as of the last whole block."""
        with self._collection.opened() as store:
            n = store.count()
            n -= n % BLOCK
            if self._told is None or n != self._told["n"]:
                self._told = self._now(store, n)
        return self._told

    def _now(self, store: Store, n: int) -> dict[str, Any]:
        campaign = self._collection.campaign
        issued, spent = store.token_count()
        told: dict[str, Any] = {}
        for question in campaign.questions:
            channel = question.channel
            if channel is not None and n:
                tally = tally_of(question, store)
                labels = list(channel.observations.labels) if isinstance(channel, FiniteChannel) else None
                told[question.name] = {"n": tally.n_observations, "sums": tally.sums.tolist(), "labels": labels}
        return {
            "campaign": campaign.name,
            "n": n,
            "planned_n": campaign.planned_n,
            "block": BLOCK,
            "tokens": {"issued": issued, "spent": spent - spent % BLOCK},
            "withdrawn": withdrawn_from(store.meta()),
            "questions": told,
        }
