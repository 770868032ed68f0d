"""The report: one HTML file that needs nothing else, with every experiment that was run into a folder."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from askance._version import __version__
from askance.experiments.catalogue import EXPERIMENTS
from askance.experiments.experiment import Experiment, Plain
from askance.experiments.runner import read_result, render
from askance.formats.disk import as_path, read_whole, write_whole
from askance.formats.html_page import figure_html, html_document, table_html

TITLE = "Estimation from indirect supervision, reproduced"
_ABOUT = (
    "The figures of “Estimation from Indirect Supervision with Linear Moments” (Raghunathan, Frostig, Duchi and Liang, "
    "2016), computed again with askance. For each figure: what it shows, what agrees with the paper, what does not and "
    "why, and what goes beyond it. Every plotted number is in result.json beside the pictures, and the pictures are "
    "drawn from it alone."
)
_VERDICTS = {
    "agrees": "Agrees with the paper",
    "differs": "Does not agree, and why",
    "beyond": "Beyond the paper",
}
_COUNTED = {"agrees": "agreeing with the paper", "differs": "differing from it", "beyond": "beyond it"}
_SOURCES = {
    "real": "real data",
    "simulated": "simulated data",
    "stand-in": "stand-in data: not the data of the paper",
}


def write_report(out: str | os.PathLike[str]) -> Path:
    """Write `report.html` on every experiment with a result in the folder.

    Returns:
        where it is.
    """
    folder = Path(as_path(out))
    contents, sections = [], []
    for name in EXPERIMENTS:
        path = folder / name / "result.json"
        if path.is_file():
            experiment, document = EXPERIMENTS[name], read_result(path, name)
            contents.append(in_short(experiment, document))
            sections.append(section(experiment, document, _pictures(experiment, document, path.parent)))
    path = folder / "report.html"
    write_whole(path, page(contents, sections).encode())
    return path


def page(contents: Sequence[str], sections: Sequence[str]) -> str:
    """The whole document: what is in it, item by item, then the sections."""
    version = f'<p class="soft">askance {escape(__version__)}</p>'
    return html_document(TITLE, _ABOUT, [version, f"<ul>{''.join(contents)}</ul>", *sections])


def in_short(experiment: Experiment, document: Mapping[str, Plain]) -> str:
    """An item that leads to a section: its title, the number to remember, and how many findings agree."""
    verdicts = [finding["verdict"] for finding in document["findings"]]
    counts = ", ".join(f"{words} {verdicts.count(key)}" for key, words in _COUNTED.items() if key in verdicts)
    name, title = escape(str(document["experiment"])), escape(str(document["title"]))
    return (
        f'<li><a href="#{name}">{title}</a>: {escape(experiment.main_number(document["result"]))}. '
        f'<span class="soft">Findings: {escape(counts)}.</span></li>'
    )


def section(experiment: Experiment, document: Mapping[str, Plain], pictures: Mapping[str, bytes]) -> str:
    """One experiment: figures, numbers, findings, data, and how to run it again.

    Args:
        experiment: for its description and tables.
        document: what its `result.json` holds.
        pictures: PNG files by name without ending.
    """
    name = str(document["experiment"])
    quick = ["<p><strong>A quick run</strong>: fewer trials than the full one, and rougher.</p>"]
    lines = [
        f'<section id="{escape(name)}">',
        f"<h2>{escape(str(document['title']))}</h2>",
        *(f"<p>{escape(paragraph)}</p>" for paragraph in experiment.description.splitlines()),
        *(quick if document["quick"] else []),
        '<div class="figures">',
        *(
            figure_html(key, content, str(document["title"]), experiment.captions.get(key, ""))
            for key, content in pictures.items()
        ),
        "</div>",
        *(table_html(table) for table in experiment.tables(document["result"])),
        *_findings(document["findings"]),
        *_data(document["data"]),
        *_origin(document),
        "</section>",
    ]
    return "\n".join(lines)


def _findings(findings: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for verdict, heading in _VERDICTS.items():
        these = [finding for finding in findings if finding["verdict"] == verdict]
        if not these:
            continue
        yield f'<h3 class="{verdict}">{escape(heading)}</h3>'
        yield "<ul>"
        for finding in these:
            why = f' <span class="soft why">Why: {escape(finding["why"])}</span>' if finding["why"] else ""
            yield f"<li><strong>{escape(finding['claim'])}</strong> {escape(finding['found'])}{why}</li>"
        yield "</ul>"


def _data(data: Sequence[Mapping[str, str]]) -> Iterator[str]:
    yield "<h3>Data</h3>"
    if not data:
        yield "<p>No data set: everything is computed or simulated from the config below.</p>"
        return
    yield "<ul>"
    for data_set in data:
        label = f'<span class="label {"differs" if data_set["source"] == "stand-in" else "beyond"}">'
        source = _SOURCES.get(data_set["source"], data_set["source"])
        yield (
            f"<li><strong>{escape(data_set['name'])}</strong> {label}{escape(source)}</span> "
            f"{escape(data_set['note'])} "
            f'<span class="soft">Fingerprint {escape(data_set["fingerprint"][:16])}…</span></li>'
        )
    yield "</ul>"


def _origin(document: Mapping[str, Plain]) -> Iterator[str]:
    config = json.dumps(document["config"], ensure_ascii=False, indent=1)
    yield "<h3>To run it again</h3>"
    yield f'<pre class="command">{escape(command(document))}</pre>'
    facts = [f"<dt>{key}</dt><dd>{escape(str(document[key]))}</dd>" for key in ("seed", "version")]
    yield f"<dl>{''.join(facts)}</dl>"
    yield f"<details><summary>config</summary><pre>{escape(config)}</pre></details>"


def command(document: Mapping[str, Plain]) -> str:
    """The command that gives this result again.

    >>> command({"experiment": "simplex", "quick": True, "seed": 3})
    'askance reproduce simplex --quick --seed 3'
    """
    words = ["askance", "reproduce", str(document["experiment"]), *(["--quick"] if document["quick"] else [])]
    return shlex.join([*words, "--seed", str(document["seed"])])


def _pictures(experiment: Experiment, document: Mapping[str, Plain], folder: Path) -> dict[str, bytes]:
    """The figures of a result as PNG; where they are not on disk they are drawn."""
    files = {key: folder / f"{key}.png" for key in experiment.draw(document["result"])}
    if all(path.is_file() for path in files.values()):
        return {key: read_whole(path) for key, path in files.items()}
    return {key.removesuffix(".png"): content for key, content in render(experiment, document, ("png",)).items()}
