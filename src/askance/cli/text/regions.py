"""`askance regions`: counts of tags in stretches of a labelled corpus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from askance.cli.shared.guided import GuidedCommand
from askance.cli.shared.numbers import SEED, WholeNumber
from askance.cli.shared.printing import print_json, print_table
from askance.cli.shared.progress import one_line_warnings, progress
from askance.cli.shared.write_guards import refuse_inputs, refuse_other, require_writable
from askance.cli.text.labelled import FILE, names_of, tag_column_option
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.text.corpus.regions import RegionCounts
    from askance.text.counts.identifiability import Identifiability


@click.command(
    "regions",
    cls=GuidedCommand,
    short_help="Count tags in stretches of a labelled corpus.",
    examples=[
        "askance regions train.tsv --window 5 --tags all -o regions.jsonl",
        "askance regions train.conllu --window sentence --tags NOUN,VERB --tag-column upos -o regions.jsonl",
        "askance regions train.tsv --window 3 --per-sentence 2 --check -o regions.jsonl",
    ],
)
@click.argument("corpus", type=FILE)
@click.option(
    "--window",
    metavar="W",
    required=True,
    help="length of a region in tokens, or `sentence` for whole sentences; shorter sentences are taken whole",
)
@click.option(
    "--tags",
    metavar="T",
    default="all",
    show_default=True,
    help="what is counted: `all` tags, a number of tags drawn anew for each region, or tags such as NN,VB",
)
@click.option(
    "--per-sentence",
    metavar="M",
    type=WholeNumber(1, 10**6, "Leave it out, for 1."),
    default=1,
    show_default=True,
    help="how many regions of each sentence",
)
@click.option("--seed", metavar="S", type=SEED, default=0, show_default=True, help="seed of the random numbers")
@tag_column_option("CORPUS with the")
@click.option("-o", "--output", metavar="FILE", type=FILE, required=True, help="where regions go (.jsonl, .jsonl.gz)")
@click.option(
    "--check",
    is_flag=True,
    help="tell as well for which words the counts determine how often they have a tag, and which words to ask next",
)
@click.option("--json", "as_json", is_flag=True, help="print the summary as JSON")
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
    _require_output(output, corpus)
    with one_line_warnings(), progress() as doing:
        doing(f"reading {corpus}")
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
    return names_of(text, "--tags", "all, a number, or tags")


def _require_output(output: Path, corpus: Path) -> None:
    if not output.name.lower().endswith((".jsonl", ".jsonl.gz")):
        raise InputError(
            f"-o is {output}; allowed: a name ending in .jsonl or .jsonl.gz.", remedy="Name it regions.jsonl."
        )
    require_writable(output, "-o")
    refuse_inputs(output, [corpus])
    refuse_other(output, "file of regions")


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
    if as_json:
        print_json(content if found is None else {**content, "identifiability": found.to_json()})
        return
    rows = [
        ("regions", f"{len(regions):,}, of {tokens / max(1, len(regions)):.1f} tokens on average"),
        ("sentences", f"{len(corpus):,}, with {corpus.n_tokens:,} tokens"),
        ("tags", f"{asked['tags']} of {len(regions.tagset)}"),
        ("window", str(asked["window"])),
        ("seed", str(asked["seed"])),
    ]
    print_table(f"regions written to {asked['output']}", ["", ""], rows)
    if found is not None:
        click.echo(found.summary())
