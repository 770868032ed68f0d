"""Commands around channels and reports."""
