"""`askance example`: the same files for everybody, and nothing of anybody's is replaced."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from .test_cli import call

# Pages show figures that come from these very files.
DIGESTS = {
    "answers.csv": "5e982df2b6a3db82",
    "dev.tsv": "996d09a2a197b698",
    "test.tsv": "04cfcc054941eb99",
    "train.tsv": "141ac8fc239ac70f",
}


def test_examples_are_those_of_the_pages(tmp_path: Path) -> None:
    told = [json.loads(call("example", kind, "--out", str(tmp_path), "--json").out) for kind in ("survey", "text")]
    assert [Path(path).name for each in told for path in each["written"]] == list(DIGESTS)
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in tmp_path.iterdir()}
    assert found == DIGESTS


def test_another_seed_gives_others(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        (tmp_path / seed).mkdir()
        call("example", "survey", "--out", str(tmp_path / seed), "--seed", seed)
    first, second = (tmp_path.joinpath(seed, "answers.csv").read_text("utf-8") for seed in ("1", "2"))
    assert first != second
    assert len(first.splitlines()) == len(second.splitlines()) == 3001


def test_files_of_somebody_else_are_left_alone_and_nothing_is_written(tmp_path: Path) -> None:
    mine = tmp_path / "test.tsv"
    mine.write_text("mine\tNOUN\n", encoding="utf-8")
    refused = call("example", "text", "--out", str(tmp_path))
    assert refused.code == 2
    assert "test.tsv is there already" in refused.err
    assert "--out" in refused.err
    assert [path.name for path in tmp_path.iterdir()] == ["test.tsv"]
    assert mine.read_text("utf-8") == "mine\tNOUN\n"


def test_written_twice_is_the_same(tmp_path: Path) -> None:
    assert call("example", "survey", "--out", str(tmp_path)).code == 0
    assert call("example", "survey", "--out", str(tmp_path)).code == 0


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    refused = call("example", "survey", "--out", str(tmp_path / "nowhere"))
    assert refused.code == 2
    assert not (tmp_path / "nowhere").exists()


def test_a_tagger_from_counts_of_nouns_alone_is_what_the_start_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its warning, that nine nouns of ten are found, and not much else."""
    monkeypatch.chdir(tmp_path)
    call("example", "text")
    call("regions", "train.tsv", "--window", "5", "--tags", "NOUN", "-o", "nouns.jsonl")
    said = call("train", "nouns.jsonl", "-o", "nouns.askance").err
    assert "warning: 8 of 9 tags were never asked for and cannot be told apart (ADJ, ADP, ADV, CCONJ, DET, …): " in said
    found = json.loads(call("evaluate", "nouns.askance", "test.tsv", "--json").out)
    recall = {each["tag"]: each["recall"] for each in found["tags"]}
    assert recall["NOUN"] > 0.85
    assert found["accuracy"] < 0.4
