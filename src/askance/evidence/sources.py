"""Which files of reports a tally holds, by digests of their content: none of them counts twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from askance.errors import IncompatibleEvidenceError

#: Bytes of a digest: two different files have the same by an accident of one in 10¹⁸ among 10⁹ of them.
SOURCE_BYTES = 16
#: One row group of a Parquet file of which not all are read: digest of the file, its number, and how many there are.
RowGroup: TypeAlias = tuple[bytes, int, int]
#: One part of files that are split by a digest of the id: its number, and how many there are.
IdPart: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Sources:
    """What a tally was added up from, as far as it is known.

    Attributes:
        files: digests of files of reports.
        row_groups: those of files that were read in part; a file of which all are there is one of `files`.
        id_parts: those that were read, of files that are split by id. Ids were compared within each part alone, so a
            tally that has not all of them is added only to one that has others; with all of them, there are none here.

    >>> first, second = (Sources(row_groups=frozenset({(b"file", i, 2)})) for i in range(2))
    >>> first.joined(second).files
    frozenset({b'file'})
    """

    files: frozenset[bytes] = frozenset()
    row_groups: frozenset[RowGroup] = frozenset()
    id_parts: frozenset[IdPart] = frozenset()

    def __len__(self) -> int:
        return len(self.files | {digest for digest, _, _ in self.row_groups})

    def joined(self, other: Sources) -> Sources:
        """What both hold; refused where they share something that would count twice."""
        twice = self.files & other.files | self._within(other) | other._within(self)
        twice |= {digest for digest, _, _ in self.row_groups & other.row_groups}
        if twice:
            files = f"{len(twice):,} file{'s' if len(twice) > 1 else ''}"
            raise IncompatibleEvidenceError(
                f"both hold the reports of {files}, which would count twice.",
                remedy="Add up states that were made from different files of reports.",
            )
        require_apart(self.id_parts, other.id_parts)
        return Sources(
            self.files | other.files, self.row_groups | other.row_groups, self.id_parts | other.id_parts
        ).completed()

    def _within(self, whole: Sources) -> frozenset[bytes]:
        return frozenset(digest for digest, _, _ in self.row_groups if digest in whole.files)

    def completed(self) -> Sources:
        """The same, with files of which all row groups are there as files, and without id parts where all are there."""
        counts = Counter((digest, of) for digest, _, of in self.row_groups)
        whole = {digest for (digest, of), count in counts.items() if count == of}
        open_parts = self.id_parts if len(self.id_parts) < max((of for _, of in self.id_parts), default=0) else ()
        rest = frozenset(group for group in self.row_groups if group[0] not in whole)
        return Sources(self.files | whole, rest, frozenset(open_parts))


#: Of a tally that nobody read from files.
NO_SOURCES = Sources()


def require_apart(one: frozenset[IdPart], other: frozenset[IdPart]) -> None:
    """Refuse parts of which one id may be in both, where some part is missing still."""
    if not (one or other):
        return
    names = [", ".join(f"{part}/{of}" for part, of in sorted(parts)) or "of no part" for parts in (one, other)]
    if one & other or len({of for _, of in one | other}) > 1 or not (one and other):
        raise IncompatibleEvidenceError(
            f"the ids of one are {names[0]}, of the other {names[1]}: reports may be in both, and would count twice.",
            remedy="Add up the states of all parts of one split first, each part once; the sum goes with any other.",
        )
