"""CoNLL-U: ten columns; comments, multiword ranges (1-2) and empty nodes (1.1) are no words.

`# sent_id = …` names sentences. A `ConlluDocument` keeps the whole file, so that other tags can be put into it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy.typing as npt

from askance._checks import shown
from askance.errors import FormatError
from askance.text.corpus.corpus import Corpus, CorpusBuilder
from askance.text.io.lines import Source, lines_with_ends, name_of, without_end
from askance.text.io.text_notes import TextNotes
from askance.text.io.writable_text import require_tags_writable

#: The columns.
COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")

_FORM, _UPOS = 1, 3
_SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(.*?)\s*")
_LEFT_OUT = re.compile(r"[0-9]+[-.][0-9]+")


def read_conllu(
    lines: Iterable[tuple[int, str]], name: str, column: int, notes: TextNotes
) -> Iterator[tuple[str, list[str], list[str | None]]]:
    """Id, words and tags, of that column from 0, of every sentence; notes take what was tidied."""
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
        if len(cells) != len(COLUMNS):
            raise FormatError(
                f"{name}, line {number} has {len(cells)} cells; allowed: {len(COLUMNS)}.",
                remedy="Separate the ten columns by tabs and write _ for those that are missing, or give words and "
                "tags alone in two columns, as .tsv.",
            )
        if cells[0] != str(len(words) + 1):
            if _LEFT_OUT.fullmatch(cells[0]):
                continue
            raise FormatError(
                f"{name}, line {number} has the ID {shown(cells[0])}; allowed: {len(words) + 1}, a range or decimal.",
                remedy="Number the words of a sentence from 1, and end sentences by empty lines.",
            )
        if not cells[_FORM]:
            raise FormatError(f"{name}, line {number} has no word.", remedy="Fill the cell FORM.")
        words.append(notes.tidy(cells[_FORM], number))
        tags.append(notes.tidy(cells[column], number).strip())
    if words:
        yield id, words, tags


@dataclass(frozen=True, eq=False)
class ConlluDocument:
    """A CoNLL-U file with all its lines.

    >>> import io
    >>> row = "1\\tdog\\tdog\\tX\\tNN\\t_\\t0\\troot\\t_\\tSpaceAfter=No\\n"
    >>> document = ConlluDocument.read(io.BytesIO(f"# text = dog\\n{row}\\n".encode()))
    >>> print("".join(document.tagged([0], ["NOUN"])).replace("\\t", " "))
    # text = dog
    1 dog dog NOUN NN _ 0 root _ SpaceAfter=No
    <BLANKLINE>
    """

    corpus: Corpus  # its sentences, without tags
    lines: tuple[str, ...]  # as they are in the file, with their ends

    @classmethod
    def read(cls, source: Source) -> ConlluDocument:
        """From a path, also of a gzipped file, or an open file of bytes; read once, so that it may be a pipe."""
        kept: list[str] = []

        def keeping() -> Iterator[tuple[int, str]]:
            for number, line in lines_with_ends(source):
                kept.append(line)
                yield number, without_end(line)

        name = name_of(source)
        notes, builder = TextNotes(name), CorpusBuilder()
        for id, words, _ in read_conllu(keeping(), name, _UPOS, notes):
            builder.add(words, None, id)
        builder.require_sentences(name)
        notes.warn(2)
        return cls(builder.build(), tuple(kept))

    def tagged(self, codes: npt.ArrayLike, tagset: Sequence[str]) -> Iterator[str]:
        """All lines as they are, but with these tags in the column UPOS of words: codes in a tag set, shape (N,)."""
        tagged = self.corpus.with_tags(codes, tagset)
        require_tags_writable(tagset, "conllu")
        assert tagged.tags is not None
        return self._lines_with(tagset[code] for code in tagged.tags.tolist())

    def _lines_with(self, tags: Iterator[str]) -> Iterator[str]:
        for line in self.lines:
            if line[0] == "#" or line.isspace():
                yield line
                continue
            cells = line.split("\t")
            if not _LEFT_OUT.fullmatch(cells[0]):
                cells[_UPOS] = next(tags)
            yield "\t".join(cells)
