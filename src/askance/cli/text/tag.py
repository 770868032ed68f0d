"""`askance tag`: what a trained tagger says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askance._checks import one_of
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, Choice, option
from askance.cli.shared.printing import print_file
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import OutputFile
from askance.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from askance.text.io.text_format import TextFormat
    from askance.text.tagger.tagger import CountTagger

_TOOLS = ("doccano", "label-studio", "prodigy")
# What files with such endings may hold, the usual first; other endings tell nothing.
_FORMATS_OF: dict[str, tuple[TextFormat, ...]] = {
    ".tsv": ("tsv",),
    ".tab": ("tsv",),
    ".conllu": ("conllu",),
    ".jsonl": ("jsonl", "doccano", "prodigy"),
    ".ndjson": ("jsonl", "doccano", "prodigy"),
    ".json": ("label-studio", "doccano", "prodigy"),
}


@command(
    "tag",
    "Tag text with a trained tagger.",
    examples=[
        "askance tag tagger.askance news.txt",
        'echo "the dog barks" | askance tag tagger.askance',
        "askance tag tagger.askance news.txt --to label-studio -o tasks.json",
        "askance tag tagger.askance news.conllu -o tagged.conllu",
    ],
)
@click.argument("model", type=FILE)
@click.argument("input", type=FILE, required=False)
@option("-o, --output FILE", "where tags go  [default: standard output]", OutputFile("text"))
@option(
    "--to",
    "format of the output: TSV, CoNLL-U (tags as UPOS), JSON lines, or what an annotation tool imports  "
    "[default: by FILE's name, or tsv]",
    Choice(["tsv", "conllu", "jsonl", *_TOOLS]),
    name="target",
)
@option(
    "--format",
    "format of INPUT  [default: by its name, JSON also by its fields; text on standard input]",
    Choice(["text", "tsv", "conllu", "jsonl", *_TOOLS]),
    name="kind",
)
@option("--outside TAG", "for an annotation tool: words with this tag get no span  [default: O beside B-… and I-…]")
@option("--json", "print one JSON object a sentence, as --to jsonl", name="as_json")
def tag_command(
    model: Path,
    input: Path | None,
    kind: str | None,
    output: Path | None,
    target: TextFormat | None,
    *,
    outside: str | None,
    as_json: bool,
) -> None:
    """Tag the sentences of INPUT (or of standard input) with MODEL, a file of `askance train`.

    Text has one sentence a line, tokens separated by white space. The output is TSV: word and tag, an empty line after
    each sentence. CoNLL-U that is written as CoNLL-U keeps all of its lines, and only UPOS changes. For an annotation
    tool the output is spans to be corrected: one for each word, or for each entity where all tags are B-…, I-… or O.
    """
    from askance.text.io.lines import line_writer
    from askance.text.tagger.tagger import CountTagger

    if as_json and target not in (None, "jsonl"):
        raise InputError(f"--json is given with --to {target}; allowed: one of them.", remedy="Leave --json out.")
    written = _written_format(output, target or ("jsonl" if as_json else None))
    if outside is not None and written not in _TOOLS:
        raise InputError(
            f"--outside is given, and the output is {written}.", remedy="Leave it out, or write --to doccano."
        )
    with working(f"reading {model}") as doing:
        tagger = CountTagger.load(model)
        doing("tagging sentences")
        text = "".join(_tagged(tagger, input, kind, written, outside))
        if output is not None:
            with line_writer(output) as file:
                file.write(text.encode("utf-8"))
    if output is None:
        print_file(text)


def _tagged(
    tagger: CountTagger, input: Path | None, kind: str | None, written: TextFormat, outside: str | None
) -> Iterator[str]:
    """The text of the output."""
    from askance.text.io.annotation_tools import annotation_lines
    from askance.text.io.conllu import ConlluDocument
    from askance.text.io.lines import OpenText
    from askance.text.io.tagged_text import read_sentences, tagged_lines
    from askance.text.io.text_format import format_within, tool_of_format

    if input is None and sys.stdin is None:
        raise InputError("standard input is closed.", remedy="Name a file of text.")
    text = OpenText(sys.stdin.buffer if input is None else input)
    read = kind or ("text" if input is None else None)
    if written == "conllu" and format_within(text, read) == "conllu":
        document = ConlluDocument.read(text)
        return document.tagged(tagger.predict_codes(document.corpus), tagger.tagset)
    corpus = read_sentences(text, format=read)
    tagged = corpus.with_tags(tagger.predict_codes(corpus), tagger.tagset)
    if tool := tool_of_format(written):
        if outside is not None:
            one_of(outside, tagger.tagset, "outside")
        return annotation_lines(tagged, tool, outside=outside)
    return tagged_lines(tagged, written)


def _written_format(output: Path | None, asked: TextFormat | None) -> TextFormat:
    """The format that is asked for, or that the name of the output tells; refused where they contradict."""
    endings = [] if output is None else [suffix.lower() for suffix in output.suffixes if suffix.lower() != ".gz"]
    ending = endings[-1] if endings else ""
    known = _FORMATS_OF.get(ending)
    if known is None:  # a name that tells nothing
        return asked or "tsv"
    if asked in known:
        return asked
    if asked is None and known[0] in ("tsv", "conllu", "jsonl"):  # whose files a tool would not be meant by
        return known[0]
    what = f"--to is {asked}" if asked else "--to is not given"
    raise InputError(
        f"{what}, and the output is called {output}; allowed with {ending}: {', '.join(known)}.",
        remedy="Change the name, or --to.",
    )
