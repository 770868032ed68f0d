"""Writes docs/reproduce.md and its pictures from the results of a full run, which are kept in docs/reproduced/.

askance reproduce all --out DIR --seed 0         # with ASKANCE_DATA set
python docs/tools/reproduced.py DIR              # keeps its results, writes the page and the pictures
python docs/tools/reproduced.py                  # writes them again from what is kept
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from askance.experiments.catalogue import EXPERIMENTS
from askance.experiments.report import command
from askance.experiments.runner import read_result, render
from askance.formats.disk import write_whole
from askance.tables import Table

DOCS = Path(__file__).resolve().parents[1]
KEPT = DOCS / "reproduced"
PAGE = DOCS / "reproduce.md"
#: Which of the figures the page shows, and what they show in words.
SHOWN: Mapping[str, Mapping[str, str]] = {
    "efficiency": {"efficiency": "Efficiency of moments falls as less truth is told, more for the strong signal"},
    "simplex": {"moment_lines": "The family as a curve in the triangle of distributions, crossed by moment lines"},
    "nonconvex": {"expected": "The log-likelihood has two maxima; paths of EM end at one or the other"},
    "privacy": {
        "california": "R² against the privacy level on California housing, the paper's schemes and ours",
        "songs-many": "R² against the privacy level on simulated songs of 463,715 people, for all schemes",
    },
    "tagging": {
        "over-passes": "Accuracy over passes at four sizes of regions, the paper's estimators and those of askance",
        "over-seconds": "The same accuracy over processor seconds",
    },
}
#: The page has fewer figures than the report and speaks of those it has: what a description says, the page instead.
SPOKEN: Mapping[str, Mapping[str, str]] = {
    "efficiency": {"a second figure compares channels of equal privacy": "tables compare channels of equal privacy"},
    "simplex": {"The second figure shows": "The figure shows"},
    "nonconvex": {
        "The first figure uses the frequencies that are expected, the second a sample.": (
            "The figure uses the frequencies that are expected."
        )
    },
}
#: Whose tables the page shows; rows of numbers in the findings below them are cut to their ends.
TABULATED = ("efficiency", "privacy", "tagging")
_AT = r"\S+ at level [\d.]*\d"
_LEVELS = re.compile(rf"({_AT})(?:, {_AT}){{2,}}, ({_AT})")
_VERDICTS = {"agrees": "Agrees", "differs": "Differs", "beyond": "New"}
_HEAD = """\
# The paper, reproduced

`askance reproduce all --out DIR` computes every figure of the paper again, beside what askance does, and writes one
page, `report.html`, with all figures and tables. Results are plain JSON with seed, version and the fingerprint of the
data; the same seed gives the same digits. `--quick` takes about a minute, on generated data where real ones are not at
hand (and says so).

This page is made from a full run that is kept in `docs/reproduced/`. In italics stands what the
paper says, or what is new; then what was found, and why it differs where it does. Misprints are collected under
[deviations](deviations.md).
"""


def page_of(documents: Mapping[str, Mapping[str, Any]]) -> str:
    """The page in Markdown."""
    return _HEAD + "".join(part for name, document in documents.items() for part in _section(name, document))


def _section(name: str, document: Mapping[str, Any]) -> Iterator[str]:
    yield f"\n## {document['title']}\n\n{_paragraphs(name)}\n"
    for figure, words in SHOWN[name].items():
        yield f"\n![{words}](pictures/reproduce-{name}-{figure}.svg)\n"
    if name in TABULATED:
        yield from map(_table, EXPERIMENTS[name].tables(document["result"]))
    yield "\n"
    for finding in document["findings"]:
        why = f" *Why:* {finding['why']}" if finding["why"] else ""
        yield f"- **{_VERDICTS[finding['verdict']]}** · *{finding['claim']}* {_cut(finding['found'] + why)}\n"
    for data in document["data"]:
        yield f"\n*{data['name']}* ({data['source']}): {data['note']}\n"
    yield f"\n`{command(document)}`, askance {document['version']}.\n"


def _paragraphs(name: str) -> str:
    text = EXPERIMENTS[name].description
    for said, instead in SPOKEN.get(name, {}).items():
        if said not in text:
            raise ValueError(f"the description of {name} no longer says {said!r}")
        text = text.replace(said, instead)
    return text.replace("\n", "\n\n")


def _table(table: Table) -> str:
    lines = [[column.name for column in table.columns], ["---", *["--:"] * (len(table.columns) - 1)], *table.rows]
    return f"\n{table.title}:\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cut(text: str) -> str:
    """Of four or more values by level only the first and the last: the rest is in the tables."""
    return _LEVELS.sub(r"\1 … \2", text)


def kept() -> dict[str, dict[str, Any]]:
    """The results that are kept, in the order of the catalogue."""
    return {name: read_result(KEPT / name / "result.json", name) for name in EXPERIMENTS}


def main() -> None:
    """Keep a run where one is given; write the page and its pictures."""
    if len(sys.argv) > 1:
        for name in EXPERIMENTS:
            (KEPT / name).mkdir(parents=True, exist_ok=True)
            for file in sorted((Path(sys.argv[1]) / name).glob("*.json")):
                shutil.copyfile(file, KEPT / name / file.name)
    documents = kept()
    write_whole(PAGE, page_of(documents).encode())
    for name, figures in SHOWN.items():
        drawn = render(EXPERIMENTS[name], documents[name], ["svg"])
        for figure in figures:
            write_whole(DOCS / "pictures" / f"reproduce-{name}-{figure}.svg", drawn[f"{figure}.svg"])
    print(json.dumps({name: document["seed"] for name, document in documents.items()}))


if __name__ == "__main__":
    main()
