"""States of sums, and golden files of reports and states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from askance import PerValue, Tally, Warner, load, save
from askance.channels import Reports, StatisticsChannel
from askance.errors import FormatError
from askance.formats import (
    iterate_reports,
    read_reports,
    write_reports,
)
from askance.formats.container import pack, unpack

from .golden.contents import FOLDER, golden_reports, golden_states
from .report_examples import (
    STATISTICS,
    SUFFIXES,
    is_published,
    lines_of,
    some_reports,
)

# -- golden files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(golden_reports()))
def test_golden_reports(name: str, tmp_path: Path) -> None:
    golden = golden_reports()[name]
    n = len(golden.reports)
    for suffix in SUFFIXES:
        parts = list(iterate_reports(FOLDER / f"{name}.{suffix}"))
        ids = [id for reports, some in parts for id in (some or [None] * len(reports))]
        assert ids == list(golden.ids or [None] * n)
        again = read_reports(FOLDER / f"{name}.{suffix}")
        if isinstance(golden.reports, Reports):
            assert again == golden.reports
        else:
            assert again.tolist() == golden.reports  # type: ignore[union-attr]
    lines = lines_of(FOLDER / f"{name}.jsonl")
    assert [line for line in lines if not is_published(line)] == []
    write_reports(tmp_path / "a.jsonl", golden.reports, channel=golden.channel, ids=golden.ids)
    assert (tmp_path / "a.jsonl").read_bytes() == (FOLDER / f"{name}.jsonl").read_bytes()


@pytest.mark.parametrize("name", list(golden_states()))
def test_golden_state(name: str, tmp_path: Path) -> None:
    state = golden_states()[name]
    assert load(FOLDER / name) == state
    assert load(FOLDER / name).sources == state.sources  # type: ignore[union-attr]
    save(state, tmp_path / name)
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_no_golden_file_is_forgotten() -> None:
    kept = {path.name for path in FOLDER.iterdir() if path.suffix in (".statistics", ".jsonl", ".parquet")}
    assert kept == {*golden_states(), *(f"{name}.{suffix}" for name in golden_reports() for suffix in SUFFIXES)}


# -- states ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", STATISTICS.values(), ids=STATISTICS.keys())
def test_state_round_trip(channel: StatisticsChannel, tmp_path: Path) -> None:
    tally = Tally(channel).add(some_reports(channel))
    save(tally, tmp_path / "a.state")
    again = load(tmp_path / "a.state")
    assert again == tally
    assert isinstance(again, Tally)
    assert again.channel.specification() == channel.specification()
    save(again, tmp_path / "b.state")
    assert (tmp_path / "b.state").read_bytes() == (tmp_path / "a.state").read_bytes()
    header, payload = unpack((tmp_path / "a.state").read_bytes(), "a")
    assert len(payload) == 8 * header["sums"] == 8 * channel.sums_size
    assert header["n"] == 40


def test_every_damage_of_a_state_is_noticed(tmp_path: Path) -> None:
    data, path = (FOLDER / "per_value.statistics").read_bytes(), tmp_path / "state"
    for position in range(0, len(data), 3):
        flipped = bytearray(data)
        flipped[position] ^= 1 << (position % 8)
        for damaged in (bytes(flipped), data[:position]):
            path.write_bytes(damaged)
            with pytest.raises(FormatError, match="state"):
                load(path)


def repacked(**changes: Any) -> bytes:
    header, payload = unpack((FOLDER / "per_value.statistics").read_bytes(), "original")
    payload = changes.pop("payload", payload)
    kept = {key: value for key, value in (header | changes).items() if key not in ("payload_bytes", "sha256")}
    return pack(kept, payload)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"payload": b"12345678"}, "6 sums"),
        ({"payload": b"12345678", "sums": 1}, "shape (1,)"),
        ({"n": -1}, "n_observations is -1"),
        ({"n": 5}, "no 5 reports"),
        ({"n": 2.5}, "'n'"),
        ({"sums": True}, "'sums'"),
        ({"fingerprint": "0" * 64}, "thresholds"),
        ({"channel": PerValue(6, 2).specification()}, "thresholds"),
        ({"channel": Warner("2/3").specification()}, "answers"),
        ({"channel": {"kind": "tarot"}}, "'tarot'"),
        ({"channel": None}, "'channel'"),
    ],
)
def test_foreign_states_are_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    path.write_bytes(repacked(**changes))
    with pytest.raises(FormatError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_reports_are_no_state() -> None:
    for suffix in SUFFIXES:
        with pytest.raises(FormatError, match="not a state") as caught:
            load(FOLDER / f"per_value.{suffix}")
        assert "askance aggregate" in caught.value.remedy
