"""Estimates of a wide family, kept as data: what a change of the inside must leave as it is."""
