"""Permanent answers: words that a secret of the device draws, so that a question asked again gets the same report.

Word 4 i + j of a question is the j-th of the four little-endian 64-bit words in

    HMAC-SHA-256(secret, "askance permanent/1" ‖ campaign ‖ question ‖ i),

every text as its length in four bytes (big-endian) and its UTF-8, i in eight bytes (big-endian). Words depend neither
on the truth nor on anything that was answered. Whoever knows the secret can undo the noise: it stays on the device.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Iterator
from itertools import count

from askance.errors import InputError

_LABEL = "askance permanent/1"
_LEAST_BYTES = 16
_LEAST_TOKEN = 16


def permanent_words(secret: bytes, campaign: str, question: str) -> Iterator[int]:
    """The words of one question of one campaign on one device, without end; for `report_from_words`.

    The same truth gives the same report again. Another truth would be noised by the same words, and two reports then
    tell more than one: where a truth may change, its window is part of the question's name, and levels add up.

    Args:
        secret: of the device, at least 16 random bytes; `secret_from_token` makes one of an access token.
        campaign: its name.
        question: its name.

    >>> from askance import Warner
    >>> def again() -> tuple:
    ...     return Warner("2/3").report_from_words("yes", permanent_words(bytes(range(32)), "health", "smokes"))
    >>> again() == again()
    True
    """
    if not isinstance(secret, bytes) or len(secret) < _LEAST_BYTES:
        raise InputError(  # what came may be a secret: it is not shown
            f"is {f'{len(secret)} bytes long' if isinstance(secret, bytes) else f'a {type(secret).__name__}'}",
            argument="secret",
            allowed=f"at least {_LEAST_BYTES} random bytes",
            remedy="Draw one with secrets.token_bytes(32).",
        )
    return _words(secret, b"".join(map(_with_length, (_LABEL, campaign, question))))


def _words(secret: bytes, named: bytes) -> Iterator[int]:
    for number in count():
        yield from struct.unpack("<4Q", hmac.digest(secret, named + number.to_bytes(8, "big"), "sha256"))


def _with_length(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(4, "big") + encoded


def secret_from_token(token: str) -> bytes:
    """The secret of whoever holds an access token: the same on a second device, or when storage was cleared.

    The token itself must then never be sent, since it undoes the noise: what a server sees is `access_from_token`.

    >>> secret_from_token("correct-horse-battery").hex()[:16]
    '6f6752d84ea38ce1'
    """
    return _derived(token, "askance device secret/1")


def access_from_token(token: str) -> str:
    """What a device sends to show that it holds a token: neither the token nor its secret can be had from it.

    >>> access_from_token("correct-horse-battery")[:16]
    'ee915035d6bcf7d4'
    """
    return _derived(token, "askance access/1").hex()


def _derived(token: str, label: str) -> bytes:
    if not isinstance(token, str) or len(token) < _LEAST_TOKEN:
        raise InputError(
            f"is {f'{len(token)} characters long' if isinstance(token, str) else f'a {type(token).__name__}'}",
            argument="token",
            allowed=f"a text of at least {_LEAST_TOKEN}, of 128 random bits or more",
            remedy="Draw one with secrets.token_urlsafe(16).",
        )
    return hmac.digest(token.encode(), label.encode(), "sha256")
