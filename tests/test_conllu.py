"""CoNLL-U files that get other tags and keep the rest."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from askance.errors import EmptyDataError, FormatError, InputError, ShapeError, UntidyTextWarning
from askance.text.io.conllu import ConlluDocument
from askance.text.io.tagged_text import read_sentences

FILE = """\
# newdoc id = d
# sent_id = first
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tvamos\tir\t{}\tVB\tMood=Imp\t0\troot\t0:root\tGloss=go
2\tnos\tnosotros\t{}\tPP\t_\t1\tobj\t_\t_
2.1\tnada\t_\tX\t_\t_\t_\t_\t1:dep\t_


# a comment alone

# sent_id = second
1\tmar\tmar\t{}\tNN\t_\t0\troot\t_\tSpacesAfter=\\n"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_only_tags_of_words_change(tmp_path: Path, ends: str) -> None:
    before, after = (FILE.format(*tags).replace("\n", ends) for tags in (("X", "_", "NOUN"), ("VERB", "PRON", "VERB")))
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(before.encode()))
    for source in (io.BytesIO(before.encode()), tmp_path / "a.conllu.gz"):
        document = ConlluDocument.read(source)
        assert document.corpus.ids == ("first", "second")
        assert "".join(document.tagged([1, 0, 1], ["PRON", "VERB"])) == after
    plain = read_sentences(io.BytesIO(before.encode()), format="conllu")
    assert list(plain.sentences()) == list(document.corpus.sentences()) == [("vamos", "nos"), ("mar",)]


def test_large_files_stay_whole() -> None:
    row = "1\tword\tlemma\tX\t_\t_\t0\troot\t_\t" + "m" * 300
    text = f"{row}\n\n" * 5000  # more than one piece of reading
    document = ConlluDocument.read(io.BytesIO(text.encode()))
    assert "".join(document.tagged([0] * 5000, ["X"])) == text


def test_blanks_around_stay_in_the_file() -> None:
    text = "1\tdog \t_\tX\t_\t_\t_\t_\t_\t_\n"
    with pytest.warns(UntidyTextWarning, match="line 1: 'dog ' has blanks around it"):
        document = ConlluDocument.read(io.BytesIO(text.encode()))
    assert document.corpus.sentence(0) == ("dog",)
    assert "".join(document.tagged([0], ["N"])) == text.replace("X", "N")


def test_what_is_refused() -> None:
    with pytest.raises(EmptyDataError, match="standard input has no sentence"):
        ConlluDocument.read(io.BytesIO(b"# comment\n\n"))
    with pytest.raises(FormatError, match="line 1 has 2 cells") as caught:
        ConlluDocument.read(io.BytesIO(b"1\tdog\n"))
    assert "format=" not in caught.value.remedy
    document = ConlluDocument.read(io.BytesIO(FILE.encode()))
    with pytest.raises(InputError, match="a tag is '' or '_'"):
        document.tagged([0, 0, 0], ["_"])
    with pytest.raises(InputError, match=r"tag 'a.tb' cannot be written"):
        document.tagged([0, 0, 0], ["a\tb"])
    with pytest.raises(ShapeError):
        document.tagged([0], ["X"])
