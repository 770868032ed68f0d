"""One seed per trial, from the seed of the run and the key of the trial."""

from __future__ import annotations

import hashlib


def trial_seed(seed: int, key: str) -> int:
    """A seed that depends on both alone: neither the order of trials nor the number of processes matters.

    >>> trial_seed(0, "sample") == trial_seed(0, "sample"), trial_seed(0, "sample") == trial_seed(1, "sample")
    (True, False)
    """
    return int.from_bytes(hashlib.sha256(f"{seed}/{key}".encode()).digest()[:8], "little")
