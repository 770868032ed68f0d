"""Tagged sentences from and to TSV, CoNLL-U, JSON lines and plain text."""

from __future__ import annotations

import gzip
import io
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance.errors import AskanceError, EmptyDataError, FormatError, InputError, UntidyTextWarning
from askance.text.corpus.corpus import Corpus, CorpusBuilder
from askance.text.io.tagged_text import TextFormat, read_sentences, read_tagged, tagged_lines, write_tagged

TSV = "# columns: form\txpos\tupos\n#\t#\tSYM\n5\tCD\tNUM\n\nthe\tDT\tDET\ndog\tNN\tNOUN\n"
CONLLU = """\
# newdoc
# sent_id = first
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tVB\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tPP\t_\t1\tobj\t_\t_
2.1\tnada\t_\tX\t_\t_\t_\t_\t_\t_
3\t_\t_\t_\tSYM\t_\t1\tdep\t_\t_

# sent_id = second
1\tmar\tmar\tNOUN\tNN\t_\t0\troot\t_\t_

"""


def everything(corpus: Corpus) -> list[object]:
    """What a corpus says, sentence by sentence."""
    numbers = range(len(corpus))
    return [corpus.ids, corpus.tagset, [(corpus.sentence(i), corpus.tags_of(i)) for i in numbers]]


def refused(path: Path, **options: object) -> AskanceError:
    with pytest.raises(AskanceError) as caught:
        read_tagged(path, **options)  # type: ignore[arg-type]
    return caught.value


# -- TSV ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "tags"),
    [(None, ("#", "CD")), (2, ("#", "CD")), ("3", ("SYM", "NUM")), ("upos", ("SYM", "NUM")), ("XPOS", ("#", "CD"))],
)
def test_tsv_columns(tmp_path: Path, column: str | int | None, tags: tuple[str, ...]) -> None:
    (tmp_path / "a.tsv").write_text(TSV)
    corpus = read_tagged(tmp_path / "a.tsv", tag_column=column)
    assert (corpus.sentence(0), corpus.tags_of(0), len(corpus)) == (("#", "5"), tags, 2)


@pytest.mark.parametrize(
    "text",
    [
        TSV.split("\n", 1)[1],  # without names of columns
        TSV.replace("\n", "\r\n"),
        "\ufeff" + TSV,
        TSV.replace("\n\n", "\n\t\t\n \n\n") + "\n\n",
        "# columns: form xpos upos\n" + TSV.split("\n", 1)[1],
    ],
    ids=["no header", "carriage returns", "byte order mark", "several empty lines", "header with blanks"],
)
def test_tsv_variants_read_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.tsv").write_bytes(TSV.encode())
    (tmp_path / "b.tsv").write_bytes(text.encode())
    (tmp_path / "c.tsv.gz").write_bytes(gzip.compress(text.encode()))
    expected = everything(read_tagged(tmp_path / "a.tsv"))
    assert everything(read_tagged(tmp_path / "b.tsv")) == expected
    assert everything(read_tagged(tmp_path / "c.tsv.gz")) == expected


def test_only_the_first_line_is_a_header(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("#\tSYM\n\n# columns: form\tX\n")
    assert read_tagged(tmp_path / "a.tsv").sentence(1) == ("# columns: form",)


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\u2028b\x85c\x0bd\tNN\n", newline="")
    with pytest.warns(UntidyTextWarning, match=r"line 1 holds U\+2028 \(line separator\)"):
        assert read_tagged(tmp_path / "a.tsv").sentence(0) == ("a\u2028b\x85c\x0bd",)


def test_words_alone_have_no_tags(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("the\ndog\n\ndogs\n")
    corpus = read_tagged(tmp_path / "a.tsv")
    assert (corpus.tags, corpus.sentence(1)) == (None, ("dogs",))


def test_missing_tags_and_empty_words(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("the\t_\n\tNN\ndog\t\n")
    corpus = read_tagged(tmp_path / "a.tsv")
    assert (corpus.tags_of(0), corpus.sentence(0)) == ((None, "NN", None), ("the", "", "dog"))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (b"the\tDT\ndog\tNN\tNOUN\n", 2, "has 3 cells; allowed: 2, as line 1 has"),
        (b"# columns: form\ttag\nthe\tDT\n\ndog\n", 4, "has 1 cells; allowed: 2, as line 1 has"),
        (b"\n\nthe\tDT\ndog\n", 4, "as line 3 has"),
        (b"the\tDT\n\nd\xf6g\tNN\n", 3, "not UTF-8"),
    ],
)
def test_bad_tsv_names_file_and_line(tmp_path: Path, text: bytes, line: int, words: str) -> None:
    (tmp_path / "a.tsv").write_bytes(text)
    error = refused(tmp_path / "a.tsv")
    assert isinstance(error, FormatError)
    assert f"{tmp_path / 'a.tsv'}, line {line} " in error.message
    assert words in error.message


def test_bad_text_in_a_later_piece_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"dog\tNN\n" * 400_000 + b"\xff\tNN\n")
    assert "line 400001 is not UTF-8" in refused(tmp_path / "a.tsv").message


@pytest.mark.parametrize("column", ["pos", 0, 1, 4, "1", "form", -1, "upo"])
def test_unknown_columns(tmp_path: Path, column: str | int) -> None:
    (tmp_path / "a.tsv").write_text(TSV)
    error = refused(tmp_path / "a.tsv", tag_column=column)
    assert isinstance(error, InputError)
    assert "'xpos', 'upos', numbers 2 to 3" in error.message
    assert (error.remedy == "Did you mean 'upos'?") == (column == "upo")


@pytest.mark.parametrize("name", ["a.tsv", "a.conllu", "a.jsonl", "a.txt"])
@pytest.mark.parametrize("text", ["", "\n \n"])
def test_empty_files(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert isinstance(refused(tmp_path / name), EmptyDataError)


def test_unreadable_files(tmp_path: Path) -> None:
    packed = gzip.compress(TSV.encode() * 50)
    (tmp_path / "a.tsv.gz").write_bytes(packed[:-20])
    (tmp_path / "b.tsv.gz").write_bytes(packed[:20] + b"\0" * 20 + packed[40:])
    for name in ("a.tsv.gz", "b.tsv.gz", "missing.tsv"):
        error = refused(tmp_path / name)
        assert isinstance(error, FormatError)
        assert name in error.message
    assert ".conllu" in refused(tmp_path / "a.doc").message
    assert "tsv, conllu" in refused(tmp_path / "a.tsv", format="excel").message


def test_a_column_of_words_is_no_column_of_tags(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"a\t{i}\n" for i in range(40_000)))
    assert "40,000 different tags" in refused(tmp_path / "a.tsv").message


# -- CoNLL-U -----------------------------------------------------------------------------------------------------------


def test_conllu(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(CONLLU)
    corpus = read_tagged(tmp_path / "a.conllu")
    assert corpus.ids == ("first", "second")
    assert (corpus.sentence(0), corpus.tags_of(0)) == (("vamos", "nos", "_"), ("VERB", "PRON", None))
    for column in ("xpos", 5, "5"):
        assert read_tagged(tmp_path / "a.conllu", tag_column=column).tags_of(0) == ("VB", "PP", "SYM")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("2\tnos", "3\tnos", "line 6 has the ID '3'; allowed: 2"),
        ("2\tnos", "x\tnos", "has the ID 'x'"),
        ("2\tnos", "2 nos", "line 6 has 9 cells; allowed: 10"),
        ("2\tnos", "2\t", "line 6 has no word"),
        ("\n\n#", "\n#", "line 10 has the ID '1'; allowed: 4"),
    ],
)
def test_bad_conllu(tmp_path: Path, old: str, new: str, words: str) -> None:
    (tmp_path / "a.conllu").write_text(CONLLU.replace(old, new))
    error = refused(tmp_path / "a.conllu")
    assert isinstance(error, FormatError)
    assert words in error.message


# -- JSON lines and text -----------------------------------------------------------------------------------------------


def test_json_lines(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"askance": "regions/1"}\n{"tokens": ["a b", "_"], "upos": ["X", null], "tags": ["_", "Y"], "id": 7}\n\n'
        '{"tokens": ["c"]}\n'
    )
    corpus = read_tagged(tmp_path / "a.jsonl")
    assert everything(corpus) == [("7", "2"), ("Y", "_"), [(("a b", "_"), ("_", "Y")), (("c",), (None,))]]
    assert read_tagged(tmp_path / "a.jsonl", tag_column="upos").tags_of(0) == ("X", None)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"tokens": ["a"], "tags": ["X", "Y"]}', "'tags' has 2 entries; allowed: a list of 1"),
        ('{"tokens": ["a"], "tags": "X"}', "'tags' has 'X'"),
        ('{"tokens": ["a"], "tags": [["X"]]}', "'tags' holds ['X']"),
        ('{"tokens": ["a", 1]}', "token 1 is 1"),
        ('{"tokens": "a b"}', "its tokens are 'a b'"),
        ('{"words": ["a"]}', "its tokens are None"),
        ('{"tokens": ["a"], "id": [1]}', "its id is [1]"),
        ('{"tokens": ["a"], "tokens": ["b"]}', "appears twice"),
        ('{"tokens": ["a"], "score": NaN}', "NaN"),
        ('{"tokens": ["\\ud800"]}', "half a character"),
        ('{"tokens": ["a"', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('["a"]', "allowed: an object"),
    ],
)
def test_bad_json_lines(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"tokens": ["fine"]}\n' + line + "\n")
    error = refused(tmp_path / "a.jsonl")
    assert isinstance(error, FormatError)
    assert f"{tmp_path / 'a.jsonl'}, line 2: " in error.message
    assert words in error.message


def test_text_and_open_files() -> None:
    corpus = read_tagged(io.BytesIO("the  dog\tbarks\n\n10\u00a0000 .".encode()), format="text")
    assert list(corpus.sentences()) == [("the", "dog", "barks"), ("10", "000", ".")]
    assert corpus.tags is None
    with pytest.raises(InputError, match="plain text"):
        read_tagged(io.BytesIO(b"a"), format="text", tag_column=2)
    with pytest.raises(InputError, match="standard input tells no format"):
        read_tagged(io.BytesIO(b"a"))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.tsv", TSV, [("#", "5"), ("the", "dog")]),
        ("a.conllu", CONLLU, [("vamos", "nos", "_"), ("mar",)]),
        ("a.jsonl", '{"tokens": ["a", "b"], "tags": [["X", "Y"], null]}', [("a", "b")]),
        ("a.txt", "the dog\nbarks\n", [("the", "dog"), ("barks",)]),
    ],
)
def test_sentences_alone(tmp_path: Path, name: str, text: str, words: list[tuple[str, ...]]) -> None:
    (tmp_path / name).write_text(text)
    corpus = read_sentences(tmp_path / name)
    assert (list(corpus.sentences()), corpus.tags, corpus.tagset) == (words, None, ())
    again = read_sentences(io.BytesIO(text.encode()), format=name[2:].replace("txt", "text"))
    assert list(again.sentences()) == words
    with pytest.raises(EmptyDataError, match="standard input has no sentence"):
        read_sentences(io.BytesIO(b"\n"))


# -- writing -----------------------------------------------------------------------------------------------------------

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r")
WORD = st.text(CHARACTERS, min_size=1).map(str.strip).filter(bool)
TAG = st.none() | st.sampled_from(["NN", "#", "``", "Ä ö", '"'])
TOKENS = st.lists(st.tuples(WORD, TAG), min_size=1, max_size=5)


@pytest.mark.filterwarnings("ignore::askance.errors.UntidyTextWarning")
@settings(deadline=None)
@given(st.lists(TOKENS, min_size=1, max_size=4), st.sampled_from(["a.tsv", "a.conllu", "a.jsonl", "a.tsv.gz"]))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[tuple[str, str | None]]], name: str
) -> None:
    words, tags = ([[token[i] for token in sentence] for sentence in sentences] for i in (0, 1))
    ids = [] if "tsv" in name else [f"s{i}" for i in range(len(words))]
    corpus = Corpus.of([[str(w) for w in row] for row in words], tags, ids=ids)
    path = tmp_path_factory.mktemp("text") / name
    write_tagged(path, corpus)
    assert everything(read_tagged(path)) == everything(corpus)
    first = path.read_bytes()
    write_tagged(path, corpus)
    assert path.read_bytes() == first
    assert [entry.name for entry in path.parent.iterdir()] == [name]


def test_columns_are_written_by_name(tmp_path: Path) -> None:
    corpus = Corpus.of([["a"]], [["X"]])
    write_tagged(tmp_path / "a.conllu", corpus, tag_column="xpos")
    assert (tmp_path / "a.conllu").read_text() == "1\ta\t_\t_\tX\t_\t_\t_\t_\t_\n\n"
    write_tagged(tmp_path / "a.tsv", corpus, tag_column="upos")
    assert read_tagged(tmp_path / "a.tsv", tag_column="upos").tags_of(0) == ("X",)
    write_tagged(tmp_path / "a.jsonl", corpus, tag_column="upos")
    assert read_tagged(tmp_path / "a.jsonl", tag_column="upos").tags_of(0) == ("X",)
    assert list(tagged_lines(Corpus.of([["a", "b"]]), "tsv")) == ["# columns: form\n", "a\nb\n\n"]


@pytest.mark.parametrize(
    ("corpus", "format"),
    [
        (Corpus.of([["a\tb"]], [["X"]]), "tsv"),
        (Corpus.of([["a\nb"]], [["X"]]), "conllu"),
        (Corpus.of([["a"]], [["_"]]), "tsv"),
        (Corpus.of([["a"]], [["X"]], ids=["1\n2"]), "conllu"),
        (Corpus.of([["", "a"]], [["X", "X"]]), "conllu"),
        (Corpus.of([["\u00a0", "a"]]), "tsv"),
        (Corpus.of([[" a"]], [["X"]]), "tsv"),
        (Corpus.of([["a\u2003"]], [["X"]]), "conllu"),
        (Corpus.of([["a"]], [["X "]]), "tsv"),
        (Corpus.of([["a"]], [[" "]]), "tsv"),
        (Corpus.of([["a"]], [["X"]], ids=["1 "]), "conllu"),
        (Corpus.of([["\ud800"]]), "jsonl"),
        (Corpus.of([["a"]]), "text"),
    ],
)
def test_what_would_be_read_differently_is_refused(tmp_path: Path, corpus: Corpus, format: TextFormat) -> None:
    with pytest.raises(InputError):
        write_tagged(tmp_path / "a", corpus, format=format)
    assert list(tmp_path.iterdir()) == []


# -- size --------------------------------------------------------------------------------------------------------------


def test_files_are_never_held_as_a_whole(tmp_path: Path) -> None:
    ballast = "x" * 400
    lines = "".join(f"word{i % 1000}\tNN\t{ballast}\n" + "\n" * (i % 20 == 0) for i in range(40_000))
    (tmp_path / "a.tsv").write_text(lines)
    tracemalloc.start()
    try:
        corpus = read_tagged(tmp_path / "a.tsv")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert corpus.n_tokens == 40_000
    assert peak < len(lines) / 2  # a few copies of a piece of 1 MiB, and ten bytes a token


def test_the_builder_names_sentences_and_knows_its_tags() -> None:
    builder = CorpusBuilder()
    builder.add(["a"])
    builder.add(["b", "a"], ["X", None], "second")
    builder.add(["c"])
    assert (len(builder), builder.n_tokens) == (3, 4)
    corpus = builder.build(["Y", "X"])
    assert (corpus.ids, corpus.tagset) == (("1", "second", "3"), ("X", "Y"))
    assert [corpus.tags_of(i) for i in range(3)] == [(None,), ("X", None), (None,)]
    with pytest.raises(InputError, match="'X' is not in the tag set"):
        builder.build(["Y"])


@pytest.mark.skipif("ASKANCE_DATA" not in os.environ, reason="needs ASKANCE_DATA, the folder of real data")
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("conll2000.train", (8936, 211_727, 44)),
        ("masc", (34_532, 592_469, 59)),
        ("ptb_sample.wsj00", (1921, 46_451, 45)),
        ("ud.fr_gsd.test", (416, 10_018, 16)),
    ],
)
def test_real_corpora(name: str, numbers: tuple[int, int, int]) -> None:
    corpus = read_tagged(Path(os.environ["ASKANCE_DATA"]) / f"{name}.tsv.gz")
    assert (len(corpus), corpus.n_tokens, len(corpus.tagset)) == numbers
    corpus.require_tags()
