"""Examples become blocks of code when the site is built, without what only doctest reads, and are copied as input.

Markdown takes `>>>` of a docstring for a quotation, and a block of `python` with prompts for a program.
"""

from __future__ import annotations

import ast
import doctest
import html
import re
from collections.abc import Iterator
from typing import Any

from markdown import Markdown  # type: ignore[import-untyped]
from markdown.extensions import Extension  # type: ignore[import-untyped]
from markdown.preprocessors import Preprocessor  # type: ignore[import-untyped]

# After line endings are made equal (30), before fences are read (25).
_PRIORITY = 28
_FLAGS = re.compile(r"\s*# doctest: .*$")
_BLOCK = re.compile(
    r'<div class="language-(?P<language>pycon|console) highlight">'
    r"(?P<before>(?:(?!</?div).)*?<code>)(?P<code>.*?)</code>",
    re.DOTALL,
)
_TAG = re.compile(r"<[^>]*>")


class _Fences(Preprocessor):  # type: ignore[misc]
    """Puts a fence around lines from the first `>>>` of a paragraph to its end, unless they stand in one."""

    def run(self, lines: list[str]) -> list[str]:
        found: list[str] = []
        fenced, indent = False, None
        for line in lines:
            text = line.lstrip()
            if indent is None and text.startswith("```"):
                fenced = not fenced
            if indent is None and not fenced and text.startswith(">>> "):
                indent = line[: len(line) - len(text)]
                found.append(f"{indent}```python")
            elif indent is not None and not text:
                found.append(f"{indent}```")
                indent = None
            found.append(line)
        return found if indent is None else [*found, f"{indent}```"]


class _Consoles(Preprocessor):  # type: ignore[misc]
    """Makes a `pycon` of a block of `python` that begins with `>>>`, so that output is not coloured as Python."""

    def run(self, lines: list[str]) -> list[str]:
        found: list[str] = []
        inside = False
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            text = line.lstrip()
            if text.startswith("```python") and following.lstrip().startswith(">>> "):
                inside = True
                found.append(line.replace("```python", "```pycon", 1))
                continue
            inside = inside and not text.startswith("```")
            found.append(_without_marks(line) if inside else line)
        return found


def _without_marks(line: str) -> str:
    return "" if line.strip() == "<BLANKLINE>" else _FLAGS.sub("", line)


class _ExamplesExtension(Extension):  # type: ignore[misc]
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is Markdown's
        md.preprocessors.register(_Fences(md), "examples", _PRIORITY)
        md.preprocessors.register(_Consoles(md), "consoles", _PRIORITY - 1)


def on_config(config: Any, **_: Any) -> Any:
    """Called by mkdocs before anything is read; docstrings pass through the same extensions as pages."""
    config["markdown_extensions"].append(_ExamplesExtension())
    return config


def on_page_content(content: str, **_: Any) -> str:
    """Called by mkdocs with the HTML of every page; the theme's button copies what stands in `data-copy`."""
    return _BLOCK.sub(_with_input, content)


def _with_input(match: re.Match[str]) -> str:
    shown = html.unescape(_TAG.sub("", match["code"]))
    typed = "".join(_statements(shown) if match["language"] == "pycon" else _commands(shown))
    if not typed:
        return match[0]
    kept = html.escape(typed).replace("\n", "&#10;")  # a line break in an attribute may be made a blank
    return match[0].replace(' highlight">', f' highlight" data-copy="{kept}">', 1)


def _statements(shown: str) -> Iterator[str]:
    """What follows `>>> ` and `... `; an interpreter wants an empty line after a loop or a definition."""
    for example in doctest.DocTestParser().get_examples(shown):
        yield example.source
        if hasattr(ast.parse(example.source).body[-1], "body"):
            yield "\n"


def _commands(shown: str) -> Iterator[str]:
    """What follows `$ `, with the lines after a backslash."""
    continued = False
    for line in shown.splitlines():
        if continued or line.startswith("$ "):
            yield line.removeprefix("$ ") + "\n"
            continued = line.endswith("\\")
