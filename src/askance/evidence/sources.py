"""Which files of reports a tally holds, by digests of their content: none of them counts twice."""

from __future__ import annotations

from typing import TypeAlias

from askance.errors import IncompatibleEvidenceError

#: Digests of files of noised reports.
Sources: TypeAlias = frozenset[bytes]
#: Bytes of a digest: two different files have the same by an accident of one in 10¹⁸ among 10⁹ of them.
SOURCE_BYTES = 16


def joined(one: Sources, other: Sources) -> Sources:
    """The files of both; refused where they share some, whose reports would count twice."""
    shared = len(one & other)
    if shared:
        raise IncompatibleEvidenceError(
            f"both hold the reports of {shared:,} file{'s' if shared > 1 else ''}, which would count twice.",
            remedy="Add up states that were made from different files of reports.",
        )
    return one | other
