"""Reports of channels on statistics: see `askance.channels.reports`."""

from askance.channels.reports import Column, Reports, require_reports

__all__ = ["Column", "Reports", "require_reports"]
