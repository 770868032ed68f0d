"""`askance train`: a tagger from counts, labels, or both."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.cli.shared.guided import GuidedCommand
from askance.cli.shared.numbers import NUMBER, WholeNumber
from askance.cli.shared.printing import print_json, print_table
from askance.cli.shared.progress import one_line_warnings, progress
from askance.cli.shared.write_guards import refuse_inputs, refuse_other, require_writable
from askance.cli.text.labelled import FILE, LabelledFiles, outside_option, scheme_option, tag_column_option
from askance.cli.text.tagger_values import percent, rate_fields, rates_of, read_classes, read_miscounts
from askance.errors import AskanceError, EmptyDataError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from askance.text.corpus.regions import RegionCounts
    from askance.text.counts.identifiability import Unsettled
    from askance.text.io.lines import Source
    from askance.text.io.region_file import RegionFile
    from askance.text.tagger.tagger import CountTagger

# Weights of labels beyond this are refused.
_HEAVIEST = 1e12


@click.command(
    "train",
    cls=GuidedCommand,
    short_help="Train a tagger from counts of tags.",
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
@click.option("-o", "--output", metavar="MODEL", type=FILE, required=True, help="where the tagger goes")
@click.option(
    "--dev",
    metavar="FILE",
    type=FILE,
    help="regions or labelled sentences to learn nothing from: training stops when it gets worse on them",
)
@click.option("--skip-bad", is_flag=True, help="leave bad lines out and count them, instead of stopping at the first")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option(
    "--labelled",
    metavar="FILE",
    type=FILE,
    multiple=True,
    help="labelled sentences to learn from as well (repeatable)",
)
@click.option(
    "--labelled-weight",
    metavar="W",
    type=NUMBER,
    help="how many regions each label counts for, 0 or more  [default: 1]",
)
@click.option(
    "--bare",
    metavar="FILE",
    type=FILE,
    multiple=True,
    help="text without tags (repeatable): a chain puts words into classes by the company they keep",
)
@click.option(
    "--bare-weight",
    metavar="W",
    type=NUMBER,
    help="how much bare sentences count for these classes, 0 or more  [default: 1]",
)
@click.option(
    "--classes",
    metavar="N,…",
    help="how many such classes: one number, several (coarse and fine), or none  [default: 40,150 with --bare, else "
    "none]",
)
@tag_column_option("labelled files with the")
@scheme_option
@outside_option
@click.option(
    "--method",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="chain (tags of neighbours matter), node (each word by itself), moments (as node, by least squares: quick), "
    "or auto: chain, or node where no neighbours are seen",
)
@click.option(
    "--miscounts",
    metavar="M,Q",
    help="counts may be wrong: a token is missed with probability M, one counted too many with Q; or `estimate`, from "
    "regions that were counted twice",
)
@click.option(
    "--radius",
    metavar="N",
    type=WholeNumber(),
    help="words on each side that a chain looks at, 0 to 5  [default: 1 from 10,000 tokens on, else 0]",
)
@click.option(
    "--edges",
    metavar="NAME",
    help="how a chain learns which tag follows which: likelihood, or cheap (quicker, a little worse)  "
    "[default: cheap where likelihood would take an hour]",
)
@click.option(
    "--l2", metavar="λ", type=NUMBER, help="strength of the penalty λ/2 ‖θ‖² on scores, above 0  [default: 0.3 to 1]"
)
@click.option(
    "--l1",
    metavar="μ",
    type=NUMBER,
    default=0.0,
    show_default=True,
    help="strength of the penalty μ ‖θ‖₁ of a chain, 0 or more: scores not worth it become 0",
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

    _refuse_combinations(dev, given)
    tagger = _new_tagger(given)
    _check_places(output, regions, [*given["labelled"], *given["bare"], *([] if dev is None else [dev])])
    labels = LabelledFiles(given["tag_column"], given["scheme"], given["outside"], skip_bad)
    may_miscount = given["miscounts"] is not None
    with one_line_warnings() as told, progress() as doing:
        doing("reading regions")
        read = read_regions(regions, skip_bad=skip_bad, may_miscount=may_miscount)
        known = _joined(read, given, labels, doing)
        held_out = None if dev is None else _held_out(dev, labels, read, skip_bad, may_miscount)
        labels.refuse_idle()
        tagger.fit(known, held_out=held_out, progress=_by_tenths(doing))
        doing("writing")
        tagger.save(output)
        open_words = _unsettled(known)
    left_out = read.n_bad + labels.left_out
    if as_json:
        assert tagger.training is not None
        rates = {name: rate_fields(each) for name, each in rates_of(tagger).items()}
        found = {"output": str(output), "left_out": left_out, **tagger.training.to_json(), "miscounts": rates}
        unsettled = None if open_words is None else open_words._asdict()
        print_json({**found, "unsettled": unsettled, "warnings": told})
        return
    rows = [*_rows(tagger, open_words), ("left out", f"{left_out:,}")]
    print_table(f"tagger written to {output}", ["", ""], rows)
    for message in (*read.messages, *labels.messages):
        click.echo(f"note: {message}")


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


def _check_places(output: Path, regions: tuple[Path, ...], others: Sequence[Path]) -> None:
    """Refuse what cannot be written, or read, before hours of training."""
    refuse_inputs(output, [*regions, *others])
    require_writable(output, "-o")
    refuse_other(output, "tagger")
    _check_region_files(regions)


def _check_region_files(paths: tuple[Path, ...]) -> None:
    """Refuse a file that is given twice, and text that holds no regions."""
    from askance.text.io.lines import OpenText, byte_lines
    from askance.text.io.text_format import format_within

    for number, path in enumerate(paths):
        if any(path.exists() and other.exists() and path.samefile(other) for other in paths[:number]):
            raise InputError(f"{path} is given twice.", remedy="Give every file once; weights make regions count more.")
        if path.suffix.lower() == ".csv":
            raise InputError(
                f"{path} is a table; allowed as REGIONS: files of counts (regions/1).",
                remedy=f"Is it a filled sheet? Then run `askance questions --read {path} -o counts.jsonl`.",
            )
        if path.exists() and not path.is_file():  # a pipe is read once, by whoever reads the regions
            continue
        try:
            kind = format_within(OpenText(path))
            first = next((line for _, line in byte_lines(path) if line.strip()), b"{")
        except AskanceError:  # whoever reads the regions will say what is wrong
            continue
        if kind == "jsonl" or (kind in ("tsv", "conllu", "text") and first.lstrip().startswith(b"{")):
            continue
        what = "text without tags" if kind == "text" else f"labelled text ({kind})"
        use = (
            f"--bare {path}" if kind == "text" else f"--labelled {path}, or make counts from it with `askance regions`"
        )
        raise InputError(
            f"{path} is {what}; allowed as REGIONS: files of counts (regions/1).", remedy=f"Give it as {use}."
        )


def _joined(
    read: RegionFile, given: dict[str, Any], labels: LabelledFiles, doing: Callable[[str], None]
) -> RegionCounts:
    """All that is known: regions, labels of their weight, and sentences of which nothing is."""
    from askance.text.corpus.regions import RegionCounts

    weight = 1.0 if given["labelled_weight"] is None else given["labelled_weight"]
    parts = [read.regions]
    for path in given["labelled"]:
        doing(f"reading {path}")
        parts.append(_labels_of(path, labels, read).with_weight(weight))
    for path in given["bare"]:
        doing(f"reading {path}")
        parts.append(_nothing_of(path, read))
    return RegionCounts.join(parts)


def _nothing_of(path: Path, read: RegionFile) -> RegionCounts:
    """Sentences of which nothing is known, within the same tag set."""
    from askance.text.corpus.regions import RegionCounts
    from askance.text.io.tagged_text import read_sentences

    return RegionCounts.of(read_sentences(path), read.regions.tagset, [])


def _labels_of(source: Source, labels: LabelledFiles, read: RegionFile) -> RegionCounts:
    """Labelled sentences as regions of the same tag set."""
    from askance.text.corpus.regions import RegionCounts
    from askance.text.io.lines import name_of

    path = name_of(source)
    corpus = labels.read(source, read.regions.tagset)
    unknown = sorted(set(corpus.tagset) - set(read.regions.tagset))
    if unknown:
        raise InputError(
            f"{path} has the tag {unknown[0]!r}, which the regions do not know; allowed: one tag set.",
            remedy="Choose another --tag-column (or --scheme), or name all tags in the first line of the regions.",
        )
    known = RegionCounts.of_labels(corpus.with_tagset(read.regions.tagset))
    if not len(known):
        raise InputError(f"{path} has no labels.", remedy="Choose another --tag-column, or leave the file out.")
    return known


def _held_out(path: Path, labels: LabelledFiles, read: RegionFile, skip_bad: bool, may_miscount: bool) -> RegionCounts:
    """Regions, or labelled sentences where the file is no file of regions."""
    from askance.text.io.lines import OpenText
    from askance.text.io.region_file import read_regions
    from askance.text.io.text_format import format_within

    text = OpenText(path)
    if format_within(text) != "jsonl":  # askance's own JSON lines may hold regions, labels, or both
        return _labels_of(text, labels, read)
    found = read_regions([text], skip_bad=skip_bad, may_miscount=may_miscount)
    return found.regions.with_tagset(read.regions.tagset)


def _by_tenths(doing: Callable[[str], None]) -> Callable[[str, float], None]:
    """Progress in steps of ten percent."""
    last = [""]

    def tell(text: str, share: float) -> None:
        line = f"{text}: {10 * int(10 * share)} %"
        if line != last[0]:
            last[0] = line
            doing(line)

    return tell
