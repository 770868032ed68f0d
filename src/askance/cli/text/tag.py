"""`askance tag` and `askance evaluate`: what a trained tagger says, and how good it is."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, confidence_option, option
from askance.cli.shared.printing import print_file, print_json, print_table
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import Place
from askance.cli.text.labelled_options import refuse_idle, span_options, tag_column_option
from askance.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from askance.text.io.annotation_spans import Scheme
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
# Rows of the two tables of `evaluate`.
_MOST_CONFUSIONS = 10


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
@option("-o, --output FILE", "where tags go  [default: standard output]", Place("text"))
@option(
    "--to",
    "format of the output: TSV, CoNLL-U (tags as UPOS), JSON lines, or what an annotation tool imports  "
    "[default: by FILE's name, or tsv]",
    click.Choice(["tsv", "conllu", "jsonl", *_TOOLS]),
    name="target",
)
@option(
    "--format",
    "format of INPUT  [default: by its name, JSON also by its fields; text on standard input]",
    click.Choice(["text", "tsv", "conllu", "jsonl", *_TOOLS]),
    name="kind",
)
@option("--json", "print one JSON object a sentence, as --to jsonl", name="as_json")
def tag_command(
    model: Path, input: Path | None, kind: str | None, output: Path | None, target: TextFormat | None, as_json: bool
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
    with working(f"reading {model}") as (_, doing):
        tagger = CountTagger.load(model)
        doing("tagging sentences")
        text = "".join(_tagged(tagger, input, kind, written))
        if output is not None:
            with line_writer(output) as file:
                file.write(text.encode("utf-8"))
    if output is None:
        print_file(text)


def _tagged(tagger: CountTagger, input: Path | None, kind: str | None, written: TextFormat) -> Iterator[str]:
    """The text of the output."""
    from askance.text.io.conllu import ConlluDocument
    from askance.text.io.lines import OpenText
    from askance.text.io.tagged_text import read_sentences, tagged_lines
    from askance.text.io.text_format import format_within

    if input is None and sys.stdin is None:
        raise InputError("standard input is closed.", remedy="Name a file of text.")
    text = OpenText(sys.stdin.buffer if input is None else input)
    read = kind or ("text" if input is None else None)
    if written == "conllu" and format_within(text, read) == "conllu":
        document = ConlluDocument.read(text)
        return document.tagged(tagger.predict_codes(document.corpus), tagger.tagset)
    corpus = read_sentences(text, format=read)
    return tagged_lines(corpus.with_tags(tagger.predict_codes(corpus), tagger.tagset), written)


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


@command(
    "evaluate",
    "Compare a tagger with true tags.",
    examples=[
        "askance evaluate tagger.askance test.tsv",
        "askance evaluate tagger.askance test.conllu --tag-column xpos --json",
    ],
)
@click.argument("model", type=FILE)
@click.argument("gold", type=FILE)
@tag_column_option("GOLD with the true tags")
@span_options
@confidence_option("confidence of the interval of the accuracy, above 0 and below 1")
@JSON
def evaluate_command(
    model: Path,
    gold: Path,
    tag_column: str | None,
    scheme: Scheme | None,
    outside: str | None,
    confidence: float,
    as_json: bool,
) -> None:
    """Tag the sentences of GOLD with MODEL and compare with their true tags.

    GOLD is .tsv, .conllu or .jsonl, or a file of an annotation tool, read as `askance train --labelled` reads it. The
    interval of the accuracy takes sentences as drawn at random: the words of one are right or wrong together.
    """
    from askance.estimation.results.fit import normal_quantile
    from askance.text.io.training_files import LabelledFiles
    from askance.text.tagger.tagger import CountTagger

    normal_quantile(confidence)  # refused before any work is done
    with working(f"reading {model}") as (told, doing):
        tagger = CountTagger.load(model)
        doing(f"reading {gold}")
        labels = LabelledFiles(tag_column, scheme, outside)
        corpus = labels.read(gold, tagger.tagset)
        refuse_idle(labels)
        doing("tagging")
        if corpus.tags is None:
            raise InputError(
                f"{gold} has no tags.",
                remedy="Give words and their tags in columns that are separated by tabs (.tsv); plain text (.txt) has "
                "no tags.",
            )
        found = tagger.evaluate(corpus)
    if as_json:
        print_json({**found.to_json(confidence), "left_out": labels.left_out, "warnings": told})
        return
    lower, upper = found.interval(confidence)
    unknown = f"{found.unknown_word_accuracy:.4f}" if found.unknown_tokens else "none seen"
    rows = [
        ("accuracy", f"{found.accuracy:.4f}"),
        (f"{100 * confidence:g} % interval", "unknown" if math.isnan(lower) else f"{lower:.4f} … {upper:.4f}"),
        ("unknown words", f"{unknown} ({found.unknown_tokens:,} tokens)"),
        ("tokens", f"{found.tokens:,} in {found.sentences:,} sentences"),
    ]
    if labels.left_out:
        rows.append(("left out", f"{labels.left_out:,} annotations"))
    print_table(f"{model} on {gold}", ["", ""], rows)
    scores = [
        (s.tag, *(_share(value) for value in (s.precision, s.recall, s.f1)), f"{s.tokens:,}")
        for s in found.tags
        if s.tokens or not math.isnan(s.precision)  # which a tag has that was given
    ]
    print_table("by tag", ["tag", "precision", "recall", "F1", "tokens"], scores)
    mistakes = [(true, told, f"{count:,}") for true, told, count in found.confusions[:_MOST_CONFUSIONS]]
    if mistakes:
        print_table("most frequent mistakes", ["true", "given", "tokens"], mistakes)
    for message in labels.messages:
        click.echo(f"note: {message}")


def _share(value: float) -> str:
    """A share, or a dash where it has no meaning."""
    return "–" if math.isnan(value) else f"{value:.3f}"
