"""Names and answers that a table in a text file holds as they are: what `askance fit` reads is what was answered."""

from __future__ import annotations

import re
import unicodedata

from askance.survey.files import MISSING_CELLS

_MISSING = {cell.casefold() for cell in MISSING_CELLS}
_TRUTHS = {"true", "false"}
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}.*|\d{1,2}:\d{2}.*")
_HEXADECIMAL = re.compile(r"[-+]?0x[0-9a-f]+")
# What separates cells, and what separates names in formulas.
_NOT_IN_NAMES = frozenset("`;\"'")
_LONGEST = 200


def name_refusal(name: str) -> str:
    """Why a question cannot be called so; "" if it can.

    >>> name_refusal("cheated"), name_refusal("id")
    ('', 'it is the name of the column of receipts')
    """
    if name == "id":
        return "it is the name of the column of receipts"
    if not name or len(name) > _LONGEST or name != name.strip() or not _is_one_line(name):
        return f"it is no single line of at most {_LONGEST} characters, without blanks around it"
    if _NOT_IN_NAMES & {*name}:
        return "it has a quote or a semicolon in it"
    return ""


def label_refusal(label: object) -> str:
    """Why an answer cannot be written so; "" if it can. Whole numbers, true and false are read as what they are.

    >>> label_refusal("north"), label_refusal("NA"), label_refusal("01"), label_refusal(1)
    ('', "in tables 'NA' means that nothing was answered", "in tables '01' is read as a number", '')
    """
    if not isinstance(label, str):
        return ""
    plain = label.strip().casefold()
    if plain in _MISSING:
        return f"in tables {label!r} means that nothing was answered"
    if not _is_one_line(label):
        return f"{label!r} is not one line"
    if _is_number(plain):
        return f"in tables {label!r} is read as a number"
    if plain in _TRUTHS:
        return f"in tables {label!r} is read as true or false"
    return f"in tables {label!r} is read as a date or a time" if _MOMENT.fullmatch(plain) else ""


def _is_one_line(text: str) -> bool:
    return not any(unicodedata.category(letter) in ("Cc", "Zl", "Zp") for letter in text)


def _is_number(text: str) -> bool:
    if _HEXADECIMAL.fullmatch(text):
        return True
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
