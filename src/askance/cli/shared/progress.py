"""What a command says on standard error while it works."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import click

# Work that takes longer than this many seconds says that it is still at it.
_PATIENCE = 2.0
# Where the context of a command keeps what it was warned of.
_TOLD = "askance.warnings"


@contextmanager
def working(step: str = "working", *, in_json: bool = True) -> Iterator[Callable[[str], None]]:
    """`progress`, and warnings as single lines on standard error after the work; `show` puts them into JSON, too."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with progress(step) as doing:
            yield doing
    told += tell_warnings(caught)
    if in_json:
        click.get_current_context().meta[_TOLD] = told


def tell_warnings(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """Warnings, each once, as single lines on standard error."""
    told = list(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))
    for text in told:
        click.echo(f"askance: warning: {text}", err=True)
    return told


def warnings_told() -> dict[str, list[str]]:
    """For programs: what `working` warned of; nothing where it did not run."""
    meta = click.get_current_context().meta
    return {"warnings": meta[_TOLD]} if _TOLD in meta else {}


@contextmanager
def progress(start: str = "working") -> Iterator[Callable[[str], None]]:
    """Say on standard error what is being done, once it has taken long enough to wonder.

    What is yielded is called with every further step of the work.
    """
    from rich.console import Console

    console = Console(stderr=True)
    status = console.status(start)
    late = threading.Event()
    step = [start]

    def speak_up() -> None:
        late.set()
        if console.is_terminal:
            status.start()
        else:
            console.print(f"askance: {step[0]} …", highlight=False, soft_wrap=True)

    def doing(text: str) -> None:
        step[0] = text
        status.update(text)
        if late.is_set() and not console.is_terminal:
            console.print(f"askance: {text} …", highlight=False, soft_wrap=True)

    timer = threading.Timer(_PATIENCE, speak_up)
    timer.daemon = True
    timer.start()
    try:
        yield doing
    finally:
        timer.cancel()
        timer.join()
        status.stop()
