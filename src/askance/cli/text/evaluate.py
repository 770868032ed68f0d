"""`askance evaluate`: how good a trained tagger is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, confidence_option, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import working
from askance.cli.text.labelled_options import refuse_idle, span_options, tag_column_option
from askance.errors import InputError

# Rows of the table of mistakes.
_MOST_CONFUSIONS = 10


@command(
    "evaluate",
    "Compare a tagger with true tags.",
    examples=[
        "askance evaluate tagger.askance test.tsv",
        "askance evaluate tagger.askance test.conllu --tag-column xpos --json",
        "askance evaluate nouns.askance test.tsv --rest OTHER",
    ],
)
@click.argument("model", type=FILE)
@click.argument("gold", type=FILE)
@tag_column_option("GOLD with the true tags")
@span_options
@option("--rest TAG", "the tag of MODEL that stands for all tags of GOLD which MODEL does not know")
@confidence_option("confidence of the interval of the accuracy, above 0 and below 1")
@JSON
def evaluate_command(model: Path, gold: Path, rest: str | None, confidence: float, **labels_as: Any) -> None:
    """Tag the sentences of GOLD with MODEL and compare with their true tags.

    GOLD is .tsv, .conllu or .jsonl, or a file of an annotation tool, read as `askance train --labelled` reads it. The
    interval of the accuracy takes sentences as drawn at random: the words of one are right or wrong together.
    """
    from askance.text.io.training_files import NO_TAGS, LabelledFiles
    from askance.text.tagger.tagger import CountTagger

    with working(f"reading {model}") as doing:
        tagger = CountTagger.load(model)
        doing(f"reading {gold}")
        labels = LabelledFiles(**labels_as)
        if rest is not None and rest not in tagger.tagset:
            raise InputError(
                f"--rest is {rest!r}; allowed: {', '.join(tagger.tagset)}.",
                remedy="Give the name that words without any of the tags had when they were counted.",
            )
        corpus = labels.read(gold, tagger.tagset)
        refuse_idle(labels)
        doing("tagging")
        if corpus.tags is None:
            raise InputError(f"{gold} has no tags.", remedy=NO_TAGS)
        scores = tagger.evaluate(corpus if rest is None else corpus.with_rest(tagger.tagset, rest))
    left_out = [("left out", f"{labels.left_out:,} annotations")] if labels.left_out else []
    content = {**scores.to_json(confidence), "left_out": labels.left_out}
    mistakes = [(true, told, f"{count:,}") for true, told, count in scores.confusions[:_MOST_CONFUSIONS]]
    others = [Card("by tag", scores.tag_rows(), {}, ("tag", "precision", "recall", "F1", "tokens"))]
    if mistakes:
        others.append(Card("most frequent mistakes", mistakes, {}, ("true", "given", "tokens")))
    card = Card(f"{model} on {gold}", [*scores.rows(confidence), *left_out], content, others=others)
    show(card, below=[f"note: {message}" for message in labels.messages])
