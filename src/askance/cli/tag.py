"""`askance tag` and `askance evaluate`: what a trained tagger says, and how good it is."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askance.cli.output import print_json, print_table
from askance.cli.outputs import refuse_inputs
from askance.cli.progress import progress
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.text.text_format import TextFormat

_FILE = click.Path(path_type=Path)
_TOOLS = ("doccano", "label-studio", "prodigy")
# Rows of the two tables of `evaluate`.
_MOST_CONFUSIONS = 10


@click.command("tag", short_help="Tag text with a trained tagger.")
@click.argument("model", type=_FILE)
@click.argument("input", type=_FILE, required=False)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["text", "tsv", "conllu", "jsonl", *_TOOLS]),
    help="of INPUT  [default: by its name, JSON also by its fields; text on standard input]",
)
@click.option("-o", "--output", metavar="FILE", type=_FILE, help="where tags go  [default: standard output]")
@click.option(
    "--to",
    "target",
    type=click.Choice(["tsv", "jsonl", *_TOOLS]),
    help="format of the output: TSV, JSON lines, or what an annotation tool imports  [default: tsv]",
)
@click.option("--json", "as_json", is_flag=True, help="one JSON object a sentence, as --to jsonl")
def tag_command(
    model: Path, input: Path | None, kind: str | None, output: Path | None, target: TextFormat | None, as_json: bool
) -> None:
    """Tag the sentences of INPUT (or of standard input) with MODEL, a file of `askance train`.

    Text has one sentence a line, tokens separated by spaces. The output is TSV: word and tag, an empty line after each
    sentence. For an annotation tool it is spans to be corrected: one for each word, or for each entity where all tags
    are B-…, I-… or O. Examples:

        askance tag tagger.askance news.txt

        echo "the dog barks" | askance tag tagger.askance

        askance tag tagger.askance news.txt --to label-studio -o tasks.json
    """
    from askance.formats.disk import write_whole
    from askance.text.tagged_text import read_sentences, tagged_lines
    from askance.text.tagger import CountTagger

    if as_json and target not in (None, "jsonl"):
        raise InputError(f"--json is given with --to {target}; allowed: one of them.", remedy="Leave --json out.")
    written = target or ("jsonl" if as_json else "tsv")
    if output is not None:
        refuse_inputs(output, [model, *([] if input is None else [input])])
    with progress() as doing:
        doing(f"reading {model}")
        tagger = CountTagger.load(model)
        doing("reading sentences")
        corpus = read_sentences(sys.stdin.buffer if input is None else input, format=kind)
        doing("tagging")
        tagged = corpus.with_tags(tagger.predict_codes(corpus), tagger.tagset)
        text = "".join(tagged_lines(tagged, written))
        if output is not None:
            write_whole(output, text.encode("utf-8"))
    if output is None:
        click.echo(text, nl=False)


@click.command("evaluate", short_help="Compare a tagger with true tags.")
@click.argument("model", type=_FILE)
@click.argument("gold", type=_FILE)
@click.option("--tag-column", metavar="NAME|NUMBER", help="of the true tags  [default: the first tag column]")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="of the interval")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def evaluate_command(model: Path, gold: Path, tag_column: str | None, confidence: float, as_json: bool) -> None:
    """Tag the sentences of GOLD with MODEL and compare with their true tags.

    The interval of the accuracy takes sentences as drawn at random: the words of one are right or wrong together.
    Example:

        askance evaluate tagger.askance test.tsv
    """
    from askance.estimation.fit import normal_quantile
    from askance.text.tagged_text import read_tagged
    from askance.text.tagger import CountTagger

    normal_quantile(confidence)  # refused before any work is done
    with progress() as doing:
        doing(f"reading {model}")
        tagger = CountTagger.load(model)
        doing(f"reading {gold}")
        corpus = read_tagged(gold, tag_column=tag_column)
        doing("tagging")
        if corpus.tags is None:
            raise InputError(f"{gold} has no tags.", remedy="Give a file of words and tags, separated by tabs.")
        found = tagger.evaluate(corpus)
    if as_json:
        print_json(found.to_json(confidence))
        return
    lower, upper = found.interval(confidence)
    unknown = f"{found.unknown_word_accuracy:.4f}" if found.unknown_tokens else "none seen"
    rows = [
        ("accuracy", f"{found.accuracy:.4f}"),
        (f"{100 * confidence:g} % interval", "unknown" if math.isnan(lower) else f"{lower:.4f} … {upper:.4f}"),
        ("unknown words", f"{unknown} ({found.unknown_tokens:,} tokens)"),
        ("tokens", f"{found.tokens:,} in {found.sentences:,} sentences"),
    ]
    print_table(f"{model} on {gold}", ["", ""], rows)
    scores = [
        (s.tag, f"{s.precision:.3f}", f"{s.recall:.3f}", f"{s.f1:.3f}", f"{s.tokens:,}") for s in found.tags if s.tokens
    ]
    print_table("by tag", ["tag", "precision", "recall", "F1", "tokens"], scores)
    mistakes = [(true, told, f"{count:,}") for true, told, count in found.confusions[:_MOST_CONFUSIONS]]
    if mistakes:
        print_table("most frequent mistakes", ["true", "given", "tokens"], mistakes)
