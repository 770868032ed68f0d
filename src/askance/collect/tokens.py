"""Access tokens: 128 random bits each, told to one respondent, kept as hashes."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from askance._checks import as_count
from askance.collect.addresses import origin_of
from askance.collect.campaign import Campaign
from askance.errors import InputError
from askance.formats.disk import as_path, whole_file

#: Bytes of a token.
TOKEN_BYTES = 16
#: Characters of a token as people see it.
TOKEN_LETTERS = 26
_LINK_REMEDY = "Tokens are written behind a # of their own. Write https://survey.example/."
#: Tokens that are made at a time.
MOST_TOKENS = 1_000_000


def new_tokens(count: int) -> list[str]:
    """Fresh tokens from the system's source of randomness, in small letters and digits.

    >>> [len(token) for token in new_tokens(2)]
    [26, 26]
    """
    number = as_count(count, "count", minimum=1, maximum=MOST_TOKENS)
    return [written(secrets.token_bytes(TOKEN_BYTES)) for _ in range(number)]


def written(token: bytes) -> str:
    """A token as people see it: base 32, small letters.

    >>> written(bytes(16))
    'aaaaaaaaaaaaaaaaaaaaaaaaaa'
    """
    return base64.b32encode(token).decode().rstrip("=").lower()


def read_token(text: object) -> bytes | None:
    """The bytes of a token; None for what is none. Capitals, blanks and hyphens make no difference.

    >>> read_token("AAAA-aaaaaaaaaaaaaaaaaaaaaa") == bytes(16), read_token("short")
    (True, None)
    """
    if not isinstance(text, str):
        return None
    plain = text.replace("-", "").replace(" ", "").upper()
    if len(plain) != TOKEN_LETTERS or not plain.isascii():
        return None
    try:
        token = base64.b32decode(plain + "=" * (-TOKEN_LETTERS % 8))
    except ValueError:
        return None
    return token if written(token) == plain.lower() else None  # the last letter has bits to spare


def require_link(link: str) -> bool:
    """Refuse what people could not follow: nobody is to print slips of it. Whether it opens on this machine alone.

    >>> require_link("https://survey.example/"), require_link("http://127.0.0.1:8000/")
    (False, True)
    """
    from askance.collect.server.serve import is_loopback

    if "#" in link or any(character.isspace() for character in link):
        raise InputError(argument="link", got=link, allowed="an address without # and blanks", remedy=_LINK_REMEDY)
    return is_loopback(urlsplit(origin_of(link, "link")).hostname or "")


def write_tokens(path: str | Path, campaign: Campaign, tokens: Sequence[str], link: str) -> None:
    """Write tokens with their links, whole or not at all: a table (.csv) or a sheet to print and cut (.html).

    A token stands behind the # of its link: browsers keep that part to themselves, so that no log of a server or a
    proxy has it.
    """
    target = as_path(path)
    if target.suffix.lower() not in (".csv", ".html"):
        raise InputError(
            argument="output", got=str(path), allowed="a name that ends in .csv or .html", remedy="Write tokens.csv."
        )
    links = [f"{link}#{token}" for token in tokens]
    if target.suffix.lower() == ".csv":
        rows = [f"{token},{place}" for token, place in zip(tokens, links, strict=True)]
        _write(target, "\n".join(["token,link", *rows, ""]))
        return
    title = escape(campaign.text(campaign.titles))
    slips = "".join(
        f"<section><h2>{title}</h2><p>{escape(place.partition('#')[0])}</p><p><code>{_grouped(token)}</code></p>"
        "<p>This code lets one person answer once. Nobody notes who got which.</p></section>"
        for token, place in zip(tokens, links, strict=True)
    )
    _write(target, _SHEET % {"title": title, "slips": slips})


def _write(path: Path, text: str) -> None:
    """A file that only its owner may read: whoever has a token can answer."""
    with whole_file(path) as file:
        os.chmod(file.fileno(), 0o600)
        file.write(text.encode())


def _grouped(token: str) -> str:
    return "-".join(token[i : i + 5] for i in range(0, len(token), 5))


_SHEET = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>%(title)s</title>
<style>
body { font: 12pt sans-serif; margin: 0; display: grid; grid-template-columns: 1fr 1fr; }
section { border: 1px dashed #888; padding: 8mm; break-inside: avoid; }
h2 { font-size: 12pt; margin: 0; } code { font-size: 13pt; }
</style>
%(slips)s
</html>
"""
