"""Names of purposes: public texts that say which question is answered, or which numbers are told in which order."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from askance._checks import shown
from askance._digest import purpose_of
from askance.errors import InputError

# Characters of a purpose.
_LONGEST = 200
# Control characters, what nobody sees, halves of surrogate pairs, and what separates lines.
_NOT_ON_A_LINE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def as_purpose(purpose: object) -> str:
    """Refuse what is no name of a purpose: one line, of characters that can be seen and typed again."""
    if isinstance(purpose, str) and _is_one_line(purpose):
        return purpose
    raise InputError(
        argument="purpose",
        got=shown(purpose),
        allowed=f"one line of at most {_LONGEST} characters, without blanks around it",
        remedy='Name the question or the columns, as in "smokes" or "height,weight".',
    )


def purpose_of_columns(names: Sequence[str]) -> str:
    """The purpose of numbers from columns of these names, in this order.

    >>> purpose_of_columns(["height", "weight"]), purpose_of_columns(["weight (kg, without clothes)", "height"])
    ('height,weight', 'columns:6c0af8a8fc37e6cd')
    """
    listed = ",".join(names)
    is_plain = _is_one_line(listed) and all(name == name.strip() and "," not in name for name in names)
    return listed if is_plain else purpose_of("columns", list(names))


def _is_one_line(text: str) -> bool:
    return len(text) <= _LONGEST and text == text.strip() and _NOT_ON_A_LINE.isdisjoint(map(unicodedata.category, text))
