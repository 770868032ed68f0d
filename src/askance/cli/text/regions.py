"""`askance regions`: counts of tags in stretches of a labelled corpus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON_SUMMARY, Read, WholeNumber, option, read_names, seed_option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import OutputFile
from askance.cli.text.labelled_options import tag_column_option


def _read_window(text: str) -> int | None:
    if text != "sentence" and (not re.fullmatch("[0-9]{1,9}", text) or int(text) < 1):
        raise ValueError(text)
    return None if text == "sentence" else int(text)


def _read_tags(text: str) -> str | int | list[str]:
    return text if text == "all" else int(text) if re.fullmatch("[0-9]{1,9}", text) else read_names(text)


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
    Read(_read_window, "a whole number from 1, or 'sentence'", "Give 5, for example."),
    required=True,
)
@option(
    "--tags T",
    "what is counted: `all` tags, a number of tags drawn anew for each region, or tags such as NN,VB",
    Read(
        _read_tags,
        "all, a number, or tags separated by commas",
        "Put a tag with a comma or quote into double quotes, as in CSV.",
    ),
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
def regions_command(corpus: Path, output: Path, tag_column: str | None, check: bool, seed: int, **flags: Any) -> None:
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

    with working(f"reading {corpus}", in_json=False) as doing:
        read = read_tagged(corpus, tag_column=tag_column)
        doing("counting")
        regions = sample_regions(read, rng=np.random.default_rng(seed), **flags)
        write_regions(output, regions)
        if check:
            doing("checking what the counts determine")
        checked = identifiability(regions) if check else None
    window, tags = "sentence" if flags["window"] is None else str(flags["window"]), flags["tags"]
    sentences, tokens = regions.corpus, int(regions.lengths.sum())
    content = {
        "regions": len(regions),
        "sentences": len(sentences),
        "tokens": sentences.n_tokens,
        "tokens_in_regions": tokens,
        "tagset": regions.tagset,
        "window": window,
        "tags": ",".join(tags) if isinstance(tags, list) else str(tags),
        "seed": seed,
        "output": str(output),
        **({} if checked is None else {"identifiability": checked.to_json()}),
    }
    rows = [
        ("regions", f"{len(regions):,}, of {tokens / max(1, len(regions)):.1f} tokens on average"),
        ("sentences", f"{len(sentences):,}, with {sentences.n_tokens:,} tokens"),
        ("tags", f"{content['tags']} of {len(regions.tagset)}"),
        ("window", window),
        ("seed", str(seed)),
    ]
    show(Card(f"regions written to {output}", rows, content), below=[] if checked is None else [checked.summary()])
