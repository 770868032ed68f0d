"""`askance regions`: counts of tags in stretches of a labelled corpus."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from askance.cli.shared.guided import command
from askance.cli.shared.numbers import WholeNumber
from askance.cli.shared.options import FILE, JSON_SUMMARY, option, seed_option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import OutputFile
from askance.cli.text.labelled_options import tag_column_option
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.text.corpus.regions import RegionCounts
    from askance.text.counts.identifiability import Identifiability


@command(
    "regions",
    "Count tags in stretches of a labelled corpus.",
    examples=[
        "askance regions train.tsv --window 5 --tags all -o regions.jsonl",
        "askance regions train.conllu --window sentence --tags NOUN,VERB --tag-column upos -o regions.jsonl",
        "askance regions train.tsv --window 3 --per-sentence 2 --check -o regions.jsonl",
    ],
)
@click.argument("corpus", type=FILE)
@option(
    "--window W",
    "length of a region in tokens, or `sentence` for whole sentences; shorter sentences are taken whole",
    required=True,
)
@option(
    "--tags T",
    "what is counted: `all` tags, a number of tags drawn anew for each region, or tags such as NN,VB",
    default="all",
)
@option(
    "--per-sentence M", "how many regions of each sentence", WholeNumber(1, 10**6, "Leave it out, for 1."), default=1
)
@seed_option()
@tag_column_option("CORPUS with the tags")
@option(
    "-o, --output FILE",
    "where regions go (.jsonl, .jsonl.gz)",
    OutputFile("file of regions", ".jsonl", ".jsonl.gz"),
    required=True,
)
@option(
    "--check",
    "tell as well for which words the counts determine how often they have a tag, and which words to ask next",
)
@JSON_SUMMARY
def regions_command(
    corpus: Path,
    window: str,
    tags: str,
    per_sentence: int,
    seed: int,
    tag_column: str | None,
    output: Path,
    check: bool,
    as_json: bool,
) -> None:
    """Make region counts from CORPUS, a labelled file (.tsv, .conllu or .jsonl, also with .gz).

    Each region is a stretch of a sentence, drawn at random, with the number of times that tags appear in it: what an
    annotator would tell who counts instead of labelling. `askance train` learns a tagger from them. Where tags have
    commas in them, put them in double quotes, as in a CSV file.
    """
    import numpy as np

    from askance.text.corpus.region_sampling import sample_regions
    from askance.text.counts.identifiability import identifiability
    from askance.text.io.region_file import write_regions
    from askance.text.io.tagged_text import read_tagged

    size = _read_window(window)
    with working(f"reading {corpus}") as (_, doing):
        read = read_tagged(corpus, tag_column=tag_column)
        doing("counting")
        rng = np.random.default_rng(seed)
        regions = sample_regions(read, window=size, tags=_read_tags(tags), per_sentence=per_sentence, rng=rng)
        write_regions(output, regions)
        if check:
            doing("checking what the counts determine")
        found = identifiability(regions) if check else None
    _print(regions, {"window": window, "tags": tags, "seed": seed, "output": str(output)}, found, as_json)


def _read_window(text: str) -> int | None:
    if text == "sentence":
        return None
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < 1:
        raise InputError(
            f"--window is {text!r}; allowed: a whole number from 1, or 'sentence'.", remedy="Give 5, for example."
        )
    return int(text)


def _read_tags(text: str) -> Literal["all"] | int | list[str]:
    if text == "all":
        return "all"
    if re.fullmatch("[0-9]{1,9}", text):
        return int(text)
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise InputError(
            f"--tags is {text!r} ({error}); allowed: all, a number, or tags separated by commas.",
            remedy="Put a tag with a comma or quote into double quotes, as in CSV.",
        ) from None


def _print(regions: RegionCounts, asked: dict[str, object], found: Identifiability | None, as_json: bool) -> None:
    corpus, tokens = regions.corpus, int(regions.lengths.sum())
    content = {
        "regions": len(regions),
        "sentences": len(corpus),
        "tokens": corpus.n_tokens,
        "tokens_in_regions": tokens,
        "tagset": list(regions.tagset),
        **asked,
    }
    rows = [
        ("regions", f"{len(regions):,}, of {tokens / max(1, len(regions)):.1f} tokens on average"),
        ("sentences", f"{len(corpus):,}, with {corpus.n_tokens:,} tokens"),
        ("tags", f"{asked['tags']} of {len(regions.tagset)}"),
        ("window", str(asked["window"])),
        ("seed", str(asked["seed"])),
    ]
    more = {} if found is None else {"identifiability": found.to_json()}
    show(Card(f"regions written to {asked['output']}", rows, {**content, **more}), as_json)
    if found is not None and not as_json:
        click.echo(found.summary())
