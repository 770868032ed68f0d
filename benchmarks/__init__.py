"""Benchmarks: askance against its peers, and against its own targets. See README.md."""
