"""What is stored: one acknowledged thing at a time, and what became of it."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from askance._arrays import IntArray
from askance._checks import shown
from askance.errors import InputError

#: Bytes of an id, which its sender draws at random.
ID_BYTES = 16
#: Bytes of the hash of a token.
HASH_BYTES = 32
_NOTHING: Mapping[str, IntArray] = MappingProxyType({})


def token_hash(token: bytes, salt: bytes) -> bytes:
    """HMAC-SHA-256(salt, token): what is kept of a token that was issued, and whether it is spent; not on what.

    Tokens have at least 128 random bits, so that nobody finds them by trying.

    >>> token_hash(bytes(16), b"salt of the campaign").hex()[:8]
    '9ff79366'
    """
    return hmac.digest(salt, token, "sha256")


def require_hashes(hashes: Iterable[bytes]) -> list[bytes]:
    """Hashes of tokens, each once, in no order of time."""
    known = sorted(set(hashes))
    if any(len(hash) != HASH_BYTES for hash in known):
        raise InputError("are no hashes", argument="hashes", allowed=f"{HASH_BYTES} bytes each, of token_hash")
    return known


def hashes_in(listed: bytes) -> frozenset[bytes]:
    """Hashes that are kept one after the other.

    >>> len(hashes_in(bytes(range(64))))
    2
    """
    return frozenset(listed[i : i + HASH_BYTES] for i in range(0, len(listed), HASH_BYTES))


class Entry(NamedTuple):
    """One acknowledged thing: a respondent's answers, a device's report, one count.

    Attributes:
        id: 16 random bytes, chosen by the sender.
        content: the canonical bytes of what was sent. Two of the same id are the same if these are.
        token: the `token_hash` of what is spent by it, if the campaign has tokens.
        window: the number of a device's window; 0 for surveys and counts.
        sums: by question, what this entry adds to the tally of the question: `channel.sums` of its one report, shape
            (sums_size,). Every question in it has one report more. A function of `content`.

    >>> import numpy as np
    >>> Entry(bytes(16), b'{"drugs":"yes"}', sums={"drugs": np.array([0, 1])}).window
    0
    """

    id: bytes
    content: bytes
    token: bytes | None = None
    window: int = 0
    sums: Mapping[str, IntArray] = _NOTHING


class Verdict(Enum):
    """What became of an entry. All but the first change nothing."""

    #: It is stored, durably.
    TAKEN = "taken"
    #: It was stored before: same id, same content, in whichever window.
    KNOWN = "known"
    #: Another content is stored under its id.
    CONFLICT = "conflict"
    #: Its token was spent, on an entry of another id.
    SPENT = "spent"
    #: Its token was never issued.
    FOREIGN = "foreign"
    #: It is new, and the campaign was closed before it came.
    CLOSED = "closed"

    @property
    def acknowledged(self) -> bool:
        """Whether the sender may forget what it sent."""
        return self in (Verdict.TAKEN, Verdict.KNOWN)


def require_entries(entries: Sequence[Entry]) -> None:
    """Refuse what no store could keep. Sums are checked where they are added up."""
    for id, content, token, window, _ in entries:
        if type(id) is not bytes or len(id) != ID_BYTES:
            raise InputError(argument="id", got=shown(id), allowed=f"{ID_BYTES} bytes", remedy="Draw it at random.")
        if type(content) is not bytes:
            raise InputError("is no bytes", argument="content", allowed="bytes", remedy="Encode what was sent.")
        if token is not None and (type(token) is not bytes or len(token) != HASH_BYTES):
            raise InputError("is no hash", argument="token", allowed=f"{HASH_BYTES} bytes", remedy="Give token_hash.")
        if type(window) is not int or not 0 <= window < 1 << 63:
            raise InputError(
                argument="window", got=shown(window), allowed="0 to 2⁶³ − 1", remedy="Number windows from 0 on."
            )
