"""Engines and places of files on the command line."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from askance.cli.shared.options import Read, option
from askance.cli.shared.progress import tell_warnings
from askance.errors import AskanceWarning

ENGINE_OPTION = option(
    "--engine NAME", "where files are read: here:PROCESSES, dask (local processes), dask://HOST:PORT, spark"
)


def named_engine(name: str | None) -> Any:
    """An engine that ends with the command; None: none is asked for. Our warnings are told before the work begins."""
    if name is None:
        return nullcontext()
    from askance.scale import engine_of

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine = engine_of(name)
    tell_warnings(warning for warning in caught if issubclass(warning.category, AskanceWarning))
    return engine


def _read_place(text: str) -> Path | str:
    """A path, or an address as it is written."""
    return text if "://" in text else Path(text)


PLACE = Read(_read_place)
