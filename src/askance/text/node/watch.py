"""How one is told what is going on in a training, and when it has gone on for long enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

#: What is going on, and how far it is (0 to 1).
Progress: TypeAlias = Callable[[str, float], None]
T = TypeVar("T")
# Training stops when held-out regions were no better than at their best so many looks in a row.
_PATIENCE = 5


@dataclass(frozen=True)
class Course:
    """How a training went."""

    iterations: int  # of the convex fit and of the likelihood
    converged: bool  # whether the last of them did
    log_likelihood: float = math.nan  # of what is known, per region (NaN for moments)
    exact_regions: int = 0  # how many of them, single tokens included, the likelihood was exact for
    edge_weight: float = math.nan  # of cheap edges, chosen on held-out regions; NaN where there are none
    held_out: float = math.nan  # highest log-likelihood of the held-out regions, per region; NaN without them
    stopped_early: bool = False  # whether they stopped the training


def rising(progress: Progress | None) -> Progress:
    """The same, but a share that was told is never taken back: what is left may turn out to be more than was thought.

    >>> tell = rising(lambda text, share: print(text, share))
    >>> tell("moments", 0.5)
    moments 0.5
    >>> tell("likelihood", 0.25)
    likelihood 0.5
    """
    highest = [0.0]

    def tell(text: str, share: float) -> None:
        highest[0] = max(highest[0], min(share, 1.0))
        if progress is not None:
            progress(text, highest[0])

    return tell


class Watch(Generic[T]):
    """Looks at held-out regions during training and says when to stop; keeps the best parameters, the first among them.

    Args:
        value: the log-likelihood of the held-out regions, per region, at some parameters.
        start: where training begins.
        every: looks after so many steps.

    >>> watch = Watch(lambda x: -x * x, -3, every=1)
    >>> [watch(x) for x in (-2, -1, 1, 2, 3, 4, 5, 6)].index(True), watch.best, watch.highest
    (6, -1, -1)
    """

    def __init__(self, value: Callable[[T], float], start: T, *, every: int = 1) -> None:
        self._value, self._every, self._steps, self._worse = value, every, 0, 0
        self.best, self.highest, self.stopped = start, value(start), False

    def __call__(self, parameters: T) -> bool:
        """Look every so many steps, and say whether to stop."""
        self._steps += 1
        return False if self._steps % self._every else self.look(parameters)

    def look(self, parameters: T) -> bool:
        """Look now, and say whether to stop."""
        value = self._value(parameters)
        if value > self.highest:
            self.best, self.highest, self._worse = parameters, value, 0
        else:
            self._worse += 1
        self.stopped = self._worse >= _PATIENCE
        return self.stopped
