"""What tests of experiments share: a small experiment, the command, and a strict reader of reports."""

from __future__ import annotations

import io
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from matplotlib.figure import Figure

from askance.cli import main
from askance.experiments.experiment import Data, Experiment, Finding, Plain, Trial
from askance.experiments.tables import text_table
from askance.tables import Table


def noisy_square(value: int, seed: int) -> Plain:
    return {"square": value**2, "noise": float(np.random.default_rng(seed).normal())}


def fail(value: int) -> Plain:
    raise ArithmeticError(f"{value} is too much")


def not_json() -> Plain:
    return math.nan


def wait(path: str, seconds: float) -> Plain:
    Path(path).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(seconds)
    return 0


class Squares(Experiment):
    """Squares with noise: everything an experiment has, in milliseconds."""

    name, title, description = "squares", "Squares & <noise>", "What squares are. <script>alert(1)</script>"

    def __init__(self, *, extra: Sequence[Trial] = (), fingerprint: str = "0", clock: float | None = None) -> None:
        self.extra, self.fingerprint, self.clock = extra, fingerprint, clock

    def config(self, *, quick: bool, seed: int) -> dict[str, Plain]:
        return {"values": (1, 2) if quick else (1, 2, 3), "seed": seed}

    def data(self, config: Mapping[str, Plain]) -> Sequence[Data]:
        return [Data("numbers & co", "stand-in", "generated <here>", self.fingerprint)]

    def trials(self, config: Mapping[str, Plain]) -> Sequence[Trial]:
        own = [
            Trial(f"value-{value}", noisy_square, {"value": value, "seed": config["seed"] + value}, cost=value)
            for value in config["values"]
        ]
        return [*own, *self.extra]

    def collect(self, config: Mapping[str, Plain], outcomes: Mapping[str, Plain]) -> dict[str, Plain]:
        measured = {} if self.clock is None else {"measured_seconds": self.clock}
        squares = [outcomes[f"value-{value}"] for value in config["values"]]
        return {"squares": squares, **measured, "order": list(outcomes)}

    def draw(self, result: Mapping[str, Plain]) -> dict[str, Figure]:
        figure = Figure(figsize=(2, 2))
        figure.subplots().plot([each["noise"] for each in result["squares"]])
        return {"squares": figure}

    def tables(self, result: Mapping[str, Plain]) -> Sequence[Table]:
        return [text_table("Squares", ("what", "value"), [("order", ", ".join(result["order"]))])]

    def main_number(self, result: Mapping[str, Plain]) -> str:
        return str(result["squares"][0]["square"])

    def findings(self, result: Mapping[str, Plain]) -> Sequence[Finding]:
        found = [
            Finding("1² < 2²", f"{result['squares'][0]['square']}", "agrees"),
            Finding("all is well", "it is not", "differs", "because of <this>"),
        ]
        if "measured_seconds" in result:
            found.insert(1, Finding("it is fast", f"{result['measured_seconds']} s", "agrees", measured=True))
        return found


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def call(*arguments: str) -> Outcome:
    """`askance reproduce …` in this process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    argv = ["askance", "reproduce", *arguments]
    with patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Outcome(code, out.getvalue(), err.getvalue())


class Balanced(HTMLParser):
    """Refuses tags that do not close in order; collects tags, addresses and texts."""

    EMPTY = ("meta", "img", "link", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action")]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
