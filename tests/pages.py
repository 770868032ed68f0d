"""Runs a page of the documentation as a reader would: every block, from the top, in one folder of its own.

| block | what happens |
|---|---|
| `python` | its `>>>` examples run as doctests; the blocks of a page share their names |
| `console` | lines after `$ ` run; what stands below one must be what it prints (`...` for any text) |
| `toml`, `json`, `csv`, `text`, `ini`, `nginx` with `title="name"` | is written to that file |
| `toml`, `json` without a title | must be well-formed |
| `javascript` | runs in node, if there is one, beside `askance-device.js`; what it prints stands in comments, `// …` |
| `sh` | its `make` targets exist |
| `text` without a title | a drawing or a form of words: nothing to run |

An empty line within the printed output of a `python` block may stand as it is; for doctest alone it would be the end.
"""

from __future__ import annotations

import doctest
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from askance.cli.command import askance
from tests.signals import PATIENCE

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Programs beside askance that a page may call.
PROGRAMS = ("cat", "head", "ls", "wc")
FILES = ("toml", "json", "csv", "text", "ini", "nginx")
_FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]*)(?P<options>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)


class PageError(AssertionError):
    """A block did not do what the page says."""


@dataclass(frozen=True)
class Block:
    """One block of a page; `line` is where it begins."""

    language: str
    body: str
    line: int
    title: str | None = None


def blocks_of(text: str) -> Iterator[Block]:
    """The blocks of a page in order."""
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        title = re.search(r'title="([^"]+)"', match["options"])
        indent = len(match["indent"])
        body = "".join(row[indent:] if row.strip() else row for row in match["body"].splitlines(keepends=True))
        yield Block(match["language"], body, line, title and title[1])


def commands_of(body: str) -> list[tuple[str, str]]:
    """Commands of a console block and what each is said to print; a backslash at the end continues a command."""
    found: list[tuple[str, str]] = []
    for row in body.replace("\\\n", " ").splitlines(keepends=True):
        if row.startswith("$ "):
            found.append((row[2:].strip(), ""))
        else:
            command, printed = found[-1]
            found[-1] = command, printed + row
    return found


class Reader:
    """Somebody who types what a page says, in a folder of their own, which has to be the current one."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name, self._names = folder, name, dict[str, Any]()

    def follow(self, block: Block) -> None:
        """Do what one block says."""
        where = f"{self._name}, line {block.line}"
        if block.title is not None:
            if block.language not in FILES:
                raise PageError(f"{where}: a file in a block of {block.language!r}; allowed: {', '.join(FILES)}")
            self._folder.joinpath(block.title).write_text(block.body, encoding="utf-8")
            return
        match block.language:
            case "python":
                self._doctest(block)
            case "console":
                for command, printed in commands_of(block.body):
                    self._call(command, printed, where)
            case "javascript":
                self._run_javascript(block.body, where)
            case "toml":
                tomllib.loads(block.body)
            case "json":
                for text in [block.body] if _is_one_value(block.body) else block.body.splitlines():
                    json.loads(text)
            case "sh":
                _check_targets(block.body, where)
            case "text" | "bibtex":
                pass
            case other:
                raise PageError(f"{where}: nobody knows how to check a block of {other!r}; see tests/pages.py")

    def _run_javascript(self, body: str, where: str) -> None:
        node = shutil.which("node")
        if node is None:
            return
        device = files("askance.collect") / "assets" / "askance-device.js"
        self._folder.joinpath("askance-device.js").write_text(device.read_text(encoding="utf-8"), encoding="utf-8")
        self._folder.joinpath("package.json").write_text('{"type": "module"}', encoding="utf-8")
        self._folder.joinpath("block.js").write_text(body, encoding="utf-8")
        done = subprocess.run([node, "block.js"], cwd=self._folder, capture_output=True, text=True, timeout=PATIENCE)
        wanted = re.findall(r"^console\.log\(.*\);\s*// (.*)$", body, re.MULTILINE)
        if done.returncode or done.stdout.splitlines() != wanted:
            raise PageError(f"{where}: JavaScript printed {done.stdout}{done.stderr} and the page says {wanted}")

    def _doctest(self, block: Block) -> None:
        if ">>> " not in block.body:
            raise PageError(f"{self._name}, line {block.line}: a block of Python without >>> is never run")
        test = doctest.DocTestParser().get_doctest(
            _with_blank_lines(block.body), self._names, self._name, self._name, block.line
        )
        test.globs = self._names  # the parser made a copy
        said: list[str] = []
        doctest.DocTestRunner(optionflags=_FLAGS, verbose=False).run(test, out=said.append, clear_globs=False)
        if said:
            raise PageError("".join(said))

    def _call(self, command: str, expected: str, where: str) -> None:
        program, *arguments = shlex.split(command)
        target = None
        if len(arguments) > 2 and arguments[-2] in (">", ">>"):
            *arguments, how, target = arguments
        if program == "askance":
            result = CliRunner().invoke(askance, arguments, env={"COLUMNS": "100"})
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                raise PageError(f"{where}: {command!r} failed: {result.exception}") from result.exception
            code, output = result.exit_code, result.stdout  # a progress bar on standard error comes and goes
            if target is not None:
                with self._folder.joinpath(target).open("w" if how == ">" else "a", encoding="utf-8") as file:
                    file.write(result.stdout)
        elif program in PROGRAMS:
            done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
            code, output = done.returncode, done.stdout + done.stderr
        else:
            raise PageError(f"{where}: {program!r} is neither askance nor one of {', '.join(PROGRAMS)}")
        if code != 0:
            raise PageError(f"{where}: {command!r} ended with {code} and printed {output!r}")
        if expected.strip() and not doctest.OutputChecker().check_output(_loose(expected), _loose(output), _FLAGS):
            raise PageError(f"{where}: {command!r} printed\n{output}\nand the page says\n{expected}")


def _with_blank_lines(body: str) -> str:
    """Mark empty lines within printed output, which would end it for doctest."""
    rows, following = [], ""
    for row in reversed(body.splitlines()):
        inside = not row.strip() and following.strip() and not following.startswith(">>>")
        rows.append("<BLANKLINE>" if inside else row)
        following = row if row.strip() else following
    return "\n".join(reversed(rows)) + "\n"


def _loose(text: str) -> str:
    return "\n".join(" ".join(row.split()) for row in text.splitlines() if row.strip()) + "\n"


def _is_one_value(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _check_targets(body: str, where: str) -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for target in re.findall(r"^make (\w+)", body, re.MULTILINE):
        if target not in targets:
            raise PageError(f"{where}: there is no make {target}")
