"""Tagged sentences from and to files: TSV, CoNLL-U, JSON lines; plain text is read only.

- TSV: one token a line, cells separated by tabs, an empty line after each sentence. The first line may name the
  columns, `# columns: form<tab>tag`; no other line is a comment, as `#` is also a token. The first column holds the
  words; an empty cell there is a word like any other, since some corpora have such tokens.
- CoNLL-U: ten columns; comments, multiword ranges (1-2) and empty nodes (1.1) are left out. `# sent_id = …` names
  sentences.
- JSON lines: `{"id": "s1", "tokens": ["the", "dog"], "tags": ["DT", null]}`, id and tags optional.
- Text: one sentence a line, tokens separated by blanks.
- Files of annotation tools (doccano, Label Studio, Prodigy): see `annotation_tools`.

In the first two `_` and an empty cell mean "no tag".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring
from typing import TypeAlias, get_args

from askance._checks import did_you_mean, shown
from askance.errors import EmptyDataError, FormatError, InputError
from askance.formats.disk import as_path
from askance.text.annotation_tools import annotation_lines, read_annotations, task_words
from askance.text.corpus import Corpus
from askance.text.corpus_builder import CorpusBuilder
from askance.text.json_fields import id_of as id_of
from askance.text.json_fields import require_tags
from askance.text.json_fields import tokens_of as tokens_of
from askance.text.lines import Source, line_writer, name_of, read_json, text_lines
from askance.text.text_format import TextFormat as TextFormat
from askance.text.text_format import format_of as format_of
from askance.text.text_format import format_within, tool_of_format

#: Id, words and tags.
_Sentence: TypeAlias = tuple[str, Sequence[str], Sequence[str | None] | None]
_Lines: TypeAlias = Iterator[tuple[int, str]]

_NO_TAG = ("", "_")
_HEADER = "# columns:"
_CONLLU = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(.*?)\s*")
_LEFT_OUT = re.compile(r"[0-9]+[-.][0-9]+")
# What would end a cell or a line.
_BREAKS = re.compile("[\t\n\r]")
# Halves of surrogate pairs: texts with them have no bytes.
_HALVES = re.compile("[\ud800-\udfff]")


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
        FormatError: not UTF-8, rows of different lengths, not JSON; names file and line.
        InputError: no such column, or a name that tells no format.
        EmptyDataError: no sentence.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.tsv"
    >>> _ = path.write_text("the\\tDT\\tDET\\ndog\\tNN\\tNOUN\\n\\ndogs\\tNNS\\tNOUN\\n")
    >>> corpus = read_tagged(path)
    >>> corpus, read_tagged(path, tag_column=3).tags_of(0)
    (Corpus(2 sentences, 3 tokens, 3 types, 3 tags), ('DET', 'NOUN'))
    """
    kind = format_within(source, format)
    name, lines = name_of(source), text_lines(source)
    if isinstance(tag_column, bool) or not isinstance(tag_column, (str, int, type(None))):
        raise InputError(f"tag_column is {shown(tag_column)}; allowed: a name or a number.", remedy="Leave it out.")
    tool = tool_of_format(kind)
    if tag_column is not None and (tool or kind == "text"):
        raise InputError(
            f"tag_column is {shown(tag_column)}, and {name} is {tool or 'plain text'}; allowed: none.",
            remedy='Leave it out, or give format="tsv".',
        )
    if tool:
        return read_annotations(source, tool=tool).corpus
    if kind == "tsv":
        sentences = _read_tsv(lines, name, tag_column)
    elif kind == "conllu":
        sentences = _read_conllu(lines, name, _column(tag_column, _CONLLU, 10, (0, 1), name, default=3))
    elif kind == "jsonl":
        sentences = _read_jsonl(lines, name, _field(tag_column))
    else:
        sentences = _read_text(lines)
    return _corpus(sentences, CorpusBuilder(() if kind == "jsonl" else _NO_TAG), name)


def read_sentences(source: Source, *, format: str | None = None) -> Corpus:
    """Read the words alone, whatever tags a file has.

    Args:
        source: a path, or an open file of bytes.
        format: as for `read_tagged`; default: by the name of the file, and "text" for an open file.

    >>> import io
    >>> list(read_sentences(io.BytesIO(b"the dog\\nbarks")).sentences())
    [('the', 'dog'), ('barks',)]
    """
    kind = format_within(source, format or (None if isinstance(source, (str, os.PathLike)) else "text"))
    name, lines = name_of(source), text_lines(source)
    sentences: Iterator[_Sentence]
    if tool := tool_of_format(kind):
        sentences = ((id, words, None) for id, words in task_words(source, tool))
    elif kind == "tsv":
        sentences = _read_tsv(lines, name, None)
    elif kind == "conllu":
        sentences = _read_conllu(lines, name, 3)
    else:
        sentences = _read_jsonl(lines, name, None) if kind == "jsonl" else _read_text(lines)
    return _corpus(((id, words, None) for id, words, _ in sentences), CorpusBuilder(), name)


def _corpus(sentences: Iterator[_Sentence], builder: CorpusBuilder, name: str) -> Corpus:
    for id, words, tags in sentences:
        builder.add(words, tags, id)
    if not len(builder):
        raise EmptyDataError(f"{name} has no sentence.", remedy="Give a file with at least one token.")
    return builder.build()


# -- reading -----------------------------------------------------------------------------------------------------------


def _read_tsv(lines: _Lines, name: str, tag_column: str | int | None) -> Iterator[_Sentence]:
    columns: Sequence[str] = ()
    column: int | None = None
    width, first = 0, 1
    words: list[str] = []
    tags: list[str | None] = []
    for number, line in lines:
        if not line or line.isspace():
            if words:
                yield "", words, tags if column else None
                words, tags = [], []
            continue
        if number == 1 and line.startswith(_HEADER):
            listed = line.removeprefix(_HEADER).strip()
            columns = listed.split("\t") if "\t" in listed else listed.split()
            width = len(columns)
            continue
        cells = line.split("\t")
        if column is None:
            first, width = (1, width) if width else (number, len(cells))
            column = _column(tag_column, columns, width, (0,), name, default=min(1, width - 1))
        if len(cells) != width:
            raise FormatError(
                f"{name}, line {number} has {len(cells)} cells; allowed: {width}, as line {first} has.",
                remedy="Give every token a line of its own, cells separated by tabs, and end sentences by empty lines.",
            )
        words.append(cells[0])
        tags.append(cells[column])
    if words:
        yield "", words, tags if column else None


def _read_conllu(lines: _Lines, name: str, column: int) -> Iterator[_Sentence]:
    words: list[str] = []
    tags: list[str | None] = []
    id = ""
    for number, line in lines:
        if not line or line.isspace():
            if words:
                yield id, words, tags
                words, tags, id = [], [], ""
            continue
        if line[0] == "#":
            named = _SENT_ID.fullmatch(line)
            id = named[1] if named else id
            continue
        cells = line.split("\t")
        if len(cells) != len(_CONLLU):
            raise FormatError(
                f"{name}, line {number} has {len(cells)} cells; allowed: {len(_CONLLU)}.",
                remedy='Correct it, or give format="tsv".',
            )
        if cells[0] != str(len(words) + 1):
            if _LEFT_OUT.fullmatch(cells[0]):
                continue
            raise FormatError(
                f"{name}, line {number} has the ID {shown(cells[0])}; allowed: {len(words) + 1}, a range or decimal.",
                remedy="Number the words of a sentence from 1, and end sentences by empty lines.",
            )
        if not cells[1]:
            raise FormatError(f"{name}, line {number} has no word.", remedy="Fill the cell FORM.")
        words.append(cells[1])
        tags.append(cells[column])
    if words:
        yield id, words, tags


def _read_jsonl(lines: _Lines, name: str, field: str | None) -> Iterator[_Sentence]:
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            content = read_json(line)
            if not isinstance(content, dict):
                raise ValueError(f"it is {shown(content)}; allowed: an object")
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


def _read_text(lines: _Lines) -> Iterator[_Sentence]:
    for _, line in lines:
        # No other blanks: a no-break space is part of a word.
        words = [word for word in line.replace("\t", " ").split(" ") if word]
        if words:
            yield "", words, None


def _field(tag_column: str | int | None) -> str:
    if isinstance(tag_column, int) or tag_column in ("id", "tokens"):
        raise InputError(
            f"tag_column is {shown(tag_column)}; allowed for JSON lines: the name of a field with tags.",
            remedy='Leave it out, for "tags".',
        )
    return "tags" if tag_column is None else tag_column


def _column(
    wanted: str | int | None, columns: Sequence[str], width: int, words: Sequence[int], name: str, *, default: int
) -> int:
    """The number, from 0, of the column with the tags; never one of those that hold words or numbers of words."""
    if wanted is None:
        return default
    names = [column.casefold() for column in columns]
    if isinstance(wanted, str) and wanted.casefold() in names:
        found = names.index(wanted.casefold())
    elif isinstance(wanted, int) or re.fullmatch("[0-9]{1,6}", wanted):
        found = int(wanted) - 1
    else:
        found = -1
    if not 0 <= found < width or found in words:
        free = [i for i in range(width) if i not in words]
        listed = [columns[i] for i in free] if columns else []
        numbers = f"numbers {free[0] + 1} to {width}" if len(free) > 1 else f"number {width}" if free else "none"
        raise InputError(
            f"tag_column is {shown(wanted)}, which is no column of tags in {name}; allowed: "
            + ", ".join([*map(repr, listed), numbers])
            + ".",
            remedy=did_you_mean(wanted, listed, "Name a column of the header line, or count from 1."),
        )
    return found


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
    pieces = tagged_lines(corpus, format_of(as_path(path), format), tag_column=tag_column)
    with line_writer(path) as file:
        for piece in pieces:
            file.write(piece.encode("utf-8"))


def tagged_lines(corpus: Corpus, format: TextFormat, *, tag_column: str | None = None) -> Iterator[str]:
    """The text of a file, sentence by sentence; see `write_tagged`.

    >>> list(tagged_lines(Corpus.of([["the", "dog"]], [["DT", None]]), "tsv"))
    ['# columns: form\\ttag\\n', 'the\\tDT\\ndog\\t_\\n\\n']
    """
    if tool := tool_of_format(format):
        return annotation_lines(corpus, tool)
    _require_writable(corpus, format)
    if format == "tsv":
        return _tsv_lines(corpus, "tag" if tag_column is None else tag_column)
    if format == "conllu":
        wanted = _column(tag_column, _CONLLU[:5], 5, (0, 1, 2), "CoNLL-U", default=3)
        return _conllu_lines(corpus, wanted == 3)
    if format == "jsonl":
        return _json_lines(corpus, _field(tag_column))
    allowed = ", ".join(kind for kind in get_args(TextFormat) if kind != "text")
    raise InputError(f"format is {shown(format)}; allowed: {allowed}.", remedy='Write "tsv".')


def _require_writable(corpus: Corpus, format: TextFormat) -> None:
    """Refuse texts that would be read back as something else."""
    blank = format == "conllu" or corpus.tags is None  # where an empty word would be no row, or no word
    for text in (*corpus.words, *corpus.tagset, *corpus.ids):
        broken = format != "jsonl" and (_BREAKS.search(text) or (blank and not text.strip()))
        if broken or (not text.isascii() and _HALVES.search(text)):
            raise InputError(
                f"{shown(text)} cannot be written as {format}; allowed: some text, no tabs, no ends of lines.",
                remedy="Take such characters out.",
            )
    if format != "jsonl" and not {"", "_"}.isdisjoint(corpus.tagset):
        raise InputError(f"a tag is '' or '_', which mean none in {format}.", remedy="Rename it, or write JSON lines.")


def _cells(corpus: Corpus, number: int, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of a sentence and the names of its tags."""
    span = corpus.span(number)
    words = [corpus.words[token] for token in corpus.tokens[span].tolist()]
    return words, [] if corpus.tags is None else [names[code] for code in corpus.tags[span].tolist()]


def _tsv_lines(corpus: Corpus, column: str) -> Iterator[str]:
    names = [*corpus.tagset, "_"]  # NO_TAG is the last
    yield f"{_HEADER} form\n" if corpus.tags is None else f"{_HEADER} form\t{column}\n"
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
