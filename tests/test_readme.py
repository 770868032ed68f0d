"""The commands shown in the README run as shown."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from askance.cli.command import askance

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[str]:
    return [
        block
        for page in PAGES
        for block in re.findall(
            rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
    ]


COMMANDS = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shown_runs(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *arguments = shlex.split(command)
    assert program == "askance"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-channel.toml").write_text(blocks("toml")[0], encoding="utf-8")
    rows = [f"{'yes' if i % 5 < 2 else 'no'},{20 + i % 50},{i % 2}" for i in range(500)]
    (tmp_path / "answers.csv").write_text("\n".join(["said,age,female", *rows]), encoding="utf-8")
    result = CliRunner().invoke(askance, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert result.output.strip()


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
