"""`askance train`: a tagger from counts, labels, or both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from askance.cli.shared.engines import ENGINE_OPTION, PLACE, named_engine
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, NUMBER, Number, Read, WholeNumber, option, read_number
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import OutputFile
from askance.cli.text.labelled_options import refuse_idle, span_options, tag_column_option
from askance.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from askance.text.corpus.regions import RegionCounts
    from askance.text.counts.held_regions import HeldRegions
    from askance.text.counts.identifiability import Unsettled
    from askance.text.counts.miscounts import Miscounts
    from askance.text.tagger.tagger import CountTagger


def _read_miscounts(text: str) -> Miscounts | Literal["estimate"]:
    """Two probabilities, or `estimate`."""
    from askance.text.counts.miscounts import Miscounts

    if text == "estimate":
        return "estimate"
    missed, extra = map(read_number, text.split(","))
    return Miscounts(missed, extra)


_MISCOUNTS = Read(
    _read_miscounts,
    "two probabilities such as 0.05,0.02, or 'estimate'",
    "Give how often a token is missed, and how often one is counted too many.",
)
_CLASSES = Read(
    lambda text: () if text == "none" else tuple(int(size) for size in text.split(",")),
    "whole numbers such as 10 or 40,150, or 'none'",
    "Leave it out.",
)


@command(
    "train",
    "Train a tagger from counts of tags.",
    sections={
        "More to learn from": [
            *("labelled", "labelled_weight", "bare", "bare_weight", "classes", "tag_column", "scheme", "outside")
        ],
        "How it is learned": ["method", "miscounts", "radius", "edges", "l2", "l1", "engine"],
    },
    needs={
        **dict.fromkeys(("tag_column", "scheme", "outside"), ("labelled", "dev")),
        "labelled_weight": ("labelled",),
        "bare_weight": ("bare",),
    },
    examples=[
        "askance train regions.jsonl -o tagger.askance",
        "askance train regions.jsonl --labelled few.tsv --dev dev.jsonl -o tagger.askance",
        "askance train regions.jsonl --miscounts estimate --radius 1 -o tagger.askance",
        "askance train --labelled export.jsonl --scheme bio --outside O -o tagger.askance",
        "askance train 'day=*/*.jsonl' --method node --engine dask://scheduler:8786 -o tagger.askance",
    ],
)
@click.argument("regions", type=PLACE, nargs=-1)
@option("-o, --output MODEL", "where the tagger goes", OutputFile("tagger"), required=True)
@option(
    "--dev FILE", "regions or labelled sentences to learn nothing from: training stops when it gets worse on them", FILE
)
@option("--skip-bad", "leave bad lines out and count them, instead of stopping at the first")
@JSON
@option(
    "--labelled FILE", "labelled sentences to learn from, beside regions or alone (repeatable)", FILE, multiple=True
)
@option(
    "--labelled-weight W",
    "how many regions each label counts for, 0 or more  [default: 1]",
    Number(low=0, high=1e12, remedy="1 is usual."),
)
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
    _CLASSES,
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
    _MISCOUNTS,
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
    "--l1 μ", "strength of the penalty μ ‖θ‖₁ of a chain, 0 or more: scores not worth it become 0", NUMBER, default=0
)
@ENGINE_OPTION
def train_command(regions: tuple[Path | str, ...], output: Path, dev: Path | None, **flags: Any) -> None:
    """Train a tagger on REGIONS, files of counts (regions/1, JSON lines), on labelled sentences, or on both.

    A region is a stretch of a sentence with the number of times that tags appear in it. `askance questions --read`
    makes such files from filled sheets, `askance regions` from labelled text. `askance tag` uses the tagger, `askance
    evaluate` measures it. There is no chance in training: the same files give the same tagger.

    With --engine, taggers without edges (--method node or moments) are trained where files are; REGIONS may then be
    folders, patterns in quotes and addresses as well.
    """
    from askance.text.corpus.word_classes import WORD_CLASSES
    from askance.text.tagger.tagger import CountTagger
    from askance.text.tagger.training import training_as_json, training_rows

    if not regions and (flags["engine"] is not None or not flags["labelled"]):
        raise InputError("REGIONS is missing.", remedy="Give files of counts, or labelled sentences with --labelled.")
    _refuse_combinations(dev, flags)
    if flags["classes"] is None:
        flags["classes"] = WORD_CLASSES if flags["bare"] else ()
    for name in ("labelled_weight", "bare_weight"):
        flags[name] = 1.0 if flags[name] is None else flags[name]
    named = {name: flags[name] for name in ("l2", "l1", "radius", "edges", "miscounts", "classes")}
    tagger = CountTagger(flags["method"], **named, bare_weight=flags["bare_weight"])
    with working("reading regions") as doing, named_engine(flags["engine"]) as engine:
        if engine is None:
            read = _read_here(regions, dev, flags, doing)
        else:
            read = _read_on(engine, tagger, regions, dev, flags)
        tagger.fit(read.known, held_out=read.held_out, progress=_by_tenths(doing))
        doing("writing")
        tagger.save(output)
        unsettled = read.unsettled()
    content = {"output": str(output), "left_out": read.left_out, **training_as_json(tagger, unsettled)}
    rows = [*training_rows(tagger, unsettled), ("left out", f"{read.left_out:,}")]
    notes = [f"note: {message}" for message in read.messages]
    show(Card(f"tagger written to {output}", rows, content), below=notes)


class _Read(NamedTuple):
    """What a tagger learns from, what stops it, and what was left out of both, with reasons."""

    known: RegionCounts | HeldRegions
    held_out: RegionCounts | None
    left_out: int
    messages: tuple[str, ...]

    def unsettled(self) -> Unsettled | None:
        """What counts leave open of words; not looked for where an engine holds them."""
        from askance.text.corpus.regions import RegionCounts
        from askance.text.tagger.training import left_open

        return left_open(self.known) if isinstance(self.known, RegionCounts) else None


def _read_here(
    regions: tuple[Path | str, ...], dev: Path | None, flags: dict[str, Any], doing: Callable[[str], None]
) -> _Read:
    from askance.text.io.region_file import read_regions
    from askance.text.io.training_files import (
        LabelledFiles,
        held_out_regions,
        join_known,
        require_apart,
        require_region_files,
    )

    require_region_files([path for path in regions if isinstance(path, Path)])
    require_apart(dev, [path for path in (*regions, *flags["labelled"]) if isinstance(path, Path)])
    skip_bad, may_miscount = flags["skip_bad"], flags["miscounts"] is not None
    labels = LabelledFiles(flags["tag_column"], flags["scheme"], flags["outside"], skip_bad)
    read = read_regions(regions, skip_bad=skip_bad, may_miscount=may_miscount) if regions else None
    weight = flags["labelled_weight"]
    known = join_known(read, labels, flags["labelled"], flags["bare"], weight=weight, doing=doing)
    held_out = None if dev is None else held_out_regions(dev, labels, known.tagset, skip_bad, may_miscount)
    refuse_idle(labels)
    left_out, messages = (0, ()) if read is None else (read.n_bad, read.messages)
    return _Read(known, held_out, left_out + labels.left_out, (*messages, *labels.messages))


def _read_on(
    engine: Any, tagger: CountTagger, regions: tuple[Path | str, ...], dev: Path | None, flags: dict[str, Any]
) -> _Read:
    from askance.text.io.training_files import held_out_regions
    from askance.text.tagger.held_files import TrainingFiles

    how = {name: flags[name] for name in ("tag_column", "scheme", "outside", "labelled_weight", "skip_bad")}
    may_miscount = flags["miscounts"] is not None
    files = TrainingFiles(regions, flags["labelled"], **how, may_miscount=may_miscount)
    known, labels = tagger.hold(files, engine), files.labels()
    held_out = None if dev is None else held_out_regions(dev, labels, known.tagset, flags["skip_bad"], may_miscount)
    left_out, messages = known.summary.left_out + labels.left_out, sorted(known.summary.messages)
    return _Read(known, held_out, left_out, (*messages, *labels.messages))


def _refuse_combinations(dev: Path | None, flags: dict[str, Any]) -> None:
    """Options that would do nothing beside others."""
    method = flags["method"]
    other = "--method moments" if method == "moments" else "--edges cheap" if flags["edges"] == "cheap" else None
    if dev is not None and other is not None:
        raise InputError(f"--dev is given with {other}, which stops by itself.", remedy="Leave --dev out.")
    unused = {"radius": None, "edges": None, "l1": 0, "bare": (), "classes": ()}
    idle = [name for name, value in unused.items() if flags[name] not in (None, value)]
    if idle and method in ("node", "moments"):
        raise InputError(
            f"--{idle[0]} is given with --method {method}, which is no chain.", remedy="Leave it out, or train a chain."
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
