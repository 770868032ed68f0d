"""A campaign file to begin with: every field once, with what it means."""

from __future__ import annotations

import json
from importlib.resources import files
from string import Template
from typing import get_args

from askance._checks import one_of
from askance.collect.campaign import Kind


def start_of(kind: str, name: str, text: str | None = None) -> str:
    """The text of a commented campaign file.

    Args:
        kind: "survey", "devices" or "counting".
        name: of the campaign.
        text: path of the text in which is counted, from the folder of the file.

    >>> start_of("survey", "exams").splitlines()[4]
    'name = "exams"                   # in addresses, and of the file that keeps the answers'
    """
    chosen = one_of(kind, get_args(Kind), "kind", "Take one of them.")
    template = (files("askance.collect") / "starts" / f"{chosen}.toml").read_text(encoding="utf-8")
    return Template(template).substitute(name=name, text=json.dumps(text or "text.txt", ensure_ascii=False))
