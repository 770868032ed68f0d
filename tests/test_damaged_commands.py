"""Commands that are given damaged files: they work, or end with one line and code 2, and leave nothing behind."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from .damage import damaged
from .test_cli import call
from .test_damaged_files import GOLDEN, READERS

#: Commands and the readers whose files they are given in place of FILE.
COMMANDS: dict[str, str] = {
    "aggregate FILE -o out.state": "askance.formats.aggregation.aggregate",
    "estimate FILE": "askance.formats.files.load",
    "synth FILE -n 3 --seed 1 -o out.csv": "askance.formats.field_fit_file.read_field_fit",
    "certify file FILE": "askance.formats.channel_file.read_answer_channel",
    "randomize file FILE --header": "askance.formats.channel_file.read_channel",
    "fit-linear golden.state --release FILE": "askance.formats.release_file.read_release",
    "plan regression FILE --privacy-level 1 -o out.json": "askance.formats.release_file.read_regression",
    "plan field FILE --privacy-level 1 -o out.toml": "askance.formats.field_fit_file.read_field",
    "optimal FILE --privacy-level 1 --theta 0,0": "askance.planning.model_file.read_model",
    "questions --read FILE -o out.jsonl": "askance.text.sheets.filled_sheet.read_sheet",
    "questions FILE --tags A,B -o out.csv": "askance.text.io.tagged_text.read_sentences",
    "regions FILE --window 2 -o out.jsonl": "askance.text.io.tagged_text.read_tagged",
    "tag FILE text.txt": "askance.text.tagger.file.load_tagger",
    "tag tagger FILE": "askance.text.io.tagged_text.read_sentences",
    "evaluate tagger FILE": "askance.text.io.tagged_text.read_tagged",
    "train FILE --method moments -o out.askance": "askance.text.io.region_file.read_regions",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_refuse_damaged_files(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "golden.state").write_bytes((GOLDEN / "per_value.statistics").read_bytes())
    (tmp_path / "text.txt").write_text("a dog\n")
    if " tagger " in command:
        (tmp_path / "tagger").write_bytes(READERS["askance.text.tagger.file.load_tagger"].examples(tmp_path)[1].data)
    rng = random.Random(command)
    examples = READERS[COMMANDS[command]].examples(tmp_path)
    refused = 0
    for number in range(12):
        example = examples[number % len(examples)]
        path = tmp_path / f"given-{example.name}"
        data = damaged(example.data, rng, example.within)[1] if number else example.data
        path.write_bytes(data)
        outcome = call(*(str(path) if word == "FILE" else word for word in command.split()))
        assert outcome.code in (0, 2), (number, outcome)
        assert "--help" not in outcome.err  # the command line itself is as it should be
        lines = [line for line in outcome.err.splitlines() if not line.startswith("askance: warning: ")]
        if outcome.code:
            assert (outcome.out, len(lines)) == ("", 1), (number, outcome)
            assert lines[0].startswith("askance: ")
            refused += 1
        for made in tmp_path.glob("out.*"):
            made.unlink()
    assert refused
