"""Text files as people have them: blanks around, names of columns, blanks for tabs, characters nobody sees."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from askance.errors import FormatError, InputError, UntidyTextWarning
from askance.text.corpus.corpus import Corpus
from askance.text.io.tagged_text import TextFormat, read_sentences, read_tagged, tagged_lines


def read(text: str, format: TextFormat = "tsv", tag_column: str | int | None = None) -> Corpus:
    return read_tagged(io.BytesIO(text.encode()), format=format, tag_column=tag_column)


# -- blanks around -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u2003"])
def test_blanks_around_are_taken_off_and_told(blank: str) -> None:
    with pytest.warns(UntidyTextWarning) as caught:
        corpus = read(f"the\tDET\ndog{blank}\tNOUN\n\nthe\tDET{blank}\n{blank}dog\t NOUN\n")
    assert (corpus.words, corpus.tagset) == (("the", "dog"), ("DET", "NOUN"))
    [told] = [str(warning.message) for warning in caught]
    assert told.startswith("standard input, line 2: 'dog")
    assert told.endswith("they were taken off, here and in 3 more cells.")
    assert caught[0].filename == __file__


def test_blank_cells_are_no_tags_and_blank_words_stay() -> None:
    corpus = read(" \tX\n\tX\na\t \n")
    assert (corpus.sentence(0), corpus.tags_of(0)) == ((" ", "", "a"), ("X", "X", None))
    assert read("".join(tagged_lines(corpus, "tsv"))).sentence(0) == (" ", "", "a")


# -- names of columns --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", ["word\ttag", "Token\tLabel", "FORM\tlemma\tUPOS", "text \tpos"])
def test_names_of_columns_are_no_words(names: str) -> None:
    rest = "\n".join("\t".join(["dog", *["X"] * names.count("\t")]) for _ in range(3))
    with pytest.raises(FormatError, match="standard input, line 1 seems to name the columns") as caught:
        read(f"{names}\n{rest}\n")
    assert caught.value.remedy == 'Begin this line with "# columns: ", or take it out.'
    with pytest.raises(FormatError, match="seems to name the columns"):
        read_sentences(io.BytesIO(f"{names}\n\n{rest}\n".encode()), format="tsv")
    with pytest.raises(FormatError, match="seems to name the columns"):
        read(f"{names}\n{rest}\n", tag_column=names.split("\t")[-1])
    assert len(read(f"# columns: {names}\n{rest}\n").sentence(0)) == 3


@pytest.mark.parametrize("text", ["word\ttag\nprice\ttag\n", "word\tNOUN\n", "tag\tNOUN\n", "word\n"])
def test_words_that_are_no_names_of_columns(text: str) -> None:
    assert read(text).n_tokens == text.count("\n")


# -- blanks for tabs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "columns"), [("the DT B-NP\ndog NN I-NP\n\nruns VBZ B-VP\n", 3), ("a X\nb Y\n", 2)])
def test_columns_between_blanks(text: str, columns: int) -> None:
    said = f"has {columns} columns in every line, separated by blanks"
    with pytest.raises(FormatError, match=said) as caught:
        read(text)
    assert "tr -s ' ' '\\t' < 'standard input'" in caught.value.remedy
    with pytest.raises(FormatError, match=said):
        read(text, tag_column=2)
    with pytest.raises(FormatError, match=said):
        read_sentences(io.BytesIO(text.encode()), format="tsv")
    assert read(f"# columns: form\n{text}").n_tokens == text.replace("\n\n", "\n").count("\n")
    assert read("New York\nis\nbig\n").sentence(0) == ("New York", "is", "big")


def test_names_that_tell_no_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tells no format") as caught:
        read_tagged(tmp_path / "train.conll")
    assert "> train.tsv. If it has the ten columns of CoNLL-U, call it .conllu." in caught.value.remedy
    with pytest.raises(InputError, match="tells no format") as caught:
        read_tagged(tmp_path / "train.dat")
    assert caught.value.remedy.startswith("Give it such an ending")


def test_text_has_no_tags() -> None:
    with pytest.raises(InputError, match="3 of 3 tokens have no tag") as caught:
        read("the dog sleeps", "text").require_tags()
    assert "separated by tabs" in caught.value.remedy
    with pytest.raises(InputError, match="plain text") as caught:
        read("the dog", "text", 2)
    assert "format=" not in caught.value.remedy


# -- characters that nobody sees ---------------------------------------------------------------------------------------

SPACES = "\t\x0b\x0c\x1c\x1f\x85\u00a0\u1680\u2000\u2003\u2009\u2028\u2029\u202f\u205f\u3000"


@pytest.mark.parametrize("space", SPACES)
def test_text_is_split_at_all_white_space(space: str) -> None:
    corpus = read(f"dort{space}?{space}\n{space}\n{space}oui\n", "text")
    assert list(corpus.sentences()) == [("dort", "?"), ("oui",)]
    again = read("".join(tagged_lines(corpus.with_tags([0, 0, 0], ["X"]), "tsv")))
    assert list(again.sentences()) == list(corpus.sentences())


@pytest.mark.parametrize(
    ("character", "title"),
    [
        ("\0", "U+0000 (NUL)"),
        ("\x08", "U+0008 (control character)"),
        ("\u200b", "U+200B (zero width space)"),
        ("\u2060", "U+2060 (word joiner)"),
        ("\ufeff", "U+FEFF (byte order mark)"),
    ],
)
@pytest.mark.parametrize("format", ["text", "tsv", "conllu"])
def test_unseen_characters_are_told(tmp_path: Path, character: str, title: str, format: TextFormat) -> None:
    word = f"d{character}og"
    row = {"text": "{}\n", "tsv": "{}\tX\n\n", "conllu": "1\t{}\t_\tX\t_\t_\t_\t_\t_\t_\n\n"}[format]
    text = "".join(row.format(each) for each in ("the", word, word))
    (tmp_path / "a").write_text(text, encoding="utf-8")
    line = 2 if format == "text" else 3
    with pytest.warns(UntidyTextWarning) as caught:
        corpus = read_tagged(tmp_path / "a", format=format)
    assert corpus.words == ("the", word)
    [told] = [str(warning.message) for warning in caught]
    assert told.startswith(f"{tmp_path / 'a'}, line {line} holds {title}, ")
    assert "; 1 more places have such characters." in told


@pytest.mark.parametrize("word", ["می\u200cخواهم", "👩\u200d🔬", "co\u00adop", "naïve", "a\u0301"])
@pytest.mark.parametrize("format", ["text", "tsv"])
def test_characters_that_words_need_are_not(word: str, format: TextFormat) -> None:
    assert read(f"{word}\tX\n" if format == "tsv" else f"{word}\n", format).words == (word,)


# -- writing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ids", "name"), [([], "2"), (["s1", "s2"], "'s2'")])
def test_words_that_cannot_be_written_are_named(ids: list[str], name: str) -> None:
    corpus = Corpus.of([["a"], ["b", "a\rb"]], [["X"], ["X", "X"]], ids=ids)
    with pytest.raises(InputError, match=rf"sentence {name} has the word 'a.rb', which cannot be .* tsv") as caught:
        tagged_lines(corpus, "tsv")
    assert caught.value.remedy.endswith('or write JSON lines: format="jsonl".')
    assert list(tagged_lines(corpus.take([0]), "tsv"))[1:] == ["a\tX\n\n"]  # the word is in no sentence
