"""Examples of docstrings become blocks of code when the site is built: Markdown takes `>>>` for a quotation."""

from __future__ import annotations

from typing import Any

from markdown import Markdown  # type: ignore[import-untyped]
from markdown.extensions import Extension  # type: ignore[import-untyped]
from markdown.preprocessors import Preprocessor  # type: ignore[import-untyped]

# After line endings are made equal (30), before fences are read (25).
_PRIORITY = 28


class _Examples(Preprocessor):  # type: ignore[misc]
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


class _ExamplesExtension(Extension):  # type: ignore[misc]
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is Markdown's
        md.preprocessors.register(_Examples(md), "examples", _PRIORITY)


def on_config(config: Any, **_: Any) -> Any:
    """Called by mkdocs before anything is read; docstrings pass through the same extensions as pages."""
    config["markdown_extensions"].append(_ExamplesExtension())
    return config
