"""Tagged sentences from and to files: TSV, CoNLL-U, JSON lines; plain text is read only.

- TSV: one token a line, cells separated by tabs, an empty line after each sentence. The first line may name the
  columns, `# columns: form<tab>tag`; no other line is a comment, as `#` is also a token. The first column holds the
  words; an empty cell there is a word like any other, since some corpora have such tokens. A first line that names
  the columns without that mark is refused, and so are columns that are separated by blanks (`tsv_reading`).
- CoNLL-U: ten columns; comments, multiword ranges (1-2) and empty nodes (1.1) are left out. `# sent_id = …` names
  sentences. What is written has words and tags alone; `conllu` puts tags into a file and keeps the rest of it.
- JSON lines: `{"id": "s1", "tokens": ["the", "dog"], "tags": ["DT", null]}`, id and tags optional.
- Text: one sentence a line, tokens separated by white space, which is all that Unicode says is: also no-break spaces,
  wide and thin ones, form feeds, and U+2028. Words with such characters in them are for the other formats.
- Files of annotation tools (doccano, Label Studio, Prodigy): see `annotation_tools`.

In the first two `_` and an empty cell mean "no tag", and blanks around words and tags are taken off, with a warning.
Characters that cannot be seen, such as U+200B, NUL, or a byte order mark inside of a file, are part of words in all but
JSON, with a warning that names file, line and character (`text_notes`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring
from typing import TypeAlias, get_args

from askance._checks import shown
from askance.errors import FormatError, InputError
from askance.formats.disk import as_path
from askance.text.corpus.corpus import Corpus, CorpusBuilder
from askance.text.io.annotation_tools import annotation_lines, read_annotations, task_words
from askance.text.io.conllu import COLUMNS, read_conllu
from askance.text.io.json_records import id_of, of_kind, require_tags, tokens_of
from askance.text.io.lines import OpenText, Source, name_of, read_json, text_lines, write_lines
from askance.text.io.text_format import TextFormat as TextFormat
from askance.text.io.text_format import column_of, field_of, format_within, tool_of_format
from askance.text.io.text_format import format_of as format_of
from askance.text.io.text_notes import TextNotes
from askance.text.io.tsv_reading import HEADER, read_tsv
from askance.text.io.writable_text import require_writable

#: Id, words and tags.
_Sentence: TypeAlias = tuple[str, Sequence[str], Sequence[str | None] | None]
_Lines: TypeAlias = Iterator[tuple[int, str]]

_NO_TAG = ("", "_")


def read_tagged(source: Source, *, tag_column: str | int | None = None, format: TextFormat | None = None) -> Corpus:
    """Read sentences, with their tags where there are some.

    Files may be packed with gzip. They are read in pieces: memory holds integers and the different words.

    Args:
        source: a path, or an open file of bytes; then `format` must be given.
        tag_column: which column has the tags. TSV: its name in the header line, or its number counted from 1 (column 1
            holds the words); default 2, and no tags where there is no second column. CoNLL-U: a name such as "XPOS", or
            a number; default "UPOS". JSON lines: the field, default "tags".
        format: "tsv", "conllu", "jsonl", "text", "doccano", "label-studio" or "prodigy"; default: by the name of the
            file (.tsv, .conllu, .jsonl, .txt, each perhaps with .gz); .json and .jsonl also by their first object. The
            last three are read as `read_annotations` does by default.

    Raises:
        FormatError: not UTF-8, rows of different lengths, not JSON, names of columns or blanks instead of tabs where
            they cannot be told from words; names file and line.
        InputError: no such column, or a name that tells no format.
        EmptyDataError: no sentence.

    Warns:
        UntidyTextWarning: blanks around words or tags, which are taken off; characters that cannot be seen.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.tsv"
    >>> _ = path.write_text("the\\tDT\\tDET\\ndog\\tNN\\tNOUN\\n\\ndogs\\tNNS\\tNOUN\\n")
    >>> corpus = read_tagged(path)
    >>> corpus, read_tagged(path, tag_column=3).tags_of(0)
    (Corpus(2 sentences, 3 tokens, 3 types, 3 tags), ('DET', 'NOUN'))
    """
    name, text = name_of(source), OpenText(source)
    kind = format_within(text, format)
    if isinstance(tag_column, bool) or not isinstance(tag_column, (str, int, type(None))):
        raise InputError(
            argument="tag_column", got=shown(tag_column), allowed="a name or a number", remedy="Leave it out."
        )
    tool = tool_of_format(kind)
    if tag_column is not None and (tool or kind == "text"):
        raise InputError(
            f"is {shown(tag_column)}, and {name} is {tool or 'plain text'}",
            argument="tag_column",
            allowed="none",
            remedy="Leave it out." if tool else "Leave it out, or call the file .tsv if tabs separate its columns.",
        )
    if tool:
        return read_annotations(text, tool=tool).corpus
    return _corpus(text, kind, tag_column)


def read_sentences(source: Source, *, format: str | None = None) -> Corpus:
    """Read the words alone, whatever tags a file has.

    Args:
        source: a path, or an open file of bytes.
        format: as for `read_tagged`; default: by the name of the file, and "text" for an open file.

    >>> import io
    >>> list(read_sentences(io.BytesIO(b"the dog\\nbarks")).sentences())
    [('the', 'dog'), ('barks',)]
    """
    text = OpenText(source)
    kind = format_within(text, format or (None if isinstance(source, (str, os.PathLike, OpenText)) else "text"))
    return _corpus(text, kind, None, bare=True)


# -- reading -----------------------------------------------------------------------------------------------------------


def _corpus(text: OpenText, kind: TextFormat, tag_column: str | int | None, *, bare: bool = False) -> Corpus:
    """The sentences of a file of words, without their tags where it is to be bare."""
    name, lines = text.name, text_lines(text)
    notes = TextNotes(name)
    sentences: Iterator[_Sentence]
    if tool := tool_of_format(kind):
        sentences = ((id, words, None) for id, words in task_words(text, tool))
    elif kind == "tsv":
        sentences = read_tsv(lines, name, tag_column, notes)
    elif kind == "conllu":
        column = column_of(tag_column, COLUMNS, len(COLUMNS), (0, 1), name, default=3)
        sentences = read_conllu(lines, name, column, notes)
    elif kind == "jsonl":
        sentences = _read_jsonl(lines, name, None if bare else field_of(tag_column))
    else:
        sentences = _read_text(lines, notes)
    builder = CorpusBuilder(() if kind == "jsonl" else _NO_TAG)
    for id, words, tags in sentences:
        builder.add(words, None if bare else tags, id)
    builder.require_sentences(name)
    notes.warn(3)
    return builder.build()


def _read_jsonl(lines: _Lines, name: str, field: str | None) -> Iterator[_Sentence]:
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            content = of_kind(read_json(line), dict, "it is")
            if "askance" in content:  # the header of a file of regions
                continue
            words, tags = tokens_of(content), None if field is None else content.get(field)
            if field is not None and tags is not None:
                require_tags(tags, field, len(words))
            id = id_of(content)
        except ValueError as error:
            raise FormatError(
                f"{name}, line {number}: {error}.",
                remedy='Write lines such as {"tokens": ["the", "dog"], "tags": ["DT", "NN"]}.',
            ) from None
        if words:
            yield id, words, tags


def _read_text(lines: _Lines, notes: TextNotes) -> Iterator[_Sentence]:
    for number, line in lines:
        words = line.split()
        if words:
            notes.look(" ".join(words), number)
            yield "", words, None


# -- writing -----------------------------------------------------------------------------------------------------------


def write_tagged(
    path: str | os.PathLike[str], corpus: Corpus, *, tag_column: str | None = None, format: TextFormat | None = None
) -> None:
    """Write sentences and their tags; whole or not at all, packed where the name ends in .gz.

    Args:
        path: where to; its name tells the format.
        corpus: the sentences.
        tag_column: TSV: the name of the column of tags in the header line, default "tag". CoNLL-U: "UPOS" (default) or
            "XPOS". JSON lines: the field, default "tags".
        format: "tsv", "conllu" or "jsonl", or an annotation tool (see `write_annotations`); default: by the name. TSV
            does not keep the ids of sentences.
    """
    write_lines(path, tagged_lines(corpus, format_of(as_path(path), format), tag_column=tag_column))


def tagged_lines(corpus: Corpus, format: TextFormat, *, tag_column: str | None = None) -> Iterator[str]:
    """The text of a file, sentence by sentence; see `write_tagged`.

    >>> list(tagged_lines(Corpus.of([["the", "dog"]], [["DT", None]]), "tsv"))
    ['# columns: form\\ttag\\n', 'the\\tDT\\ndog\\t_\\n\\n']
    """
    if tool := tool_of_format(format):
        return annotation_lines(corpus, tool)
    require_writable(corpus, format)
    if format == "tsv":
        return _tsv_lines(corpus, "tag" if tag_column is None else tag_column)
    if format == "conllu":
        wanted = column_of(tag_column, COLUMNS[:5], 5, (0, 1, 2), "CoNLL-U", default=3)
        return _conllu_lines(corpus, wanted == 3)
    if format == "jsonl":
        return _json_lines(corpus, field_of(tag_column))
    allowed = ", ".join(kind for kind in get_args(TextFormat) if kind != "text")
    raise InputError(f"format is {shown(format)}; allowed: {allowed}.", remedy='Write "tsv".')


def _cells(corpus: Corpus, number: int, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of a sentence and the names of its tags."""
    span = corpus.span(number)
    words = [corpus.words[token] for token in corpus.tokens[span].tolist()]
    return words, [] if corpus.tags is None else [names[code] for code in corpus.tags[span].tolist()]


def _tsv_lines(corpus: Corpus, column: str) -> Iterator[str]:
    names = [*corpus.tagset, "_"]  # NO_TAG is the last
    yield f"{HEADER} form\n" if corpus.tags is None else f"{HEADER} form\t{column}\n"
    for number in range(len(corpus)):
        words, tags = _cells(corpus, number, names)
        rows = (
            [f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)] if tags else [f"{w}\n" for w in words]
        )
        yield "".join(rows) + "\n"


def _conllu_lines(corpus: Corpus, universal: bool) -> Iterator[str]:
    names = [*corpus.tagset, "_"]
    row = "%d\t%s\t_\t%s\t_\t_\t_\t_\t_\t_\n" if universal else "%d\t%s\t_\t_\t%s\t_\t_\t_\t_\t_\n"
    for number in range(len(corpus)):
        words, tags = _cells(corpus, number, names)
        head = f"# sent_id = {corpus.ids[number]}\n" if corpus.ids else ""
        rows = zip(range(1, len(words) + 1), words, tags or ["_"] * len(words), strict=True)
        yield head + "".join([row % cells for cells in rows]) + "\n"


def _json_lines(corpus: Corpus, field: str) -> Iterator[str]:
    words = [encode_basestring(word) for word in corpus.words]
    names = [*map(encode_basestring, corpus.tagset), "null"]
    for number in range(len(corpus)):
        span = corpus.span(number)
        parts = [f'"id":{encode_basestring(corpus.ids[number])}'] if corpus.ids else []
        parts.append(f'"tokens":[{",".join([words[token] for token in corpus.tokens[span].tolist()])}]')
        if corpus.tags is not None:
            parts.append(f'"{field}":[{",".join([names[code] for code in corpus.tags[span].tolist()])}]')
        yield "{" + ",".join(parts) + "}\n"
