"""Which stretch is asked next: fair to how often each is to be counted, and never the same person twice.

All is in memory: how often each stretch was counted and who answered what follow from the entries; what was handed out
is forgotten with the process. No time is kept: who takes a stretch and goes away makes it wait until those that nobody
has are handed out, and no longer.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from askance.collect.campaign import Counting
from askance.collect.counts import Counted

#: Stretches that are counted as often as they are to be before the next ones begin: agreement is known early.
ROUND = 50
# People to whom stretches are handed out at once; of more, the one who asked longest ago is forgotten.
_MOST_PEOPLE = 4096


class Queue:
    """Stretches of a campaign, and who is to count which.

    Attributes:
        counting: what is counted.
        n: entries that are known.

    >>> counting = Counting((("a", "b", "c", "d"),), ("N",), 2, 1, "")
    >>> queue = Queue(counting)
    >>> queue.next("ann", 1), queue.next("ben", 1), queue.next("ann", 1)
    ([0], [1], [0])
    >>> queue.add({"stretch": 0, "counts": [1], "annotator": "ann", "replaces": None})
    >>> queue.next("ann", 5), queue.next("ben", 5), queue.left("ben")
    ([1], [1], 1)
    """

    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        self._place = np.argsort(np.array(counting.order, dtype=np.int64))
        self._handed: OrderedDict[str, set[int]] = OrderedDict()
        self._with = np.zeros(len(self._place), dtype=np.int64)  # how many people have each just now
        self.fill(Counted([], []), 0)

    def fill(self, known: Counted, n: int) -> None:
        """Begin anew with what is stored."""
        times = np.zeros(len(self._place), dtype=np.int64)
        answered: dict[str, set[int]] = {}
        for count in known.counts:
            times[count.stretch] += 1
            answered.setdefault(count.annotator, set()).add(count.stretch)
        for stretch, annotator in known.skipped:
            answered.setdefault(annotator, set()).add(stretch)
        self._times, self._answered, self._skipped, self.n = times, answered, set(known.skipped), n

    def add(self, told: dict[str, Any]) -> None:
        """One more entry was stored."""
        stretch, annotator, is_skip = told["stretch"], told["annotator"], told["counts"] is None
        own = stretch in self._answered.get(annotator, ())  # a count takes the place of one of the same person alone
        was_counted = own and told["replaces"] is not None and (stretch, annotator) not in self._skipped
        self._times[stretch] += (not is_skip) - was_counted
        (self._skipped.add if is_skip else self._skipped.discard)((stretch, annotator))
        self._answered.setdefault(annotator, set()).add(stretch)
        handed = self._handed.get(annotator, set())
        self._with[stretch] -= stretch in handed
        handed.discard(stretch)
        self.n += 1

    def next(self, annotator: str, most: int) -> list[int]:
        """Stretches for somebody, the next one first; those that are still with this person come again.

        Of each round of stretches those with fewer counts come first, and what is with others counts as counted.
        """
        own = self._handed.pop(annotator, set())
        self._handed[annotator] = own
        if len(self._handed) > _MOST_PEOPLE:
            _, forgotten = self._handed.popitem(last=False)
            self._with[list(forgotten)] -= 1
        mine = np.zeros(len(self._place), dtype=bool)
        mine[list(own)] = True
        expected = self._times + self._with - mine
        free = np.flatnonzero(self._free(annotator))
        over = expected >= self.counting.times
        keys = (self._place, self._times, expected, self._place // ROUND, over, ~mine)
        chosen: list[int] = free[np.lexsort([key[free] for key in keys])][:most].tolist()
        self._with[[number for number in chosen if number not in own]] += 1
        own.update(chosen)
        return chosen

    def left(self, annotator: str) -> int:
        """How many stretches there are for somebody."""
        return int(self._free(annotator).sum())

    def told(self, annotator: str) -> int:
        """How many stretches somebody counted or skipped."""
        return len(self._answered.get(annotator, ()))

    def _free(self, annotator: str) -> Any:
        free = self._times < self.counting.times
        if annotator and not self.counting.again:
            free[list(self._answered.get(annotator, ()))] = False
        return free
