"""The commands shown in the README run as shown."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from askance.cli.command import askance
from askance.text import read_regions, read_tagged, write_annotations

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def found_in(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [block for page in PAGES for block in found_in(page.read_text(encoding="utf-8"), language)]


COMMANDS = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shown_runs(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *arguments = shlex.split(command)
    assert program == "askance"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-channel.toml").write_text(blocks("toml")[0], encoding="utf-8")
    (tmp_path / "model.json").write_text(blocks("json")[0], encoding="utf-8")
    rows = [f"{'yes' if i % 5 < 2 else 'no'},{20 + i % 50},{i % 2}" for i in range(500)]
    (tmp_path / "answers.csv").write_text("\n".join(["said,age,female", *rows]), encoding="utf-8")
    result = CliRunner().invoke(askance, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert result.output.strip()


@pytest.mark.parametrize("page", ["private-regression.md", "private-fields.md"])
def test_the_commands_of_a_whole_survey_run_one_after_the_other(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    description = found_in(text, "toml")[0]
    (tmp_path / "people.toml").write_text(description, encoding="utf-8")
    content = tomllib.loads(description)
    columns = {name: [low + (high - low) * 0.4, high] for name, (low, high) in content.get("bounds", {}).items()}
    columns |= content.get("variables", {})
    rows = [",".join(str(values[(i >> j) % 2]) for j, values in enumerate(columns.values())) for i in range(400)]
    (tmp_path / "people.csv").write_text("\n".join([",".join(columns), *rows]), encoding="utf-8")
    commands = [line for block in found_in(text, "text") for line in block.splitlines()]
    assert len(commands) >= 4
    for command in commands:
        program, *arguments = shlex.split(command, comments=True)
        assert program == "askance"
        result = CliRunner().invoke(askance, arguments, catch_exceptions=False)
        assert result.exit_code == 0


def test_the_commands_of_the_tagging_page_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "tagging.md").read_text(encoding="utf-8")
    rows = "".join("the\tDT\ndog\tNN\nsleeps\tVB\n\na\tDT\ncat\tNN\n\n" for _ in range(30))
    for name in ("train.tsv", "test.tsv"):
        (tmp_path / name).write_text(rows, encoding="utf-8")
    (tmp_path / "news.txt").write_text("the cat sleeps\n", encoding="utf-8")
    corrected = read_tagged(tmp_path / "test.tsv")
    write_annotations(tmp_path / "export.jsonl", corrected, "doccano")
    write_annotations(tmp_path / "corrected.json", corrected, "doccano")
    commands = [line for block in found_in(text, "text") for line in block.splitlines()]
    assert len(commands) == 7
    for command in commands:
        result = CliRunner().invoke(askance, shlex.split(command)[1:], catch_exceptions=False)
        assert result.exit_code == 0
    (tmp_path / "own.jsonl").write_text(found_in(text, "json")[0], encoding="utf-8")
    assert read_regions([tmp_path / "own.jsonl"]).regions.region(0).counts == {"NN": 1, "VBZ": 1}


def test_every_command_of_the_program_is_shown() -> None:
    shown = " ".join(COMMANDS)
    assert len(COMMANDS) >= 5
    for name in askance.commands:
        assert f"askance {name}" in shown


def test_the_two_commands_of_the_front_door_exist() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for block in blocks("sh"):
        for target in re.findall(r"^make (\w+)", block, re.MULTILINE):
            assert target in targets
