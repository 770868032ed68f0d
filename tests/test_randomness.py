"""The cryptographic source: fresh for every call, fed by the operating system, untouched by seeds."""

from __future__ import annotations

import os

import numpy as np
import pytest

from askance import RandomizedResponse, Warner
from askance.channels import randomness
from askance.channels.words import Words

CHANNEL = RandomizedResponse("1/2", outputs=256)
SIZES = [8, 511, 512, 5000, 40_000]


@pytest.mark.parametrize("size", SIZES)
def test_two_calls_never_give_the_same(size: int) -> None:
    """Eight answers through a channel of 256 outputs agree by chance with probability below 1e-4 ** 8."""
    truth = np.zeros(max(size, 64), dtype=np.int64)
    assert not np.array_equal(CHANNEL.randomize(truth), CHANNEL.randomize(truth))


@pytest.mark.parametrize("size", SIZES)
def test_seeding_numpy_changes_nothing_and_is_not_used(size: int) -> None:
    truth = np.zeros(max(size, 64), dtype=np.int64)
    drawn = []
    for _ in range(2):
        np.random.seed(7)  # noqa: NPY002 - the point is that nobody listens
        before = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
        drawn.append(CHANNEL.randomize(truth))
        assert np.array_equal(np.random.get_state()[1], before)  # type: ignore[index]  # noqa: NPY002
    assert not np.array_equal(drawn[0], drawn[1])


def test_long_runs_draw_key_and_counter_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = os.urandom

    def counted(size: int) -> bytes:
        asked.append(size)
        return real(size)

    monkeypatch.setattr("askance.channels.randomness.os.urandom", counted)
    CHANNEL.randomize(np.zeros(100_000, dtype=np.int64))
    assert asked == [32, 16]
    asked.clear()
    CHANNEL.randomize(np.zeros(100, dtype=np.int64))
    assert asked == [800]
    asked.clear()
    Warner("2/3").randomize_one("yes")
    assert asked == [8]


def test_the_stream_is_aes_in_counter_mode_under_that_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the key and counter known, the words are the published cipher's, across the borders of draws."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    material = [bytes(range(32)), bytes(range(16))]
    monkeypatch.setattr(
        "askance.channels.randomness.os.urandom", lambda size: next(m for m in material if len(m) == size)
    )
    source = randomness.secure_words(40_000)
    words = np.concatenate([source(n).copy() for n in (16_384, 16_384, 7_232)])
    stream = Cipher(algorithms.AES(material[0]), modes.CTR(material[1])).encryptor().update(bytes(8 * 40_000))
    assert words.tobytes() == stream


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_draws_its_own() -> None:
    truth = np.zeros(3000, dtype=np.int64)
    CHANNEL.randomize(truth)  # whatever could be kept between calls is kept now
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, CHANNEL.randomize(truth).tobytes())
        os._exit(0)
    mine = CHANNEL.randomize(truth).tobytes()
    os.waitpid(child, 0)
    theirs = os.read(read, 3000)
    os.close(read)
    os.close(write)
    assert len(theirs) == 3000
    assert theirs != mine


def test_what_is_compared_with_thresholds_has_a_fixed_size() -> None:
    """Integers of Python are compared faster where they are small, and a small one may say that the truth is told."""
    numbers = [randomness.secure_number(), *(Words.given([word]).number() for word in (0, 2**34, 2**64 - 1))]
    assert {type(number) for number in numbers} == {np.int64}
    assert [int(number) for number in numbers[1:]] == [0, 2**32, 2**62 - 1]
