"""Save and load whatever askance keeps on disk."""

from __future__ import annotations

from io import BufferedReader
from pathlib import Path
from typing import Any

from askance._checks import shown
from askance.errors import FormatError, InputError
from askance.estimation.results.field_fit import FieldFit
from askance.estimation.results.fit import DistributionFit
from askance.estimation.results.regression_fit import RegressionFit
from askance.evidence.tally import Tally, of_statistics
from askance.formats.container import MAGIC, pack, unpack, write_whole
from askance.formats.disk import opened, rest_of
from askance.formats.field_fit_file import FIELD_FORMAT, field_fit_from_parts, field_fit_to_parts
from askance.formats.fit_file import FIT_FORMAT, fit_from_json, fit_to_json
from askance.formats.report_schema import refuse_reports
from askance.formats.statistics_file import STATISTICS_FORMATS, statistics_from_parts, statistics_to_parts
from askance.formats.tally_file import TALLY_FORMATS, tally_from_parts, tally_to_parts

# Of a file, in bytes: counts of the largest channels need a fraction of it.
_LONGEST = 1 << 30


def save(thing: Tally[Any] | DistributionFit | RegressionFit | FieldFit, path: str | Path) -> None:
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
        data = pack(*(statistics_to_parts(thing) if of_statistics(thing) else tally_to_parts(thing)))
    elif isinstance(thing, DistributionFit | RegressionFit):
        data = pack(fit_to_json(thing))
    elif isinstance(thing, FieldFit):
        data = pack(*field_fit_to_parts(thing))
    else:
        raise InputError(
            f"cannot save a {type(thing).__name__}; allowed: Tally, Fit.",
            remedy="Save what Tally(…) or estimate(…) returns; write channels with "
            "channel_to_toml, reports with write_reports.",
        )
    write_whole(path, data)


def load(path: str | Path) -> Tally[Any] | DistributionFit | RegressionFit | FieldFit:
    """Read what `save` wrote (see there for an example); anything else is refused with a reason."""
    with opened(path) as file:
        return load_opened(file)


def load_opened(file: BufferedReader) -> Tally[Any] | DistributionFit | RegressionFit | FieldFit:
    """`load` from a file that is open."""
    refuse_reports(file)
    name = str(file.name)
    header, payload = unpack(rest_of(file, prefix=MAGIC, limit=_LONGEST), name)
    version = header["askance"]
    if version in TALLY_FORMATS:
        return tally_from_parts(header, payload, name)
    if version in STATISTICS_FORMATS:
        return statistics_from_parts(header, payload, name)
    if version == FIT_FORMAT:
        return fit_from_json(header, name)
    if version == FIELD_FORMAT:
        return field_fit_from_parts(header, payload, name)
    known = ", ".join(map(repr, (*TALLY_FORMATS, *STATISTICS_FORMATS, FIT_FORMAT, FIELD_FORMAT)))
    raise FormatError(
        f"{name} has format {shown(version)}; this version reads {known}.",
        remedy="Use the version of askance that wrote it.",
    )
