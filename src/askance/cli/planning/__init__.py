"""Commands before any data exist."""
