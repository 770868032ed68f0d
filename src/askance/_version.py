"""The version, where everything can read it without the names of the whole package."""

__version__ = "0.2.0"
