"""Save and load whatever askance keeps on disk."""

from __future__ import annotations

from io import BufferedReader
from pathlib import Path
from typing import Any

from askance._checks import shown
from askance.errors import FormatError, InputError
from askance.estimation.results.fit import Fit
from askance.evidence.tally import Tally
from askance.formats.container import MAGIC, pack, unpack, who_reads
from askance.formats.disk import opened, rest_of, write_whole
from askance.formats.fit_file import FIT_FORMATS, AnyFit, fit_from_parts, fit_to_parts
from askance.formats.report_schema import refuse_reports
from askance.formats.state_file import STATE_FORMATS, state_from_parts, state_to_parts

# Of a file, in bytes: counts of the largest channels need a fraction of it.
_LONGEST = 1 << 30


def save(thing: Tally[Any] | AnyFit, path: str | Path) -> None:
    """Write a tally or a fit to a file, whole or not at all.

    >>> import tempfile, pathlib
    >>> from askance import Tally, Warner
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.tally"
    >>> tally = Tally(Warner("2/3")).add(["yes", "no", "yes"])
    >>> save(tally, path)
    >>> load(path) == tally
    True
    """
    if isinstance(thing, Tally):
        data = pack(*state_to_parts(thing))
    elif isinstance(thing, Fit):
        data = pack(*fit_to_parts(thing))
    else:
        raise InputError(
            f"cannot save a {type(thing).__name__}; allowed: Tally, Fit.",
            remedy="Save what Tally(…) or estimate(…) returns; write channels with "
            "channel_to_toml, reports with write_reports.",
        )
    write_whole(path, data)


def load(path: str | Path) -> Tally[Any] | AnyFit:
    """Read what `save` wrote (see there for an example); anything else is refused with a reason."""
    with opened(path) as file:
        return load_opened(file)


def load_opened(file: BufferedReader) -> Tally[Any] | AnyFit:
    """`load` from a file that is open."""
    refuse_reports(file)
    name = str(file.name)
    header, payload = unpack(rest_of(file, prefix=MAGIC, limit=_LONGEST), name)
    version = header["askance"]
    if version in STATE_FORMATS:
        return state_from_parts(header, payload, name)
    if version in FIT_FORMATS:
        return fit_from_parts(header, payload, name)
    known = (*STATE_FORMATS, *FIT_FORMATS)
    raise FormatError(
        f"{name} has format {shown(version)}; this version reads {', '.join(map(repr, known))}.",
        remedy=who_reads(version, *known),
    )
