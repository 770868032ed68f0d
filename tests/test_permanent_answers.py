"""Permanent answers: words of a secret and a question, so that who is asked again sends the same report."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from askance import SubsetSelection
from askance.channels import access_from_token, permanent_words, secret_from_token
from askance.errors import InputError

SECRET = bytes(range(32))


def test_permanent_words_are_those_of_hmac() -> None:
    """The first eight, worked out by another implementation of HMAC."""
    from cryptography.hazmat.primitives import hashes, hmac

    wanted = b""
    for number in range(2):
        code = hmac.HMAC(SECRET, hashes.SHA256())
        for text in (b"askance permanent/1", b"health", "été".encode()):
            code.update(len(text).to_bytes(4, "big") + text)
        code.update(number.to_bytes(8, "big"))
        wanted += code.finalize()
    assert list(islice(permanent_words(SECRET, "health", "été"), 8)) == np.frombuffer(wanted, "<u8").tolist()


def test_permanent_words_depend_on_everything_but_the_truth() -> None:
    def first(*names: Any) -> int:
        return next(permanent_words(*names))

    others = [(bytes(32), "a", "b"), (SECRET, "ab", ""), (SECRET, "", "ab"), (SECRET, "b", "a")]
    assert len({first(SECRET, "a", "b"), *(first(*names) for names in others)}) == 5
    channel = SubsetSelection(9, 1)
    reports = [channel.report_from_words(5, permanent_words(SECRET, "c", "q")) for _ in range(2)]
    assert reports[0] == reports[1]


def test_tokens_give_a_secret_that_what_is_sent_does_not_tell() -> None:
    token = "0123456789abcdef"
    assert secret_from_token(token) == secret_from_token(token) != secret_from_token(token + "0")
    assert len(secret_from_token(token)) == 32
    assert access_from_token(token) != secret_from_token(token).hex()


@pytest.mark.parametrize("wrong", [b"very-short-key", "a secret as text, long enough", None])
def test_secrets_that_will_not_do_are_not_shown(wrong: Any) -> None:
    with pytest.raises(InputError, match="secret is") as refused:
        permanent_words(wrong, "c", "q")
    assert "very" not in str(refused.value)
    assert "enough" not in str(refused.value)


@pytest.mark.parametrize("wrong", ["too-short-token", b"bytes, not a text", 7])
def test_tokens_that_will_not_do_are_not_shown(wrong: Any) -> None:
    with pytest.raises(InputError, match="token is") as refused:
        secret_from_token(wrong)
    assert "short" not in str(refused.value)
    assert "not a text" not in str(refused.value)
