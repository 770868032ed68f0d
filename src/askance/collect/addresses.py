"""Addresses of servers, as people give them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from askance.errors import InputError


def origin_of(address: str, argument: str, schemes: Sequence[str] = ("http", "https"), *, alone: bool = False) -> str:
    """Scheme and host of an address; where it must stand alone, anything more is refused.

    >>> origin_of("https://collect.example.org/", "server")
    'https://collect.example.org'
    """
    try:
        parts = urlsplit(address)
        _ = parts.port  # which is read when it is asked for
    except ValueError:
        parts = urlsplit("")
    more = parts.path.removeprefix("/") + parts.query + parts.fragment
    if parts.scheme not in schemes or not re.fullmatch(r"[A-Za-z0-9.:\[\]-]+", parts.netloc) or (alone and more):
        raise InputError(
            argument=argument,
            got=address,
            allowed=f"{' or '.join(schemes)}, and a host",
            remedy="Write https://collect.example.org.",
        )
    return f"{parts.scheme}://{parts.netloc}"
