"""Intervals that hold at all looks at once, while reports come in."""
