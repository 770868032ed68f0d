"""Surveys answered by simulated people: the file is that of an export, and an analysis finds what was put in."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from askance import regress
from askance.collect.campaign_file import read_campaign
from askance.collect.export import export
from askance.collect.rehearsal import rehearse
from askance.errors import InputError
from askance.survey import read_table
from tests.collectors import COUNTING, DEVICES, SURVEY, TOKENS, collection_in, line_of
from tests.test_cli import assert_one_line, call, parsed

EXPECTED = SURVEY.replace('yes = "1/6"}', 'yes = "1/6"}\nexpected_share = 0.3')


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_an_analysis_finds_what_was_put_in(tmp_path: Path) -> None:
    """Within six standard errors, and with all answers that there are: wrong once in 10⁸ runs of other seeds."""
    campaign = collection_in(tmp_path, EXPECTED).campaign
    done = rehearse(campaign, tmp_path / "rehearsal.csv", people=4000, seed=5)
    label, share = done.shares["cheated"]
    assert (done.people, label) == (4000, "yes")
    assert abs(share - 0.3) < 6 * np.sqrt(0.3 * 0.7 / 4000)
    rows = rows_of(done.output)
    assert len({row["id"] for row in rows}) == len(rows) == 4000
    assert {row["region"] for row in rows} == {"north", "south"}
    assert {int(row["age"]) for row in rows} == set(range(16, 106))
    assert set(Counter(row["often"] for row in rows)) == {"never", "once", "very often"}
    fit = regress("cheated ~ 1", read_table(done.output), campaign.codebook())
    shares = fit.prevalence()
    assert abs(shares.estimate[0, 1] - share) < 6 * shares.standard_error[0, 1]


def test_the_file_is_that_of_an_export(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    rehearse(collection.campaign, tmp_path / "rehearsal.csv", people=3)
    with collection.opened(new=True) as store:
        entry = collection.form.read(line_of(collection), b"")
        store.take([entry])  # type: ignore[list-item]
        export(collection.campaign, store, tmp_path / "answers.csv")
    assert rows_of(tmp_path / "rehearsal.csv")[0].keys() == rows_of(tmp_path / "answers.csv")[0].keys()


def test_what_was_collected_is_left_alone(tmp_path: Path) -> None:
    campaign = collection_in(tmp_path, TOKENS).campaign
    before = sorted(tmp_path.iterdir())
    assert rehearse(campaign, tmp_path / "rehearsal.parquet", people=10).people == 10
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "rehearsal.parquet"])


@pytest.mark.parametrize("text", [DEVICES, COUNTING], ids=["devices", "counting"])
def test_surveys_only(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="people answer surveys only"):
        rehearse(collection_in(tmp_path, text).campaign, tmp_path / "rehearsal.csv")
    assert not (tmp_path / "rehearsal.csv").exists()


def test_the_command(tmp_path: Path) -> None:
    collection_in(tmp_path, EXPECTED)
    campaign, first, again = str(tmp_path / "campaign.toml"), tmp_path / "first.csv", tmp_path / "again.csv"
    told = parsed(call("collect", "rehearse", campaign, "--people", "50", "--seed", "2", "-o", str(first), "--json"))
    assert (told["people"], told["output"]) == (50, str(first))
    assert told["truth"]["cheated"]["label"] == "yes"
    printed = call("collect", "rehearse", campaign, "--people", "50", "--seed", "2", "-o", str(again))
    assert "cheated: yes" in printed.out
    assert first.read_bytes() == again.read_bytes()
    assert len(rows_of(first)) == 50
    assert read_campaign(campaign).planned_n == 2000


def test_too_many_people_are_refused(tmp_path: Path) -> None:
    collection_in(tmp_path)
    outcome = call(
        "collect", "rehearse", str(tmp_path / "campaign.toml"), "--people", "0", "-o", str(tmp_path / "x.csv")
    )
    assert_one_line(outcome, ("--people", "1 to 1,000,000"))
