"""The README and the documentation: every block runs, every command is shown, every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from askance.cli.command import askance
from tests.pages import PAGES, ROOT, Block, PageError, Reader, blocks_of, commands_of

TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}


@pytest.mark.parametrize("name", TEXTS)
def test_a_page_does_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # a file that the page shows may be a module, as where `python` is typed
    reader = Reader(tmp_path, name)
    for block in blocks_of(TEXTS[name]):
        reader.follow(block)


def _names(group: click.Group, path: str = "askance") -> list[str]:
    """All commands; of those with one for every kind of channel, the command as a whole."""
    found = []
    for name, command in group.commands.items():
        kinds = isinstance(command, click.Group) and "warner" in command.commands
        found += (
            _names(command, f"{path} {name}") if isinstance(command, click.Group) and not kinds else [f"{path} {name}"]
        )
    return found


def test_every_command_of_the_program_is_shown() -> None:
    consoles = [block for text in TEXTS.values() for block in blocks_of(text) if block.language == "console"]
    shown = [command for block in consoles for command, _ in commands_of(block.body)]
    missing = [name for name in _names(askance) if not any(each.startswith(name) for each in shown)]
    assert not missing


@pytest.mark.parametrize("name", TEXTS)
def test_links_between_pages_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"`[^`]*`", "", TEXTS[name])):
        if "://" not in target:
            assert (ROOT / name).parent.joinpath(target).exists(), f"{name} links to {target}"


# What NAMESPACE of rr 1.4.2, RRreg 0.7.6 and list 9.2.6 exports, and the methods of their own.
OF_R = """
    rrreg rrreg.predictor rrreg.bayes power.rr.test power.rr.plot predict.rrreg predict.rrreg.predictor
    RRuni RRlog RRlin RRcor RRmixed RRgen RRsimu powerplot getPW plot.RRlog
    ictreg ictreg.joint ictregBayes ictregBayesHier ict.test ict.hausman.test combineListDirect comp.listEndorse
    predict.ictreg predict.ictreg.joint plot.predict.ictreg
"""


def test_every_function_of_r_is_named() -> None:
    rows = [line for line in TEXTS["docs/coming-from-r.md"].splitlines() if line.startswith("| `")]
    there = {name for row in rows for name in re.findall(r"[A-Za-z][\w.]*", row.split(" | ")[0])}
    assert [name for name in OF_R.split() if name not in there] == []


@pytest.mark.parametrize("name", ["docs/design.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(name: str) -> None:
    """In full, from the root of the package, or from a folder named just before; NAME and STORY stand for others."""
    text = (ROOT / name).read_text(encoding="utf-8")
    places = [place for place in re.findall(r"`([\w/.]+(?:\.\w+|/))`", text) if not re.search(r"NAME|STORY", place)]
    assert len(places) > 20
    package = ROOT / "src" / "askance"
    roots = [ROOT, package, *(package / part for part in ("channels", "design", "estimation"))]
    paths = [place for place in places if "/" in place or place.endswith((".py", ".md"))]
    assert [place for place in paths if not any((root / place).exists() for root in roots)] == []


def test_figures_of_the_readme_are_those_of_the_benchmarks() -> None:
    """A row of README's comparison has the peer and the figure of a row of the summary about the same benchmark."""
    measured: dict[str, list[list[str]]] = {}
    name = ""
    for line in (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and (linked := re.search(r"\(#([\w-]+)\)\) \|", line) or line.startswith("| ″")):
            name = linked[1] if isinstance(linked, re.Match) else name
            measured.setdefault(name, []).append([cell.strip() for cell in line.split("|")[2:4]])
    section = TEXTS["README.md"].partition("## How it compares")[2].partition("\n## ")[0]
    claims = re.findall(r"RESULTS\.md#([\w-]+)\) \| (.*?) \| (.*?) \|\n", section)
    assert len(claims) >= 5
    for benchmark, peer, figure in claims:
        assert [peer, figure] in measured[benchmark], f"{benchmark}: {measured[benchmark]}"


# -- the reader of pages finds what is wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\n1 + 1\n```\n",
        "```console\n$ askance channels nosuch\n```\n",
        "```console\n$ askance channels warner --json\nnot this\n```\n",
        "```console\n$ rm -r here\n```\n",
        "```sh\nmake nothing\n```\n",
        "```rust\nfn main() {}\n```\n",
    ],
)
def test_a_page_that_says_something_wrong_is_found(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path, "page.md")
    blocks = list(blocks_of(page))
    assert len(blocks) == 1
    with pytest.raises(AssertionError):
        reader.follow(blocks[0])


def test_blocks_share_names_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (
        '- in a list:\n\n  ```text title="a.txt"\n  one\n\n  two\n  ```\n\n'
        '```python\n>>> from pathlib import Path\n>>> print(Path("a.txt").read_text())\none\n\ntwo\n\n>>> y = 1\n```\n'
        "```console\n$ cat a.txt\none\n...\n```\n"
    )
    reader = Reader(tmp_path, "page.md")
    for block in blocks_of(page):
        reader.follow(block)
    reader.follow(Block("python", ">>> y\n1\n", 1))
    with pytest.raises(PageError):
        reader.follow(Block("python", ">>> y\n2\n", 1))
