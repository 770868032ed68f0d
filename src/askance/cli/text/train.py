"""`askance train`: a tagger from counts, labels, or both."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.cli.shared.guided import command
from askance.cli.shared.numbers import NUMBER, WholeNumber
from askance.cli.shared.options import FILE, JSON, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import Place
from askance.cli.text.labelled_options import refuse_idle, span_options, tag_column_option
from askance.cli.text.tagger_values import percent, rate_fields, rates_of, read_classes, read_miscounts
from askance.errors import EmptyDataError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from askance.text.corpus.regions import RegionCounts
    from askance.text.counts.identifiability import Unsettled
    from askance.text.tagger.tagger import CountTagger

# Weights of labels beyond this are refused.
_HEAVIEST = 1e12


@command(
    "train",
    "Train a tagger from counts of tags.",
    sections={
        "More to learn from": [
            "labelled",
            "labelled_weight",
            "bare",
            "bare_weight",
            "classes",
            "tag_column",
            "scheme",
            "outside",
        ],
        "How it is learned": ["method", "miscounts", "radius", "edges", "l2", "l1"],
    },
    examples=[
        "askance train regions.jsonl -o tagger.askance",
        "askance train regions.jsonl --labelled few.tsv --dev dev.jsonl -o tagger.askance",
        "askance train regions.jsonl --miscounts estimate --radius 1 -o tagger.askance",
        "askance train regions.jsonl --labelled export.jsonl --scheme bio --outside O -o tagger.askance",
    ],
)
@click.argument("regions", type=FILE, nargs=-1, required=True)
@option("-o, --output MODEL", "where the tagger goes", Place("tagger"), required=True)
@option(
    "--dev FILE", "regions or labelled sentences to learn nothing from: training stops when it gets worse on them", FILE
)
@option("--skip-bad", "leave bad lines out and count them, instead of stopping at the first")
@JSON
@option("--labelled FILE", "labelled sentences to learn from as well (repeatable)", FILE, multiple=True)
@option("--labelled-weight W", "how many regions each label counts for, 0 or more  [default: 1]", NUMBER)
@option(
    "--bare FILE",
    "text without tags (repeatable): a chain puts words into classes by the company they keep",
    FILE,
    multiple=True,
)
@option("--bare-weight W", "how much bare sentences count for these classes, 0 or more  [default: 1]", NUMBER)
@option(
    "--classes N,…",
    "how many such classes: one number, several (coarse and fine), or none  [default: 40,150 with --bare, else none]",
)
@tag_column_option("labelled files with the tags")
@span_options
@option(
    "--method NAME",
    "chain (tags of neighbours matter), node (each word by itself), moments (as node, by least squares: quick), "
    "or auto: chain, or node where no neighbours are seen",
    default="auto",
)
@option(
    "--miscounts M,Q",
    "counts may be wrong: a token is missed with probability M, one counted too many with Q; or `estimate`, from "
    "regions that were counted twice",
)
@option(
    "--radius N",
    "words on each side that a chain looks at, 0 to 5  [default: 1 from 10,000 tokens on, else 0]",
    WholeNumber(),
)
@option(
    "--edges NAME",
    "how a chain learns which tag follows which: likelihood, or cheap (quicker, a little worse)  "
    "[default: cheap where likelihood would take an hour]",
)
@option("--l2 λ", "strength of the penalty λ/2 ‖θ‖² on scores, above 0  [default: 0.3 to 1]", NUMBER)
@option(
    "--l1 μ", "strength of the penalty μ ‖θ‖₁ of a chain, 0 or more: scores not worth it become 0", NUMBER, default=0.0
)
def train_command(
    regions: tuple[Path, ...], output: Path, dev: Path | None, skip_bad: bool, as_json: bool, **given: Any
) -> None:
    """Train a tagger on REGIONS, files of counts (regions/1, JSON lines).

    A region is a stretch of a sentence with the number of times that tags appear in it. `askance questions --read`
    makes such files from filled sheets, `askance regions` from labelled text. `askance tag` uses the tagger, `askance
    evaluate` measures it. There is no chance in training: the same files give the same tagger.
    """
    from askance.text.io.region_file import read_regions
    from askance.text.io.training_files import LabelledFiles, join_known, read_held_out, require_region_files

    _refuse_combinations(dev, given)
    tagger = _new_tagger(given)
    require_region_files(regions)
    labels = LabelledFiles(given["tag_column"], given["scheme"], given["outside"], skip_bad)
    may_miscount = given["miscounts"] is not None
    weight = 1.0 if given["labelled_weight"] is None else given["labelled_weight"]
    with working("reading regions") as (told, doing):
        read = read_regions(regions, skip_bad=skip_bad, may_miscount=may_miscount)
        known = join_known(read, labels, given["labelled"], given["bare"], weight=weight, doing=doing)
        held_out = None if dev is None else read_held_out(dev, labels, read, skip_bad, may_miscount)
        refuse_idle(labels)
        tagger.fit(known, held_out=held_out, progress=_by_tenths(doing))
        doing("writing")
        tagger.save(output)
        open_words = _unsettled(known)
    assert tagger.training is not None
    left_out = read.n_bad + labels.left_out
    rates = {name: rate_fields(rate) for name, rate in rates_of(tagger).items()}
    unsettled = None if open_words is None else open_words._asdict()
    found = {"output": str(output), "left_out": left_out, **tagger.training.to_json(), "miscounts": rates}
    rows = [*_rows(tagger, open_words), ("left out", f"{left_out:,}")]
    content = {**found, "unsettled": unsettled, "warnings": told}
    show(Card(f"tagger written to {output}", rows, content, (*read.messages, *labels.messages)), as_json)


def _new_tagger(given: dict[str, Any]) -> CountTagger:
    """The tagger that the options describe, not trained yet."""
    from askance.text.tagger.tagger import CountTagger

    return CountTagger(
        given["method"],
        l2=given["l2"],
        l1=given["l1"],
        radius=given["radius"],
        edges=given["edges"],
        miscounts=read_miscounts(given["miscounts"]),
        classes=read_classes(given["classes"], bool(given["bare"])),
        bare_weight=1.0 if given["bare_weight"] is None else given["bare_weight"],
    )


def _unsettled(known: RegionCounts) -> Unsettled | None:
    """What counts and labels leave open of words; None where that is not known, or nothing was asked."""
    from askance.text.counts.identifiability import unsettled_words

    try:
        return unsettled_words(known)
    except EmptyDataError:  # a tagger can be made of nothing, and warns of it
        return None


def _rows(tagger: CountTagger, unsettled: Unsettled | None) -> list[tuple[str, str]]:
    """What came of it: what was given, what was learned, how well it fits."""
    training = tagger.training
    assert training is not None
    known = training.regions + training.labelled_tokens + training.single_tokens
    rows = [
        ("method", training.method),
        ("tags", f"{len(tagger.tagset)}: {', '.join(tagger.tagset[:12])}{', …' if len(tagger.tagset) > 12 else ''}"),
        ("regions", f"{training.regions:,} of two words or more"),
        ("labelled tokens", f"{training.labelled_tokens:,}"),
    ]
    if training.single_tokens:
        rows.append(("other single tokens", f"{training.single_tokens:,}, of which something else is known"))
    rows += [
        ("tokens in all of them", f"{training.tokens:,}"),
        ("different words", f"{training.types:,}"),
    ]
    if unsettled is not None and unsettled.words:
        left = f"{unsettled.words:,} with {unsettled.tokens:,} tokens"
        rows.append(("not settled by counts", f"{left}: by what words have in common"))
    rows.append(("features", f"{training.features:,}"))
    if tagger.l1 > 0:
        rows.append(("scores other than 0", f"{(tagger.theta != 0).sum():,} of {tagger.theta.size:,}"))
    if training.edges != "none":
        weight = f", weight {training.edge_weight:g}" if training.edges == "cheap" else ""
        rows.append(("edges", training.edges + weight))
    rows.append(("iterations", f"{training.iterations}{'' if training.converged else ' (not converged)'}"))
    if training.method != "moments":
        rows.append(("exact regions", f"{training.exact_regions:,} of {known:,}, single tokens included"))
        rows.append(("log-likelihood per region", f"{training.log_likelihood:.4f}"))
    if not math.isnan(training.held_out):
        stopped = " (stopped early)" if training.stopped_early else ""
        rows.append(("held out, per region", f"{training.held_out:.4f}{stopped}"))
    for name, rates in rates_of(tagger).items():
        who = f"{name} miscounts" if name else "miscounts"
        missed, extra = (percent(rates, name) for name in ("missed", "extra"))
        rows.append((who, f"{missed} missed, {extra} one too many"))
    return rows


def _refuse_combinations(dev: Path | None, given: dict[str, Any]) -> None:
    """Options that would do nothing, alone or beside others."""
    method, labelled, bare = given["method"], given["labelled"], given["bare"]
    other = "--method moments" if method == "moments" else "--edges cheap" if given["edges"] == "cheap" else None
    if dev is not None and other is not None:
        raise InputError(f"--dev is given with {other}, which stops by itself.", remedy="Leave --dev out.")
    of_files = {f"--{name.replace('_', '-')}": given[name] for name in ("tag_column", "scheme", "outside")}
    _refuse_alone(
        {
            "--labelled or --dev": (of_files, labelled or dev),
            "--labelled": ({"--labelled-weight": given["labelled_weight"]}, labelled),
            "--bare": ({"--bare-weight": given["bare_weight"]}, bare),
        }
    )
    of_chains = {"--radius": given["radius"] is not None, "--edges": given["edges"] is not None}
    _refuse_chain_options(
        method,
        {**of_chains, "--l1": given["l1"] > 0, "--bare": bare, "--classes": given["classes"] not in (None, "none")},
    )
    weight = given["labelled_weight"]
    if weight is not None and not 0 <= weight <= _HEAVIEST:
        raise InputError(f"--labelled-weight is {weight:g}; allowed: 0 to {_HEAVIEST:g}.", remedy="1 is usual.")


def _refuse_alone(options: dict[str, tuple[dict[str, object], object]]) -> None:
    """Options given without the files that they are for: by these, the options and the files."""
    for needed, (given, files) in options.items():
        for name, value in given.items():
            if value is not None and not files:
                raise InputError(f"{name} is given without {needed}.", remedy="Leave it out; regions need none.")


def _refuse_chain_options(method: str, given: dict[str, object]) -> None:
    """Options of a chain, given for a method without one."""
    idle = [name for name, is_given in given.items() if is_given]
    if idle and method in ("node", "moments"):
        raise InputError(
            f"{idle[0]} is given with --method {method}, which is no chain.", remedy="Leave it out, or train a chain."
        )


def _by_tenths(doing: Callable[[str], None]) -> Callable[[str, float], None]:
    """Progress in steps of ten percent."""
    last = [""]

    def tell(text: str, share: float) -> None:
        line = f"{text}: {10 * int(10 * share)} %"
        if line != last[0]:
            last[0] = line
            doing(line)

    return tell
