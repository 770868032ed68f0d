"""What a command says on standard error while it works."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

# Work that takes longer than this many seconds says that it is still at it.
_PATIENCE = 2.0


@contextmanager
def one_line_warnings() -> Iterator[list[str]]:
    """Warnings as single lines on standard error, after the work; the list holds them from then on, for --json."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield told
    told += dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)
    for text in told:
        click.echo(f"askance: warning: {text}", err=True)


@contextmanager
def working(step: str = "working") -> Iterator[tuple[list[str], Callable[[str], None]]]:
    """Both: the list of warnings, and what is called with every further step of the work."""
    with one_line_warnings() as told, progress() as doing:
        doing(step)
        yield told, doing


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Say on standard error what is being done, once it has taken long enough to wonder."""
    from rich.console import Console

    console = Console(stderr=True)
    status = console.status("working")
    late = threading.Event()
    step = ["working"]

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
