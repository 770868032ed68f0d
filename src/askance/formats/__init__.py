"""What is kept on disk: versioned, checked, never unpickled, never evaluated."""

from askance.formats.channel_file import channel_to_toml, read_answer_channel, read_channel
from askance.formats.files import load, save
from askance.formats.fit_file import fit_to_json

__all__ = ["channel_to_toml", "fit_to_json", "load", "read_answer_channel", "read_channel", "save"]
