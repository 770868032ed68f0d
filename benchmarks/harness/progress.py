"""What is going on, on standard error: a status line on a terminal, plain lines elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status


class Progress:
    """Says what runs now; use it as a context manager."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status: Status | None = self._console.status("starting") if self._console.is_terminal else None

    def say(self, text: str) -> None:
        """Replace the status line, or print one more line."""
        if self._status is not None:
            self._status.update(text)
        else:
            self._console.print(text, markup=False, soft_wrap=True)

    def complain(self, text: str) -> None:
        """A message that stays."""
        self._console.print(text, markup=False, soft_wrap=True, style="bold red")

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
