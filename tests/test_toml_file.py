"""TOML files that people write: what is wrong is told in words, by file and line, whoever reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from askance.collect.campaign_file import read_campaign, read_study
from askance.formats import read_channel
from askance.formats.field_fit_file import read_field
from askance.formats.release_file import read_regression
from askance.formats.toml_file import PlacedError, read_toml
from askance.survey.codebook import read_codebook
from askance.survey.designs_file import read_designs

NO_TOML = {
    "design": (1, "no = follows the key", "WAY OUT"),
    "kind = warner": (1, "no value follows", "Put texts into quotes"),
    'a = 1\nkind = "warner': (2, "a text does not end", "Close it by the quote"),
    'a = 1\nkind = "warner\nb = 2': (2, "a text does not end", "Close it by the quote"),
    'kind = """warner\n\n': (3, "a text does not end", "Close it by the quotes"),
    'a = "C:\\data"': (1, "a text holds a single", "Write it twice"),
    "a = [1\nb = 2": (2, "a list does not end", "Put a comma"),
    "a = {b = 1": (1, "a table in braces does not end", "Put commas"),
    "a = 1\n\na = 2": (3, "the key stands there already", "Take one"),
    "a = {b = 1, b = 2}": (1, "a key stands twice", "Take one"),
    "[a]\n[b]\n[a]": (3, "the table stands there already", "below one header"),
    "[a]\nb.c = 1\n[a.b]": (3, "the table stands there already", "below one header"),
    "a = {b = 1}\na.c = 1": (2, "complete", "in one place"),
    "[a\nb = 1": (1, "the header of a table does not end", "Close it"),
    "a = 2/3": (1, "something follows the value", "Put texts into quotes"),
    "a = 2026-02-30": (1, "there is no such date", "Write year-month-day"),
    "a = 1\nb = " + "9" * 9000: (2, "thousands of digits", "Write a shorter one"),
    "a 1": (1, "no = follows the key", "WAY OUT"),
    "a = 1\n, b": (2, "it is no `key = value`", "WAY OUT"),
    "a. = 1": (1, "no key stands", "WAY OUT"),
}


@pytest.mark.parametrize(("text", "told"), NO_TOML.items(), ids=range(len(NO_TOML)))
def test_what_is_no_toml_is_told_in_words(text: str, told: tuple[int, str, str], tmp_path: Path) -> None:
    """File, line, what stands there, what is the matter, the way out: none of it in the words of Python's parser."""
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    line, meaning, remedy = told
    with pytest.raises(PlacedError) as caught:
        read_toml(path, "WAY OUT")
    found = text.split("\n")[line - 1]
    assert caught.value.message.startswith(f"{path}, line {line}: ")
    assert repr(found)[1:60].rstrip("'\"") in caught.value.message
    assert meaning in caught.value.message
    assert remedy in caught.value.remedy
    assert "(at " not in str(caught.value)
    assert caught.value.line == line


def test_a_byte_that_is_no_text_has_a_line(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(b'a = 1\nb = "caf\xe9"\n')
    with pytest.raises(
        PlacedError, match=r"line 2: it is not TOML: the byte 0xe9 is not UTF-8. Save the file as UTF-8"
    ):
        read_toml(path, "")


READERS = [read_channel, read_codebook, read_designs, read_study, read_campaign, read_regression, read_field]


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_every_toml_file_has_one_reader(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text("a = 1\nkind = warner\n", encoding="utf-8")
    with pytest.raises(PlacedError, match="line 2: 'kind = warner' is not TOML: no value follows") as caught:
        read(path)
    assert caught.value.remedy.startswith("Put texts into quotes")
