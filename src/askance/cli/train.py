"""`askance train`: a tagger from counts, labels, or both."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from askance.cli.labelled import LabelledFiles, outside_option, scheme_option
from askance.cli.output import print_json, print_table
from askance.cli.outputs import refuse_inputs
from askance.cli.progress import one_line_warnings, progress
from askance.errors import AskanceError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from askance.text.annotation_spans import Scheme
    from askance.text.miscounts import Miscounts
    from askance.text.region_file import RegionFile
    from askance.text.regions import RegionCounts
    from askance.text.tagger import CountTagger

_FILE = click.Path(path_type=Path)


@click.command("train", short_help="Train a tagger from counts of tags.")
@click.argument("regions", type=_FILE, nargs=-1, required=True)
@click.option("-o", "--output", metavar="MODEL", type=_FILE, required=True, help="where the tagger goes")
@click.option("--method", metavar="NAME", default="auto", show_default=True, help="auto, chain, node or moments")
@click.option("--dev", metavar="FILE", type=_FILE, help="regions, or labelled sentences, that stop training in time")
@click.option("--labelled", metavar="FILE", type=_FILE, multiple=True, help="labelled sentences to learn from as well")
@click.option("--labelled-weight", metavar="W", type=float, help="of each label  [default: 1]")
@click.option(
    "--bare",
    metavar="FILE",
    type=_FILE,
    multiple=True,
    help="text without tags, for classes of words that a chain uses",
)
@click.option("--bare-weight", metavar="W", type=float, help="of each bare sentence  [default: 1]")
@click.option("--tag-column", metavar="NAME|NUMBER", help="of labelled .tsv and .conllu files")
@scheme_option
@outside_option
@click.option("--radius", metavar="N", type=int, help="words around that a chain looks at  [default: 0 or 1, by size]")
@click.option("--edges", metavar="NAME", help="of a chain: likelihood or cheap  [default: by size]")
@click.option(
    "--miscounts",
    metavar="M,Q",
    help="counts may be wrong: a token is missed with probability M, one counted too many with Q; or `estimate`",
)
@click.option("--l2", type=float, help="λ of the penalty λ/2 ‖θ‖²  [default: 0.3 to 1, by what was asked]")
@click.option("--l1", type=float, default=0.0, show_default=True, help="μ of the penalty μ ‖θ‖₁ of a chain")
@click.option("--seed", type=int, default=0, show_default=True, help="of methods with chance; those here have none")
@click.option("--skip-bad", is_flag=True, help="leave bad lines out and count them, instead of stopping at the first")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def train_command(
    regions: tuple[Path, ...],
    output: Path,
    method: str,
    dev: Path | None,
    labelled: tuple[Path, ...],
    labelled_weight: float | None,
    bare: tuple[Path, ...],
    bare_weight: float | None,
    tag_column: str | None,
    scheme: Scheme | None,
    outside: str | None,
    radius: int | None,
    edges: str | None,
    miscounts: str | None,
    l2: float | None,
    l1: float,
    seed: int,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Train a tagger on REGIONS, files of counts (regions/1, JSON lines; `askance regions` makes such files).

    Examples:

        askance train regions.jsonl -o tagger.askance

        askance train regions.jsonl --labelled few.tsv --dev dev.jsonl -o tagger.askance

        askance train regions.jsonl --miscounts estimate --radius 1 -o tagger.askance

        askance train regions.jsonl --labelled export.jsonl --scheme bio --outside O -o tagger.askance
    """
    from askance.text.region_file import read_regions
    from askance.text.tagger import CountTagger
    from askance.text.word_classes import WORD_CLASSES

    _refuse_idle(method, edges, dev, seed)
    _refuse_alone(
        {
            "--labelled or --dev": (
                {"--tag-column": tag_column, "--scheme": scheme, "--outside": outside},
                labelled or dev,
            ),
            "--labelled": ({"--labelled-weight": labelled_weight}, labelled),
            "--bare": ({"--bare-weight": bare_weight}, bare),
        }
    )
    _refuse_chain_options(
        method, {"--radius": radius is not None, "--edges": edges is not None, "--l1": l1 > 0, "--bare": bare}
    )
    tagger = CountTagger(
        method,  # type: ignore[arg-type]
        l2=l2,
        l1=l1,
        radius=radius,
        edges=edges,  # type: ignore[arg-type]
        miscounts=_read_miscounts(miscounts),
        classes=WORD_CLASSES if bare else (),
        bare_weight=1.0 if bare_weight is None else bare_weight,
    )
    refuse_inputs(output, [*regions, *labelled, *bare, *([] if dev is None else [dev])])
    _require_place(output)
    _check_region_files(regions)
    labels = LabelledFiles(tag_column, scheme, outside, skip_bad)
    with one_line_warnings(), progress() as doing:
        doing("reading regions")
        read = read_regions(regions, skip_bad=skip_bad, may_miscount=miscounts is not None)
        known = _joined(read, labelled, 1.0 if labelled_weight is None else labelled_weight, bare, labels, doing)
        held_out = None if dev is None else _held_out(dev, labels, read, skip_bad, miscounts is not None)
        labels.refuse_idle()
        tagger.fit(known, held_out=held_out, progress=_by_tenths(doing))
        doing("writing")
        tagger.save(output)
    left_out = read.n_bad + labels.left_out
    if as_json:
        assert tagger.training is not None
        rates = {name: {"missed": m.missed, "extra": m.extra} for name, m in _rates(tagger).items()}
        print_json({"output": str(output), "left_out": left_out, **tagger.training.to_json(), "miscounts": rates})
        return
    print_table(f"tagger written to {output}", ["", ""], [*_rows(tagger), ("left out", f"{left_out:,}")])
    for message in (*read.messages, *labels.messages):
        click.echo(f"note: {message}")


def _rows(tagger: CountTagger) -> list[tuple[str, str]]:
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
        ("features", f"{training.features:,}"),
    ]
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
    for name, rates in _rates(tagger).items():
        who = f"{name} miscounts" if name else "miscounts"
        rows.append((who, f"{100 * rates.missed:.1f} % missed, {100 * rates.extra:.1f} % one too many"))
    return rows


def _rates(tagger: CountTagger) -> dict[str, Miscounts]:
    """Miscounts by annotator, "" for all."""
    from askance.text.miscounts import Miscounts

    used = tagger.miscounts_used
    return {} if used is None else {"": used} if isinstance(used, Miscounts) else dict(used)


def _read_miscounts(text: str | None) -> Miscounts | Literal["estimate"] | None:
    from askance.text.miscounts import Miscounts

    if text is None:
        return None
    if text == "estimate":
        return "estimate"
    try:
        missed, extra = map(float, text.split(","))
    except ValueError:
        raise InputError(
            f"--miscounts is {text!r}; allowed: two probabilities such as 0.05,0.02, or 'estimate'.",
            remedy="Give how often a token is missed, and how often one is counted too many.",
        ) from None
    return Miscounts(missed, extra)


def _refuse_idle(method: str, edges: str | None, dev: Path | None, seed: int) -> None:
    """Flags that would do nothing."""
    if seed < 0:
        raise InputError(f"--seed is {seed}; allowed: 0 or more.", remedy="Leave it out.")
    other = "--method moments" if method == "moments" else "--edges cheap" if edges == "cheap" else None
    if dev is not None and other is not None:
        raise InputError(f"--dev is given with {other}, which stops by itself.", remedy="Leave --dev out.")


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


def _require_place(output: Path) -> None:
    """Refuse what cannot be written, before hours of training."""
    from askance.formats.disk import regular_target

    folder = regular_target(output).parent
    if not folder.is_dir():
        raise InputError(f"cannot write {output}: {folder} is no folder.", remedy="Choose a folder that exists.")
    if not os.access(folder, os.W_OK):
        raise InputError(
            f"cannot write {output}: {folder} is closed to you.", remedy="Choose a place where you may write."
        )


def _check_region_files(paths: tuple[Path, ...]) -> None:
    """Refuse a file that is given twice, and text that holds no regions."""
    from askance.text.lines import byte_lines
    from askance.text.text_format import format_within

    for number, path in enumerate(paths):
        if any(path.exists() and other.exists() and path.samefile(other) for other in paths[:number]):
            raise InputError(f"{path} is given twice.", remedy="Give every file once; weights make regions count more.")
        try:
            kind = format_within(path, None)
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
    read: RegionFile,
    labelled: tuple[Path, ...],
    weight: float,
    bare: tuple[Path, ...],
    labels: LabelledFiles,
    doing: Callable[[str], None],
) -> RegionCounts:
    """All that is known: regions, labels of that weight, and sentences of which nothing is."""
    from askance.text.regions import RegionCounts

    parts = [read.regions]
    for path in labelled:
        doing(f"reading {path}")
        parts.append(_labels_of(path, labels, read).with_weight(weight))
    for path in bare:
        doing(f"reading {path}")
        parts.append(_nothing_of(path, read))
    return RegionCounts.join(parts)


def _nothing_of(path: Path, read: RegionFile) -> RegionCounts:
    """Sentences of which nothing is known, within the same tag set."""
    from askance.text.regions import RegionCounts
    from askance.text.tagged_text import read_sentences

    return RegionCounts.of(read_sentences(path), read.regions.tagset, [])


def _labels_of(path: Path, labels: LabelledFiles, read: RegionFile) -> RegionCounts:
    """Labelled sentences as regions of the same tag set."""
    from askance.text.regions import RegionCounts

    corpus = labels.read(path, read.regions.tagset)
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
    from askance.text.region_file import read_regions
    from askance.text.text_format import format_within

    if format_within(path, None) != "jsonl":  # askance's own JSON lines may hold regions, labels, or both
        return _labels_of(path, labels, read)
    found = read_regions([path], skip_bad=skip_bad, may_miscount=may_miscount)
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
