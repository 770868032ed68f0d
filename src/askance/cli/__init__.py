"""The command line: parses, calls, prints; no mathematics."""

from askance.cli.shared.process import prepare, stop

#: Said wherever the memory ends.
NO_MEMORY = "there is not enough memory for this. Take smaller numbers, or fewer rows at a time."


def main() -> None:
    """Entry point of the `askance` command."""
    prepare()
    try:
        from askance.cli.command import run
    except MemoryError:
        stop(NO_MEMORY)
    except KeyboardInterrupt:
        stop("stopped.", 130)
    run()
