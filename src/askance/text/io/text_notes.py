"""What nobody sees in a file of text: blanks around words and tags, and characters without a shape.

Blanks around are taken off, as `dog ` and `dog` would be two words. Characters that cannot be seen stay where they are,
since some scripts need them; those that no script needs are told, with file and line:

- controls (U+0000 to U+001F but tabs and line feeds, U+007F to U+009F), such as NUL and form feed;
- the zero-width space U+200B, the word joiner U+2060, and U+FEFF, a byte order mark inside of a file;
- the ends of lines U+2028 and U+2029, which are none here.

The joiners U+200C and U+200D of Persian, Hindi and emoji, and soft hyphens, are words' own and never told.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterator

from askance._checks import shown
from askance.errors import UntidyTextWarning

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u2060\ufeff]")
# What people call those that have no name in Unicode, or an odd one.
_TITLES = {"\0": "NUL", "\x0c": "form feed", "\r": "carriage return", "\ufeff": "byte order mark"}


class TextNotes:
    """What was seen in one file, to be told once under its name.

    >>> notes = TextNotes("news.tsv")
    >>> notes.tidy("dog ", 3), notes.tidy("dog", 4)
    ('dog', 'dog')
    >>> print(*notes.messages())
    news.tsv, line 3: 'dog ' has blanks around it; they were taken off.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._padded: tuple[int, str] | None = None
        self._unseen: tuple[int, str] | None = None
        self._n_padded = self._n_unseen = 0

    def tidy(self, cell: str, number: int) -> str:
        """A cell of line `number` without blanks around; one of blanks alone stays, as an empty one does."""
        bare = cell.strip() or cell
        if bare == cell and cell.isprintable():  # nearly all
            return cell
        if bare != cell:
            self._n_padded += 1
            self._padded = self._padded or (number, cell)
        self.look(bare, number)
        return bare

    def look(self, text: str, number: int) -> None:
        """Remember characters of line `number` that cannot be seen."""
        if not text.isprintable() and (unseen := _UNSEEN.search(text)):
            self._n_unseen += 1
            self._unseen = self._unseen or (number, unseen[0])

    def messages(self) -> Iterator[str]:
        """One for each kind."""
        if self._padded:
            number, cell = self._padded
            others = f", here and in {self._n_padded - 1:,} more cells" if self._n_padded > 1 else ""
            yield f"{self._name}, line {number}: {shown(cell)} has blanks around it; they were taken off{others}."
        if self._unseen:
            number, character = self._unseen
            code = f"U+{ord(character):04X}"
            title = _TITLES.get(character) or unicodedata.name(character, "control character").lower()
            others = f"; {self._n_unseen - 1:,} more places have such characters" if self._n_unseen > 1 else ""
            yield (
                f"{self._name}, line {number} holds {code} ({title}), which cannot be seen and is taken as part of a "
                f"word{others}. A word with it is another word than the one without: take it out."
            )

    def warn(self, stacklevel: int) -> None:
        """Tell it."""
        for message in self.messages():
            warnings.warn(message, UntidyTextWarning, stacklevel=stacklevel + 1)
