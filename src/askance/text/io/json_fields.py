"""Fields of JSON objects that describe sentences. Each raises ValueError, which says what is allowed."""

from __future__ import annotations

from typing import Any

from askance._checks import shown


def tokens_of(content: dict[str, Any]) -> list[str]:
    """The field "tokens" of a JSON object; ValueError says what is allowed."""
    words = content.get("tokens")
    if not isinstance(words, list):
        raise ValueError(f"its tokens are {shown(words)}; allowed: a list of words")
    if not set(map(type, words)) <= {str}:
        wrong = next(i for i, word in enumerate(words) if not isinstance(word, str))
        raise ValueError(f"token {wrong} is {shown(words[wrong])}; allowed: a text")
    return words


def id_of(content: dict[str, Any]) -> str:
    """The field "id" of a JSON object, or ""; ValueError says what is allowed."""
    id = content.get("id")
    if isinstance(id, bool) or not isinstance(id, (str, int, type(None))):
        raise ValueError(f"its id is {shown(id)}; allowed: a text")
    return "" if id is None else str(id)


def require_tags(tags: Any, field: str, size: int) -> None:
    """Insist on one tag, or null, per token."""
    if not isinstance(tags, list) or len(tags) != size:
        given = f"{len(tags)} entries" if isinstance(tags, list) else shown(tags)
        raise ValueError(f"{field!r} has {given}; allowed: a list of {size}, one per token")
    if not set(map(type, tags)) <= {str, type(None)} or "" in tags:
        wrong = next(tag for tag in tags if tag is not None and (not isinstance(tag, str) or not tag))
        raise ValueError(f"{field!r} holds {shown(wrong)}; allowed: a text that is not empty, or null")
