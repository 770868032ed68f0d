"""What is kept on disk: versioned, checked, never unpickled, never evaluated."""

from askance.formats.aggregation import Aggregation as Aggregation
from askance.formats.aggregation import aggregate as aggregate
from askance.formats.channel_file import channel_to_toml as channel_to_toml
from askance.formats.channel_file import read_answer_channel as read_answer_channel
from askance.formats.channel_file import read_channel as read_channel
from askance.formats.files import load as load
from askance.formats.files import save as save
from askance.formats.fit_file import fit_to_json as fit_to_json
from askance.formats.places import RowGroups as RowGroups
from askance.formats.report_schema import line_schema as line_schema
from askance.formats.report_schema import report_header as report_header
from askance.formats.report_schema import report_line as report_line
from askance.formats.reports import iterate_reports as iterate_reports
from askance.formats.reports import read_reports as read_reports
from askance.formats.reports import report_writer as report_writer
from askance.formats.reports import write_reports as write_reports
from askance.formats.table_file import write_table as write_table
