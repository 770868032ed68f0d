"""Experiments: each a module with a frozen config, a result that is plain JSON, and a plot made from it alone."""
