"""`hidden(column)` in formulas: the hidden answer behind reports explains what is left of ~. It is never evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from askance.survey.formula_mistakes import refusal

_NAME = "hidden"
_EXAMPLE = "Write, for example: civic ~ age + hidden(said)."


@dataclass(frozen=True)
class HiddenTerm:
    """A column of reports, and the right side of what explains the hidden answer; None: all other terms do."""

    column: str
    terms: str | None = None


def take_hidden(text: str) -> tuple[str, tuple[HiddenTerm, ...]]:
    """A formula without its hidden terms, and these.

    >>> take_hidden("civic ~ age + hidden(said) + female")
    ('civic ~ age + female', (HiddenTerm(column='said', terms=None),))
    >>> take_hidden("civic ~ hidden(said ~ age)")
    ('civic ~ 1', (HiddenTerm(column='said', terms='age'),))
    """
    from formulaic.errors import FormulaicError
    from formulaic.parser.algos.tokenize import tokenize

    if not isinstance(text, str) or f"{_NAME}(" not in text:
        return text, ()
    try:
        tokens = list(tokenize(text))
    except (FormulaicError, SyntaxError, ValueError):
        return text, ()  # whoever reads the rest says what is wrong
    at = next((i for i, token in enumerate(tokens) if token.kind.value == "operator" and "~" in token.token), None)
    if at is None or any(_is_hidden(token) for token in tokens[:at]):
        raise refusal(text, "hidden(…) stands right of ~, where it explains", _EXAMPLE)
    terms = [_read(text, token.token) for token in tokens[at:] if _is_hidden(token)]
    if len({term.column for term in terms}) < len(terms):
        raise refusal(text, "a column stands in hidden(…) twice", "Write every one once.")
    if not terms:
        return text, ()
    start = tokens[at].source_start + tokens[at].token.index("~")
    rest = " ".join([tokens[at].token.partition("~")[2], *_without(text, tokens[at + 1 :])]).strip()
    return f"{text[:start].strip()} ~ {rest or 1}", tuple(terms)


def _is_hidden(token: Any) -> bool:
    return bool(token.kind.value == "python" and token.token.startswith(f"{_NAME}("))


def _read(text: str, code: str) -> HiddenTerm:
    name, tilde, terms = code[len(_NAME) + 1 : -1].partition("~")
    column = name.strip().strip("`")
    quoted = name.strip().startswith("`")
    if not column or not (quoted or column.isidentifier()) or (tilde and not terms.strip()):
        raise refusal(text, f"{code} is no hidden answer", "Write hidden(column), or hidden(column ~ terms).")
    return HiddenTerm(column, terms.strip() if tilde else None)


def _without(text: str, tokens: Sequence[Any]) -> list[str]:
    """What is right of ~, piece by piece, without hidden terms and the + that goes with each."""
    kept: list[str] = []
    depth, after = 0, False
    for place, token in enumerate(tokens):
        piece = text[token.source_start : token.source_end + 1]
        piece = f"`{token.token}`" if piece.startswith("`") else piece
        depth += {"(": 1, ")": -1}.get(token.token, 0) if token.kind.value == "context" else 0
        if _is_hidden(token):
            behind = tokens[place + 1].token if place + 1 < len(tokens) else "+"
            if depth or (kept and kept[-1] != "+") or behind not in ("+", "-"):
                raise refusal(
                    text,
                    "hidden(…) stands in an interaction, or not by itself, which is not offered",
                    "Add it as a term of its own: … + hidden(column).",
                )
            after = not kept
            kept = kept[:-1]
        elif after and token.token == "+":
            after = False
        else:
            after = False
            kept.append(piece)
    return kept
