"""The report: one HTML file that needs nothing else, with every experiment that was run into a folder."""

from __future__ import annotations

import base64
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from askance import __version__
from askance.experiments.catalogue import EXPERIMENTS
from askance.experiments.experiment import Experiment, Plain
from askance.experiments.runner import read_result, render
from askance.formats.disk import as_path, read_whole, write_whole
from askance.tables import Table

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
# Colours by role, light and dark. Figures are drawn on white; on a dark page they are turned inside out, hues kept. The
# figures of a report are narrow: side by side on a wide page, one below the other on a phone.
#: Light and dark, readable on a phone.
STYLE = """
:root{color-scheme:light dark;--ground:#fff;--text:#1d1d1f;--soft:#5c5c66;--line:#d9d9e0;--panel:#f5f5f8;
--agrees:#00694d;--differs:#a84300;--beyond:#005a8f}
@media(prefers-color-scheme:dark){:root{--ground:#16171a;--text:#e8e8ea;--soft:#a8a9b3;--line:#3a3b42;--panel:#212227;
--agrees:#4fd0a6;--differs:#ff9a5c;--beyond:#7cc4f5}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem 1rem 4rem;max-width:52rem;background:var(--ground);color:var(--text);
font:1rem/1.55 system-ui,sans-serif;overflow-wrap:break-word}
h1{font-size:1.7rem;line-height:1.2}h2{margin-top:3.2rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.6rem 0 .4rem}a{color:var(--beyond)}
.soft,figcaption{color:var(--soft);font-size:.9rem}
.wide{overflow-x:auto;max-width:100%;margin:1.2rem 0}figure{margin:1.2rem 0}figure .wide{margin:0 0 .3rem}
figure img{display:block;width:100%;min-width:34rem;height:auto;background:#fff;border-radius:.4rem}
table{border-collapse:collapse;min-width:min(100%,26rem);font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding-bottom:.3rem}
th,td{padding:.28rem .9rem .28rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th[scope=row]{font-weight:normal}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:.5rem 1.5rem;
margin:1.2rem 0}
.figures figure{margin:0}.figures img{min-width:0}
ul{padding-left:1.1rem}li{margin:.5rem 0}.why{display:block}
.agrees{color:var(--agrees)}.differs{color:var(--differs)}.beyond{color:var(--beyond)}
.label{display:inline-block;padding:0 .5rem;border:1px solid currentColor;border-radius:1rem;font-size:.82rem}
pre{overflow-x:auto;background:var(--panel);padding:.7rem;border-radius:.4rem;font-size:.82rem}
.command{white-space:pre-wrap}
@media(min-width:70rem){.figures{margin-inline:-7rem}}
@media(max-width:40rem){picture img{min-width:0}table{font-size:.75rem}th,td{padding-right:.38rem}}
@media(prefers-color-scheme:dark){figure img{filter:invert(.91) hue-rotate(180deg)}}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dd{margin:0;min-width:0}
""".strip()


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


def html_document(title: str, about: str, parts: Sequence[str]) -> str:
    """A self-contained page: a title and what it is about, which are escaped, then parts that are HTML already."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(about)}</p>",
            *parts,
            "</body>",
            "</html>",
            "",
        ]
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


def figure_html(name: str, content: bytes, title: str, caption: str = "", narrow: bytes | None = None) -> str:
    """A picture (PNG) within the page, with words for those who cannot see it: a caption, or title and name.

    Args:
        name: of the figure.
        content: the picture.
        title: of what it belongs to.
        caption: instead of title and name.
        narrow: the picture for phones, if it is another.
    """
    words = caption or f"{title}: {name.replace('_', ' ').replace('-', ' ')}"
    image = f'<img src="{_within(content)}" alt="{escape(words)}">'
    if narrow is not None:
        image = f'<picture><source media="(max-width:40rem)" srcset="{_within(narrow)}">{image}</picture>'
    return f'<figure><div class="wide">{image}</div><figcaption>{escape(words)}</figcaption></figure>'


def _within(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def table_html(table: Table) -> str:
    """A table that can be pushed aside where it is too wide; everything in it is escaped."""
    return f'<div class="wide">{table.to_html()}</div>'


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
