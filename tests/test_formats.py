"""Files: what is written is read back exactly; what was cut, altered or foreign is refused by name."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tempfile
import warnings
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
from askance.errors import AskanceWarning, FormatError
from askance.estimation import METHODS, FieldFit, LocalMaximum
from askance.formats import channel_to_toml, fit_to_json, read_answer_channel, read_channel
from askance.formats.container import pack, unpack

from .golden.contents import FOLDER, golden_fields, golden_fits, golden_tallies
from .golden.fits import golden_fits_2

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


def load_bytes(data: bytes, path: Path) -> object:
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
        ["a\x7f", "\x85"],
        [-(2**63), 2**63 - 1],
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
        again = read_answer_channel(path)
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
    assert load(FOLDER / name).sources == tally.sources  # type: ignore[union-attr]
    assert load(FOLDER / name) == tally
    save(tally, tmp_path / name)
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


@pytest.mark.parametrize("name", list(golden_fits()))
def test_golden_fit(name: str) -> None:
    fit = golden_fits()[name]
    again = load(FOLDER / name)
    assert isinstance(again, DistributionFit)
    assert_same_fit(again, fit)


@pytest.mark.parametrize("name", list(golden_fields()))
def test_golden_field(name: str) -> None:
    fit, again = golden_fields()[name], load(FOLDER / name)
    assert isinstance(again, FieldFit)
    assert again.field.parameter_names == fit.field.parameter_names
    assert again.field.impossible == fit.field.impossible
    assert repr(again.diagnostics) == repr(fit.diagnostics)
    for field in dataclasses.fields(FieldFit):
        if field.name not in ("model", "diagnostics"):
            np.testing.assert_equal(getattr(again, field.name), getattr(fit, field.name))


def test_no_golden_file_is_forgotten() -> None:
    kept = {path.name for path in FOLDER.iterdir() if path.suffix in (".tally", ".fit", ".field")}
    assert kept == {*golden_tallies(), *golden_fits(), *golden_fields(), *golden_fits_2()}


# -- damage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["forced_response.tally", "every_diagnostic.fit"])
def test_truncation_anywhere_is_noticed(name: str, scratch: Path) -> None:
    data = (FOLDER / name).read_bytes()
    for length in range(len(data)):
        with pytest.raises(FormatError, match="state"):
            load_bytes(data[:length], scratch)


@pytest.mark.parametrize("name", ["forced_response.tally", "every_diagnostic.fit"])
def test_every_flipped_bit_is_noticed(name: str, scratch: Path) -> None:
    """Every byte, two bits each; also where it changes no number, as the last digit or the case of a letter."""
    data = (FOLDER / name).read_bytes()
    for position in range(len(data)):
        for bit in {1 << (position % 8), 32}:
            damaged = bytearray(data)
            damaged[position] ^= bit
            with pytest.raises(FormatError, match="state"):
                load_bytes(bytes(damaged), scratch)


@pytest.mark.parametrize("name", ["forced_response.tally", "every_diagnostic.fit"])
def test_every_cut_is_called_so(name: str, scratch: Path) -> None:
    data = (FOLDER / name).read_bytes()
    for length in (1, 5, 11, 60, data.index(b"\n")):
        with pytest.raises(FormatError, match="truncated"):
            load_bytes(data[:length], scratch)


def test_other_line_ends_are_noticed(scratch: Path) -> None:
    data = (FOLDER / "forced_response.tally").read_bytes()
    with pytest.raises(FormatError):
        load_bytes(data.replace(b"\n", b"\r\n", 1), scratch)


def repacked(tally: Tally, payload: bytes | None = None, **changes: Any) -> bytes:
    """A tally's file with another header or payload, under a checksum that fits."""
    path = Path(tempfile.mkstemp()[1])
    save(tally, path)
    header, original = unpack(path.read_bytes(), "original")
    path.unlink()
    kept = {key: value for key, value in {**header, **changes}.items() if key not in ("payload_bytes", "sha256")}
    return pack(kept, original if payload is None else payload)


def counts_payload(*counts: int) -> bytes:
    return np.array(counts, dtype="<u1").tobytes()


def wide(*counts: int) -> dict[str, Any]:
    """Counts of eight bytes each, as changes of a file."""
    return {"payload": np.array(counts, dtype="<u8").tobytes(), "count_bytes": 8}


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
    "the next version": (lambda: pack({"askance": "tally/4"}), "'tally/3'"),
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
    "huge channel": (lambda: repacked(small_tally(), channel={"kind": "direct", "outputs": 10**30}), "outputs is 1000"),
    "channel of texts": (lambda: repacked(small_tally(), channel="warner"), "'warner'; allowed: an object"),
    "counts beyond 63 bits": (lambda: repacked(small_tally(), **wide(2**63, 7)), "9223372036854775808"),
    "too many counts": (lambda: repacked(small_tally(), counts_payload(5, 7, 9)), "holds 3 bytes"),
    "more counts than observations": (
        lambda: repacked(small_tally(), counts_payload(5, 7, 9), observations=3),
        "counts has shape (3,)",
    ),
    "half a count": (lambda: repacked(small_tally(), b"123", count_bytes=2), "holds 3 bytes"),
    "counts of three bytes": (lambda: repacked(small_tally(), b"123456", count_bytes=3), "1, 2, 4 or 8"),
    "no number of counts": (lambda: repacked(small_tally(), observations=None), "'observations'"),
    "true counts": (lambda: repacked(small_tally(), count_bytes=True), "'count_bytes'"),
    "nested without end": (lambda: b"[" * 200_000 + b"\n", "not an askance file"),
    "a header nested without end": (lambda: b'{"askance":' + b"[" * 200_000 + b"\n", "not an askance file"),
    "half a fit": (lambda: pack({"askance": "fit/1", "theta": [0.5]}), "no field 'model'"),
    "a fit of texts": (lambda: pack({**GOLDEN_FIT, "theta": ["a"]}), "fit"),
    "a fit of another size": (lambda: pack({**GOLDEN_FIT, "theta": [1, 2, 3]}), "fit"),
    "a fit without model": (lambda: pack({**GOLDEN_FIT, "model": None}), "'model'"),
    "a fit of another size without covariance": (
        lambda: pack({**GOLDEN_FIT, "theta": [1, 2, 3], "covariance": None}),
        "theta has shape (3,)",
    ),
    "a flat covariance": (
        lambda: pack({**GOLDEN_FIT, "covariance": [1.0, 0.0, 0.0, 1.0]}),
        "covariance has shape (4,)",
    ),
    "statistics of another size": (lambda: pack({**GOLDEN_FIT, "raw_statistics": [1.0]}), "raw_statistics has shape"),
    "a fit of no diagnostics": (lambda: pack({**GOLDEN_FIT, "diagnostics": {}}), "'iterations'"),
    "a fit of no channel": (lambda: pack({**GOLDEN_FIT, "channel": 3}), "'channel'"),
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


# -- TOML --------------------------------------------------------------------------------------------------------------

MALFORMED = {
    "not TOML": (b"kind = warner", ("channel.toml", "line 1")),
    "twice": (b'kind = "warner"\nkind = "direct"\n', ("channel.toml", "line 2")),
    "not text": (b"\xff\xfe\x00", ("channel.toml",)),
    "empty": (b"", ("channel.toml", "kind", "nothing")),
    "no kind": (b'question = "2/3"', ("channel.toml", "kind", "'question'", "warner")),
    "misspelt kind": (b'kind = "warnr"', ("'warnr'", "Did you mean 'warner'?")),
    "misspelt parameter": (b'kind = "warner"\nquesion = 0.3', ("'quesion'", "Did you mean 'question'?")),
    "missing parameter": (b'kind = "warner"', ("question", "0.25 or 1/4")),
    "too large": (b'kind = "warner"\nquestion = 66', ("channel.toml", "question", "66", "0 to 1")),
    "a matrix that is none": (b'kind = "matrix"\nmatrix = 3', ("channel.toml", "S is 3")),
    "a boolean": (b'kind = "warner"\nquestion = true', ("channel.toml", "question is True")),
    "an infinite label": (b'kind = "direct"\noutputs = [1.0, inf]', ("channel.toml", "inf", "not usable")),
    "nested without end": (b"kind = " + b"[" * 100_000, ("channel.toml",)),
    "a number without end": (b'kind = "direct"\noutputs = ' + b"9" * 9_000, ("channel.toml",)),
    "not a number": (b'kind = "warner"\nquestion = nan', ("question", "nan")),
    "dates": (b'kind = "direct"\noutputs = [2020-01-01, 2021-01-01]', ("2020", "not usable")),
}


@pytest.mark.parametrize(("content", "words"), MALFORMED.values(), ids=list(MALFORMED))
def test_malformed_channel_files(content: bytes, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "channel.toml"
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        read_channel(path)
    assert [word for word in words if word not in str(caught.value)] == []
    assert caught.value.remedy


def test_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "channel.toml").write_bytes(b'\xef\xbb\xbfkind = "direct"\noutputs = 2')
    assert read_channel(tmp_path / "channel.toml") == Direct(2)


# -- numbers that JSON has no name for ---------------------------------------------------------------------------------


def test_infinity_is_written_as_null(tmp_path: Path) -> None:
    golden = golden_fits()["every_diagnostic.fit"]
    fit = dataclasses.replace(
        golden,
        log_likelihood=-math.inf,
        covariance=np.full((2, 2), math.inf),
        raw_statistics=np.array([math.nan, 1.0]),
        diagnostics=dataclasses.replace(golden.diagnostics, maxima=(LocalMaximum((0.1, -2.5), -math.inf, 1),)),
    )
    json.dumps(fit_to_json(fit), allow_nan=False)
    save(fit, tmp_path / "a.fit")
    again = load(tmp_path / "a.fit")
    assert isinstance(again, DistributionFit)
    assert again.log_likelihood == again.diagnostics.maxima[0].log_likelihood == -math.inf
    assert np.isnan(again.covariance).all()
    np.testing.assert_equal(again.raw_statistics, fit.raw_statistics)


@pytest.mark.parametrize("largest", [0, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**61])
def test_counts_take_as_few_bytes_as_they_need(largest: int, tmp_path: Path) -> None:
    tally = Tally(Warner("2/3"), [1, largest])
    save(tally, tmp_path / "a.tally")
    header, payload = unpack((tmp_path / "a.tally").read_bytes(), "a.tally")
    width = header["count_bytes"]
    assert len(payload) == 2 * width
    assert payload == (1).to_bytes(width, "little") + largest.to_bytes(width, "little")
    assert width == 1 or largest >= 2 ** (4 * width)
    assert load(tmp_path / "a.tally") == tally


# -- where files go ----------------------------------------------------------------------------------------------------


def test_links_are_followed_and_devices_are_not_replaced(tmp_path: Path) -> None:
    tally = Tally(Warner("2/3"), [1, 2])
    (tmp_path / "real").mkdir()
    (tmp_path / "link.tally").symlink_to(tmp_path / "real" / "kept.tally")
    save(tally, tmp_path / "link.tally")
    assert (tmp_path / "link.tally").is_symlink()
    assert load(tmp_path / "real" / "kept.tally") == tally
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="it is no regular file"):
        save(tally, tmp_path / "pipe")
    with pytest.raises(FormatError, match="it is a folder"):
        save(tally, tmp_path / "real")
