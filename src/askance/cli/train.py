"""`askance train`: a tagger from counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from askance.cli.output import print_json, print_table
from askance.cli.outputs import refuse_inputs
from askance.cli.progress import one_line_warnings, progress
from askance.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from askance.text.region_file import RegionFile
    from askance.text.regions import RegionCounts

_FILE = click.Path(path_type=Path)
# Files of labelled sentences, rather than of regions.
_LABELLED = (".tsv", ".tab", ".conllu")


@click.command("train", short_help="Train a tagger from counts of tags.")
@click.argument("regions", type=_FILE, nargs=-1, required=True)
@click.option("-o", "--output", metavar="MODEL", type=_FILE, required=True, help="where the tagger goes")
@click.option("--method", metavar="NAME", default="node", show_default=True, help="node or moments")
@click.option("--dev", metavar="FILE", type=_FILE, help="regions, or labelled sentences, that stop training in time")
@click.option("--labelled", metavar="FILE", type=_FILE, multiple=True, help="labelled sentences to learn from as well")
@click.option("--tag-column", metavar="NAME|NUMBER", help="of labelled .tsv and .conllu files")
@click.option("--l2", type=float, help="λ of the penalty λ/2 ‖θ‖²  [default: 0.3 to 1, by what was asked]")
@click.option("--seed", type=int, default=0, show_default=True, help="of methods with chance; the two here have none")
@click.option("--skip-bad", is_flag=True, help="leave bad lines out and count them, instead of stopping at the first")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def train_command(
    regions: tuple[Path, ...],
    output: Path,
    method: str,
    dev: Path | None,
    labelled: tuple[Path, ...],
    tag_column: str | None,
    l2: float | None,
    seed: int,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Train a tagger on REGIONS, files of counts (regions/1, JSON lines; `askance regions` makes such files).

    Examples:

        askance train regions.jsonl -o tagger.askance

        askance train regions.jsonl --labelled few.tsv --dev dev.jsonl -o tagger.askance
    """
    from askance.text.region_file import read_regions
    from askance.text.regions import RegionCounts
    from askance.text.tagger import CountTagger

    tagger = CountTagger(method, l2=l2)  # type: ignore[arg-type]
    _refuse_idle(method, dev, labelled, tag_column, seed)
    refuse_inputs(output, [*regions, *labelled, *([] if dev is None else [dev])])
    with one_line_warnings(), progress() as doing:
        doing("reading regions")
        read = read_regions(regions, skip_bad=skip_bad)
        parts = [read.regions]
        for path in labelled:
            doing(f"reading {path}")
            parts.append(_labels_of(path, tag_column, read))
        held_out = None if dev is None else _held_out(dev, tag_column, read, skip_bad)
        tagger.fit(RegionCounts.join(parts), held_out=held_out, progress=_by_tenths(doing))
        doing("writing")
        tagger.save(output)
    training = tagger.training
    assert training is not None
    if as_json:
        print_json({"output": str(output), "left_out": read.n_bad, **training.to_json()})
        return
    rows = [
        ("method", training.method),
        ("regions", f"{training.regions:,}"),
        ("labelled tokens", f"{training.labelled_tokens:,}"),
        ("tags", f"{len(tagger.tagset)}: {', '.join(tagger.tagset[:12])}{', …' if len(tagger.tagset) > 12 else ''}"),
        ("tokens in them", f"{training.tokens:,}"),
        ("different words", f"{training.types:,}"),
        ("features", f"{training.features:,}"),
        ("iterations", f"{training.iterations}{'' if training.converged else ' (not converged)'}"),
    ]
    if training.method == "node":
        rows.append(("exact regions", f"{training.exact_regions:,}"))
        rows.append(("log-likelihood per region", f"{training.log_likelihood:.4f}"))
    if dev is not None and training.method == "node":
        stopped = " (stopped early)" if training.stopped_early else ""
        rows.append(("held out, per region", f"{training.held_out:.4f}{stopped}"))
    rows.append(("lines left out", f"{read.n_bad:,}"))
    print_table(f"tagger written to {output}", ["", ""], rows)
    for message in read.messages:
        click.echo(f"note: {message}")


def _refuse_idle(method: str, dev: Path | None, labelled: tuple[Path, ...], tag_column: str | None, seed: int) -> None:
    """Flags that would do nothing."""
    if seed < 0:
        raise InputError(f"--seed is {seed}; allowed: 0 or more.", remedy="Leave it out.")
    if dev is not None and method == "moments":
        raise InputError("--dev is given with --method moments, which stops by itself.", remedy="Leave --dev out.")
    if tag_column is not None and not labelled and dev is None:
        raise InputError("--tag-column is given without --labelled or --dev.", remedy="Regions need none.")


def _labels_of(path: Path, tag_column: str | None, read: RegionFile) -> RegionCounts:
    """Labelled sentences as regions of the same tag set."""
    from askance.text.regions import RegionCounts
    from askance.text.tagged_text import read_tagged

    corpus = read_tagged(path, tag_column=tag_column)
    unknown = sorted(set(corpus.tagset) - set(read.regions.tagset))
    if unknown:
        raise InputError(
            f"{path} has the tag {unknown[0]!r}, which the regions do not know; allowed: one tag set.",
            remedy="Choose another --tag-column, or name all tags in the first line of the regions.",
        )
    labels = RegionCounts.of_labels(corpus.with_tagset(read.regions.tagset))
    if not len(labels):
        raise InputError(f"{path} has no labels.", remedy="Choose another --tag-column, or leave the file out.")
    return labels


def _held_out(path: Path, tag_column: str | None, read: RegionFile, skip_bad: bool) -> RegionCounts:
    from askance.text.region_file import read_regions

    endings = [suffix for suffix in path.suffixes if suffix != ".gz"]
    if endings and endings[-1] in _LABELLED:
        return _labels_of(path, tag_column, read)
    return read_regions([path], skip_bad=skip_bad).regions.with_tagset(read.regions.tagset)


def _by_tenths(doing: Callable[[str], None]) -> Callable[[str, float], None]:
    """Progress in steps of ten percent."""
    last = [""]

    def tell(text: str, share: float) -> None:
        line = f"{text}: {10 * int(10 * share)} %"
        if line != last[0]:
            last[0] = line
            doing(line)

    return tell
