"""Files: what is written is read back exactly; what was cut, altered or foreign is refused by name."""

from __future__ import annotations

import dataclasses
import math
import os
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import (
    Coarsened,
    Direct,
    DistributionFit,
    Enumerated,
    RandomizedResponse,
    Tally,
    Warner,
    estimate,
    load,
    save,
)
from askance.channels import ChannelEntry, FiniteChannel, entries
from askance.errors import AskanceWarning, FormatError, InputError
from askance.estimation import METHODS
from askance.formats import channel_to_toml, fit_to_json, read_channel
from askance.formats.container import pack, unpack

from .golden.contents import FOLDER, golden_fits, golden_tallies

EXAMPLES = [
    pytest.param(entry, example, id=f"{entry.kind}-{number}")
    for entry in entries()
    for number, example in enumerate(entry.examples)
]


def counts_of(size: int) -> list[int]:
    """Different counts, with a zero and one beyond 32 bits."""
    return [0, 2**40, *range(3, size + 1)][:size]


def small_tally() -> Tally:
    return Tally(Warner("2/3"), [5, 7])


def assert_same_fit(left: DistributionFit, right: DistributionFit) -> None:
    """Equality to the last bit; NaN equals NaN."""
    for field in dataclasses.fields(DistributionFit):
        if field.name != "model":
            np.testing.assert_equal(getattr(left, field.name), getattr(right, field.name), err_msg=field.name)
    assert left.model.outputs == right.model.outputs
    assert left.model.parameter_names == right.model.parameter_names
    np.testing.assert_equal(left.model.table, right.model.table)
    np.testing.assert_equal(left.model.log_base_measure, right.model.log_base_measure)


def load_bytes(data: bytes, path: Path) -> Tally | DistributionFit:
    path.write_bytes(data)
    return load(path)


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    """One file, in memory where the machine allows it: the tests below write it a thousand times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder) / "state"


# -- round trips -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("entry", "example"), EXAMPLES)
def test_tally_round_trip(entry: ChannelEntry, example: dict[str, Any], tmp_path: Path) -> None:
    channel = entry.build(example)
    tally = Tally(channel, counts_of(len(channel.observations)))
    save(tally, tmp_path / "a.tally")
    again = load(tmp_path / "a.tally")
    assert isinstance(again, Tally)
    assert again == tally
    assert again.channel.kind == channel.kind
    assert again.channel.specification() == channel.specification()
    assert np.array_equal(again.channel.integer_weights, channel.integer_weights)
    assert again.counts.dtype == tally.counts.dtype
    assert (again + tally).n_observations == 2 * tally.n_observations
    save(again, tmp_path / "b.tally")
    assert (tmp_path / "b.tally").read_bytes() == (tmp_path / "a.tally").read_bytes()


@pytest.mark.parametrize(("entry", "example"), EXAMPLES)
def test_toml_round_trip(entry: ChannelEntry, example: dict[str, Any], tmp_path: Path) -> None:
    channel = entry.build(example)
    path = tmp_path / "channel.toml"
    path.write_text(channel_to_toml(channel), encoding="utf-8", newline="\n")
    again = read_channel(path)
    assert type(again) is type(channel)
    assert again == channel
    assert again.specification() == channel.specification()


@pytest.mark.parametrize("name", ["tally", "toml"])
@pytest.mark.parametrize(
    "labels",
    [
        ["é", "ü"],
        ['a "b"', "c\\d"],
        ["a\nb", "a\tb"],
        ["", " "],
        [1, "1"],
        [True, False],
        [0.1, -2.5],
        ["😀", "\u2028"],
    ],
    ids=repr,
)
def test_labels_survive(labels: list[Any], name: str, tmp_path: Path) -> None:
    channel: FiniteChannel = RandomizedResponse("1/2", outputs=labels)
    path = tmp_path / "state"
    if name == "tally":
        save(Tally(channel), path)
        loaded = load(path)
        assert isinstance(loaded, Tally)
        again = loaded.channel
    else:
        path.write_text(channel_to_toml(channel), encoding="utf-8", newline="\n")
        again = read_channel(path)
    assert list(again.outputs.labels) == labels
    assert [type(label) for label in again.outputs.labels] == [type(label) for label in labels]


def fits_of_every_kind() -> dict[str, Callable[[], DistributionFit]]:
    coins, abc = Enumerated.saturated(["no", "yes"]), Enumerated.saturated(["a", "b", "c"])
    noisy = RandomizedResponse("1/2", outputs=["no", "yes"])
    tally = Tally(noisy, [600, 400])
    return {
        "one-step": lambda: estimate(coins, tally),
        "moments": lambda: estimate(coins, tally, "moments"),
        "marginal": lambda: estimate(coins, tally, "marginal"),
        "supervised": lambda: estimate(coins, Tally(Direct(["no", "yes"]), [60, 40]), "supervised"),
        "projection": lambda: estimate(coins, tally, "projection"),
        "repaired": lambda: estimate(coins, Tally(noisy, [90, 10])),
        "no covariance": lambda: estimate(abc, Tally(Coarsened([["a", "b"], ["c"]]), [6, 2]), "projection"),
    }


@pytest.mark.parametrize("name", list(fits_of_every_kind()))
def test_fit_round_trip(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        fit = fits_of_every_kind()[name]()
    save(fit, tmp_path / "a.fit")
    again = load(tmp_path / "a.fit")
    assert isinstance(again, DistributionFit)
    assert_same_fit(again, fit)
    assert again.summary() == fit.summary()
    assert (name == "no covariance") == bool(np.isnan(again.covariance).any())
    assert (name in ("supervised", "no covariance")) == math.isinf(again.privacy_level)
    assert (name == "repaired") == again.diagnostics.repaired


def test_every_method_is_kept() -> None:
    assert set(METHODS) <= set(fits_of_every_kind())


# -- golden files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(golden_tallies()))
def test_golden_tally(name: str, tmp_path: Path) -> None:
    tally = golden_tallies()[name]
    assert load(FOLDER / name) == tally
    save(tally, tmp_path / name)
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


@pytest.mark.parametrize("name", list(golden_fits()))
def test_golden_fit(name: str, tmp_path: Path) -> None:
    fit = golden_fits()[name]
    again = load(FOLDER / name)
    assert isinstance(again, DistributionFit)
    assert_same_fit(again, fit)
    save(fit, tmp_path / name)
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_no_golden_file_is_forgotten() -> None:
    kept = {path.name for path in FOLDER.iterdir() if path.suffix in (".tally", ".fit")}
    assert kept == {*golden_tallies(), *golden_fits()}


# -- damage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["forced_response.tally", "every_diagnostic.fit"])
def test_truncation_anywhere_is_noticed(name: str, scratch: Path) -> None:
    data = (FOLDER / name).read_bytes()
    for length in range(len(data)):
        with pytest.raises(FormatError, match="state"):
            load_bytes(data[:length], scratch)


@pytest.mark.parametrize("name", ["forced_response.tally", "every_diagnostic.fit"])
def test_no_flipped_bit_changes_what_is_read(name: str, scratch: Path) -> None:
    """Every byte, one bit each; in a fit the last digit of a number may change without changing the number."""
    data = (FOLDER / name).read_bytes()
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << (position % 8)
        try:
            thing = load_bytes(bytes(damaged), scratch)
        except FormatError:
            continue
        assert isinstance(thing, DistributionFit), f"byte {position} of a tally"
        assert_same_fit(thing, golden_fits()[name])


def repacked(tally: Tally, payload: bytes | None = None, **changes: Any) -> bytes:
    """A tally's file with another header or payload, under a checksum that fits."""
    path = Path(tempfile.mkstemp()[1])
    save(tally, path)
    header, original = unpack(path.read_bytes(), "original")
    path.unlink()
    kept = {key: value for key, value in {**header, **changes}.items() if key not in ("payload_bytes", "sha256")}
    return pack(kept, original if payload is None else payload)


def counts_payload(*counts: int) -> bytes:
    return zlib.compress(np.array(counts, dtype="<i8").tobytes())


GOLDEN_FIT = fit_to_json(golden_fits()["every_diagnostic.fit"])
FOREIGN: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "not an askance file"),
    "a newline": (lambda: b"\n", "not an askance file"),
    "a picture": (lambda: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not an askance file"),
    "JSON of others": (lambda: b'{"version": 1}\n', "not an askance file"),
    "a JSON list": (lambda: b'["askance"]\n', "not an askance file"),
    "a number": (lambda: b"17\n", "not an askance file"),
    "no newline": (lambda: b'{"askance":"tally/1"}', "state"),
    "no payload size": (lambda: b'{"askance":"tally/1"}\n', "truncated"),
    "appended byte": (lambda: repacked(small_tally()) + b"\0", "truncated or padded"),
    "appended line": (lambda: repacked(small_tally()) + b"\n", "truncated or padded"),
    "two files in one": (lambda: 2 * repacked(small_tally()), "truncated or padded"),
    "the next version": (lambda: pack({"askance": "tally/2"}), "'tally/2'"),
    "another kind": (lambda: pack({"askance": "forest/1"}), "'forest/1'"),
    "no version": (lambda: pack({"askance": None}), "None"),
    "swapped channel": (lambda: repacked(small_tally(), channel=Warner("3/4").specification()), "thresholds"),
    "swapped fingerprint": (lambda: repacked(small_tally(), fingerprint=Warner("3/4").fingerprint), "thresholds"),
    "no fingerprint": (lambda: repacked(small_tally(), fingerprint=None), "thresholds"),
    "larger channel": (lambda: repacked(small_tally(), channel={"kind": "direct", "outputs": 3}), "shape"),
    "no channel": (lambda: repacked(small_tally(), channel=None), "state"),
    "channel of no kind": (lambda: repacked(small_tally(), channel={"question": "2/3"}), "kind"),
    "unknown channel": (lambda: repacked(small_tally(), channel={"kind": "tarot"}), "'tarot'"),
    "impossible channel": (lambda: repacked(small_tally(), channel={"kind": "warner", "question": 7}), "0 to 1"),
    "negative counts": (lambda: repacked(small_tally(), counts_payload(-5, 7)), "-5"),
    "too many counts": (lambda: repacked(small_tally(), counts_payload(5, 7, 9)), "shape"),
    "half a count": (lambda: repacked(small_tally(), zlib.compress(b"123")), "state"),
    "not compressed": (lambda: repacked(small_tally(), b"\5\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0"), "state"),
    "half a fit": (lambda: pack({"askance": "fit/1", "theta": [0.5]}), "fit"),
    "a fit of texts": (lambda: pack({**GOLDEN_FIT, "theta": ["a"]}), "fit"),
    "a fit of another size": (lambda: pack({**GOLDEN_FIT, "theta": [1, 2, 3]}), "fit"),
    "a fit without model": (lambda: pack({**GOLDEN_FIT, "model": None}), "fit"),
    "a fit of a strange model": (lambda: pack({**GOLDEN_FIT, "model": {"formula": "y ~ x"}}), "formula"),
}


@pytest.mark.parametrize(("make", "words"), FOREIGN.values(), ids=list(FOREIGN))
def test_foreign_files_are_refused_by_name(make: Callable[[], bytes], words: str, tmp_path: Path) -> None:
    path = tmp_path / "state.tally"
    with pytest.raises(FormatError) as caught:
        load_bytes(make(), path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("name", ["missing.tally", "", "file/below.tally"])
def test_unreadable_paths(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for read in (load, read_channel):
        with pytest.raises(FormatError, match="cannot read") as caught:
            read(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


# -- whole or not at all -----------------------------------------------------------------------------------------------


def refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.tally"
    save(small_tally(), path)
    old = path.read_bytes()
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(FormatError, match="No space left") as caught:
        save(small_tally().add(["yes"]), path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_wrong_object_leaves_everything_alone(tmp_path: Path) -> None:
    path, wrong = tmp_path / "state.tally", [small_tally()]
    save(small_tally(), path)
    old = path.read_bytes()
    with pytest.raises(InputError, match="list"):
        save(wrong, path)  # type: ignore[arg-type]
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_impossible_places_are_named(tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_text("kept")
    folder.mkdir()
    for path in (file / "below.tally", folder, tmp_path / "missing" / "a.tally"):
        with pytest.raises(FormatError, match="cannot write") as caught:
            save(small_tally(), path)
        assert str(path) in str(caught.value)
    assert file.read_text() == "kept"
    assert sorted(tmp_path.rglob("*")) == [file, folder]


def test_overwriting_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_bytes(b"x" * 100_000)
    save(small_tally(), str(path))
    assert load(str(path)) == small_tally()
    assert list(tmp_path.iterdir()) == [path]


# -- TOML --------------------------------------------------------------------------------------------------------------

MALFORMED = {
    "not TOML": (b"kind = warner", ("channel.toml", "line 1")),
    "twice": (b'kind = "warner"\nkind = "direct"\n', ("channel.toml", "line 2")),
    "not text": (b"\xff\xfe\x00", ("channel.toml",)),
    "empty": (b"", ("kind", "nothing")),
    "no kind": (b'question = "2/3"', ("kind", "'question'", "warner")),
    "misspelt kind": (b'kind = "warnr"', ("'warnr'", "Did you mean 'warner'?")),
    "misspelt parameter": (b'kind = "warner"\nquesion = 0.3', ("'quesion'", "Did you mean 'question'?")),
    "missing parameter": (b'kind = "warner"', ("question", "0.25 or 1/4")),
    "too large": (b'kind = "warner"\nquestion = 66', ("question", "66", "0 to 1")),
    "not a number": (b'kind = "warner"\nquestion = nan', ("question", "nan")),
    "dates": (b'kind = "direct"\noutputs = [2020-01-01, 2021-01-01]', ("2020", "not usable")),
}


@pytest.mark.parametrize(("content", "words"), MALFORMED.values(), ids=list(MALFORMED))
def test_malformed_channel_files(content: bytes, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "channel.toml"
    path.write_bytes(content)
    with pytest.raises((FormatError, InputError)) as caught:
        read_channel(path)
    assert [word for word in words if word not in str(caught.value)] == []
    assert caught.value.remedy
