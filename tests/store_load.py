"""Senders that write to a store as fast as it acknowledges: `python -m tests.store_load ADDRESS CYCLE`.

Each acknowledgement is one line on standard output, written when the answer is there.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable

from askance.collect.store import Entry, StoreUnavailableError, Verdict, Writer, open_store

from .stores import CONTENTS, numbered

SENDERS = 6


def group(cycle: int, sender: int, number: int) -> list[Entry]:
    """What a sender sends as its group of that number: the same whoever asks."""
    first = ((cycle * SENDERS + sender) << 32) + (number << 8)
    rng = random.Random(first)
    contents = rng.choices(sorted(CONTENTS), k=rng.choice([1, 1, 5, 40]))
    return [numbered(first + i, content=content, window=rng.randrange(2)) for i, content in enumerate(contents)]


def send(writer: Writer, cycle: int, sender: int, heard: Callable[[int, int], bool]) -> None:
    """Send one group after the other, each until it is acknowledged, for as long as `heard` says so."""
    number = 0
    while True:
        try:
            verdicts = writer.submit(group(cycle, sender, number)).result()
        except StoreUnavailableError:
            continue
        assert set(verdicts) <= {Verdict.TAKEN, Verdict.KNOWN}
        if not heard(sender, number):
            return
        number += 1


def heard_on_a_pipe(sender: int, number: int) -> bool:
    os.write(1, f"{sender} {number}\n".encode())  # shorter than what pipes keep whole
    return True


def main(address: str, cycle: int) -> None:
    writer = Writer(lambda: open_store(address), tidy_after=0.001)
    for sender in range(SENDERS):
        threading.Thread(target=send, args=(writer, cycle, sender, heard_on_a_pipe)).start()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
