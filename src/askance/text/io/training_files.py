"""What a tagger learns from: regions, labelled sentences of any kind, and text of which nothing is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from askance.errors import AskanceError, InputError
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.regions import RegionCounts
from askance.text.io.annotation_spans import Scheme
from askance.text.io.annotation_tools import read_annotations
from askance.text.io.lines import OpenText, Source, byte_lines, name_of
from askance.text.io.region_file import RegionFile, read_regions
from askance.text.io.tagged_text import read_sentences, read_tagged
from askance.text.io.text_format import format_within, tool_of_format

# The tag of words outside of entities, where nobody says otherwise.
_OUTSIDE = "O"

# What to do about text in which labels are looked for.
NO_TAGS = "Give words and their tags in columns that are separated by tabs (.tsv); plain text (.txt) has no tags."


@dataclass
class LabelledFiles:
    """How labelled files are read, and what was left out of them."""

    tag_column: str | None  # of TSV, CoNLL-U and JSON lines
    scheme: Scheme | None = None  # of spans; None: by the tag set
    outside: str | None = None  # the tag of words without a span; None: "O" with bio, else none
    skip_bad: bool = False  # leave texts of annotation tools that cannot be read out, instead of stopping at the first
    left_out: int = 0  # how many annotations were left out, in all files that were read
    messages: list[str] = field(default_factory=list)  # why, file by file
    tools: int = 0  # how many of the files were those of annotation tools

    def read(self, source: Source, tagset: Sequence[str]) -> Corpus:
        """The sentences and their tags, in a tag set of their own; that of the regions tells how spans are read."""
        text = OpenText(source)
        tool = tool_of_format(format_within(text))
        if tool is None or self.tag_column is not None:  # which a tool's file has not, as `read_tagged` will say
            return read_tagged(text, tag_column=self.tag_column)
        scheme = self.scheme or ("bio" if _are_entities(tagset) else "plain")
        outside = self.outside or (_OUTSIDE if scheme == "bio" else None)
        file = read_annotations(text, tool=tool, scheme=scheme, outside=outside, skip_bad=self.skip_bad)
        self.tools += 1
        if file.n_left_out:
            self.left_out += file.n_left_out
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in file.left_out.items())
            self.messages += [f"{text.name}: {reasons}, left out", *file.messages]
        return file.corpus


def _are_entities(tagset: Sequence[str]) -> bool:
    """Whether all tags are B-…, I-… or O, and some are no O.

    >>> _are_entities(["B-PER", "I-PER", "O"]), _are_entities(["O"]), _are_entities(["DT", "O"])
    (True, False, False)
    """
    entities = {tag for tag in tagset if tag[:2] in ("B-", "I-") and len(tag) > 2}
    return bool(entities) and set(tagset) - entities <= {_OUTSIDE}


def require_region_files(paths: Sequence[Path]) -> None:
    """Refuse a file that is given twice, and text that holds no regions."""
    for number, path in enumerate(paths):
        if any(_are_same(path, other) for other in paths[:number]):
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


def require_apart(dev: Path | None, learned: Sequence[Path]) -> None:
    """Refuse to stop training by what it learns from."""
    if dev is not None and any(_are_same(dev, path) for path in learned):
        raise InputError(
            f"--dev {dev} is one of the files to learn from.", remedy="Hold sentences out that stand in no other file."
        )


def _are_same(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)


def join_known(
    read: RegionFile | None,
    labels: LabelledFiles,
    labelled: Sequence[Path],
    bare: Sequence[Path],
    *,
    weight: float = 1.0,
    doing: Callable[[str], None] = lambda _: None,
) -> RegionCounts:
    """All that is known: regions, whose tag set is that of all, labelled sentences, and bare ones.

    Without regions all tags of the labelled sentences are the tag set. A label counts as much as regions of this
    weight; `doing` is told what is being read.
    """
    tagset, corpora = () if read is None else read.regions.tagset, []
    for path in labelled:
        doing(f"reading {path}")
        corpora.append(labels.read(path, tagset))
    if read is None:
        if labels.tools and labels.scheme is None:
            raise InputError(
                "--scheme is missing, and no regions tell how spans become tags.",
                remedy="Give --scheme bio where they mark names, --scheme plain where each marks a word and its tag.",
            )
        tagset = tuple(sorted({tag for corpus in corpora for tag in corpus.tagset}))
    parts = [] if read is None else [read.regions]
    for path, corpus in zip(labelled, corpora, strict=True):
        parts.append(_labels_in(corpus, path, tagset).with_weight(weight))
    for path in bare:
        doing(f"reading {path}")
        parts.append(RegionCounts.of(read_sentences(path), tagset, []))
    return RegionCounts.join(parts)


def labels_of(source: Source, labels: LabelledFiles, tagset: tuple[str, ...]) -> RegionCounts:
    """Labelled sentences as regions of the same tag set."""
    return _labels_in(labels.read(source, tagset), name_of(source), tagset)


def _labels_in(corpus: Corpus, path: str | Path, tagset: tuple[str, ...]) -> RegionCounts:
    """The labels of sentences that were read."""
    unknown = sorted(set(corpus.tagset) - set(tagset))
    if unknown:
        raise InputError(
            f"{path} has the tag {unknown[0]!r}, which the regions do not know; allowed: one tag set.",
            remedy="Choose another --tag-column (or --scheme), name all tags in the first line of the regions, or call "
            'such tags what the regions call all others (in Python corpus.with_rest(tagset, "other")).',
        )
    if corpus.tags is None:
        raise InputError(f"{path} has no tags.", remedy=NO_TAGS)
    known = RegionCounts.of_labels(corpus.with_tagset(tagset))
    if not len(known):
        raise InputError(f"{path} has no labels.", remedy="Choose another --tag-column, or leave the file out.")
    return known


def held_out_regions(
    path: Path, labels: LabelledFiles, tagset: tuple[str, ...], skip_bad: bool, may_miscount: bool
) -> RegionCounts:
    """Regions, or labelled sentences where the file is no file of regions."""
    text = OpenText(path)
    if format_within(text) != "jsonl":  # askance's own JSON lines may hold regions, labels, or both
        return labels_of(text, labels, tagset)
    file = read_regions([text], skip_bad=skip_bad, may_miscount=may_miscount)
    return file.regions.with_tagset(tagset)
