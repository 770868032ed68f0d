"""Files that a tagger learns from, read by an engine: nothing of them comes here but sums over types and tags."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from askance._arrays import AnyArray
from askance._checks import shown
from askance._words import words
from askance.errors import InputError
from askance.evidence.protocols import require_engine
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.held_part import Preparation
from askance.text.counts.held_regions import HeldRegions

if TYPE_CHECKING:
    from askance.evidence.protocols import Engine
    from askance.text.io.training_files import LabelledFiles

_Place: TypeAlias = str | PathLike[str]
# At most so many files are read as one part.
_FILES = 16


@dataclass(frozen=True)
class TrainingFiles:
    """Files that a tagger learns from on an engine, and how they are read.

    Attributes:
        regions: files of counts (regions/1): names, patterns, folders or addresses.
        labelled: labelled text.
        tag_column: its column of tags, as in `read_tagged`.
        scheme: how spans become tags, as in `read_annotations`; None: "bio" where all known tags are of it.
        outside: the tag of words without a span, as in `read_annotations`; None: "O" with "bio", else none.
        labelled_weight: how many regions each label counts for.
        skip_bad: leave bad lines out, instead of stopping at the first.
        may_miscount: accept counts that do not fit together.

    >>> TrainingFiles.of(["monday.jsonl", "tuesday.tsv.gz"]).labelled
    ('tuesday.tsv.gz',)
    """

    regions: tuple[_Place, ...] = ()
    labelled: tuple[_Place, ...] = ()
    tag_column: str | None = None
    scheme: Literal["plain", "bio"] | None = None
    outside: str | None = None
    labelled_weight: float = 1.0
    skip_bad: bool = False
    may_miscount: bool = False

    @classmethod
    def of(cls, files: object) -> TrainingFiles:
        """Files by their names: what ends in .jsonl or .ndjson holds regions, all else is labelled text."""
        if isinstance(files, TrainingFiles):
            return files
        several = isinstance(files, Iterable) and not isinstance(files, str)
        listed: list[Any] = list(files) if several else [files]  # type: ignore[call-overload]
        if not all(isinstance(file, (str, PathLike)) for file in listed):
            raise InputError(
                words("{engine} is given with {0}; allowed: with names of files.", shown(files)),
                remedy=words("Leave {engine} out, or write the regions to files: write_regions(path, regions)."),
            )
        counted = [file for file in listed if {".jsonl", ".ndjson"} & set(Path(file).suffixes)]
        return cls(tuple(counted), tuple(file for file in listed if file not in counted))

    def listed(self) -> list[_Part]:
        """Every file as others find it, and whether it is labelled text."""
        from askance.formats.places import RowGroups, listed_places

        parts = []
        for is_labelled, places in ((False, self.regions), (True, self.labelled)):
            for place in listed_places(map(_text, places)) if places else ():
                assert not isinstance(place, RowGroups)
                parts.append((is_labelled, str(place.absolute()) if isinstance(place, Path) else place))
        return parts

    def labels(self) -> LabelledFiles:
        """What reads labelled text."""
        from askance.text.io.training_files import LabelledFiles

        return LabelledFiles(self.tag_column, self.scheme, self.outside, self.skip_bad)


#: Whether a file is labelled text, and where it is.
_Part: TypeAlias = tuple[bool, str]


def _text(place: _Place) -> str | Path:
    return place if isinstance(place, (str, Path)) else Path(place)


@dataclass(frozen=True)
class _Reading:
    """Reads a file where it is, and makes it ready."""

    files: TrainingFiles
    tagset: tuple[str, ...]
    how: Preparation

    def __call__(self, parts: tuple[_Part, ...]) -> tuple[AnyArray, ...]:
        known, left_out, messages = zip(*map(self._read, parts), strict=True)
        return self.how(RegionCounts.join(known), sum(left_out), tuple(chain.from_iterable(messages)))

    def _read(self, part: _Part) -> tuple[RegionCounts, int, tuple[str, ...]]:
        from askance.text.io.region_file import read_region_part
        from askance.text.io.training_files import labels_of

        is_labelled, place = part
        if not is_labelled:
            read = read_region_part(place, self.tagset, self.files.skip_bad, self.files.may_miscount)
            return read.regions, read.n_bad, read.messages
        labels = self.files.labels()
        known = labels_of(place, labels, self.tagset).with_weight(self.files.labelled_weight)
        return known, labels.left_out, tuple(labels.messages)


def require_offered(method: str, miscounts: object) -> None:
    """Refuse what engines cannot be asked for, before a file is read."""
    if method not in ("node", "moments"):
        raise InputError(
            words(
                "{engine} is given with method {0}; allowed: with 'node' and 'moments', which have no edges.",
                repr(method),
            ),
            remedy=words("Take {method=node}, or leave {engine} out: chains are trained in memory."),
        )
    if miscounts == "estimate":
        raise InputError(
            words("{miscounts=estimate} is given with {engine}; allowed: rates that are known."),
            remedy="Estimate them from some of the files first: estimate_miscounts(regions).",
        )


def hold_files(files: TrainingFiles, engine: Engine, how: Preparation) -> HeldRegions:
    """Files as regions that an engine holds: a pass for the tags, unless first lines state them, and one to read."""
    require_engine(engine)
    parts = files.listed()
    if not parts:
        raise InputError("no files are given.", remedy="Give files of counts, or of labelled text.")
    tagset = _tagset(files, parts, engine)
    return HeldRegions(engine.hold(_grouped(parts, engine), _Reading(files, tagset, how)), tagset, how)


def _grouped(parts: list[_Part], engine: Engine) -> list[tuple[_Part, ...]]:
    """Files that are held together, one group for every worker: each sends tables of its types in every pass.

    How files are grouped changes no bit.
    """
    workers = getattr(engine, "workers", 0)
    count = min(max(workers, -(-len(parts) // _FILES)), len(parts)) if workers else len(parts)
    return [tuple(parts[first::count]) for first in range(count)]


def _tagset(files: TrainingFiles, parts: list[_Part], engine: Engine) -> tuple[str, ...]:
    """As `read_regions` finds it: what files of regions state, or all tags of theirs; of labels, where there is nothing
    else."""
    from askance.text.io.region_file import common_tags

    counted = [part for part in parts if not part[0]]
    if counted:
        stated = common_tags(sorted(engine.fold(counted, _stated_tags, _union)))
        if stated is not None:
            return stated
    return tuple(sorted(engine.fold(counted or parts, partial(_used_tags, files=files), _union)))


def _stated_tags(part: _Part) -> set[tuple[str, tuple[str, ...]]]:
    from askance.text.io.region_file import stated_tags

    tags = stated_tags(part[1])
    return set() if tags is None else {(part[1], tags)}


def _used_tags(part: _Part, files: TrainingFiles) -> set[str]:
    from askance.text.io.region_file import read_region_part

    if part[0]:
        return set(files.labels().read(part[1], ()).tagset)
    return set(read_region_part(part[1], None, files.skip_bad, files.may_miscount).regions.tagset)


def _union(one: set[Any], other: set[Any]) -> set[Any]:
    return one | other
