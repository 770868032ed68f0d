"""What is kept on disk: versioned, checked, never unpickled, never evaluated."""

from askance.formats.channel_file import channel_to_toml, read_answer_channel, read_channel
from askance.formats.files import load, save
from askance.formats.fit_file import fit_to_json
from askance.formats.report_schema import line_schema, report_header, report_line
from askance.formats.reports import (
    Aggregation,
    aggregate,
    iterate_reports,
    read_reports,
    report_writer,
    write_reports,
)

__all__ = [
    "Aggregation",
    "aggregate",
    "channel_to_toml",
    "fit_to_json",
    "iterate_reports",
    "line_schema",
    "load",
    "read_answer_channel",
    "read_channel",
    "read_reports",
    "report_header",
    "report_line",
    "report_writer",
    "save",
    "write_reports",
]
