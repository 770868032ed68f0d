"""The command line: parses, calls, prints; no mathematics."""


def main() -> None:
    """Entry point of the `askance` command."""
    from askance.cli.command import run

    run()
