"""`python -m benchmarks`."""

from benchmarks.command import main

main(prog_name="python -m benchmarks")
