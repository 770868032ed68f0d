"""`askance report`: what one attaches to a paper, from a saved fit."""

from __future__ import annotations

from pathlib import Path

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON_SUMMARY, confidence_option, option
from askance.cli.shared.printing import Text, show
from askance.cli.shared.write_guards import OutputFile
from askance.cli.survey.saved_fits import read_fit


@command(
    "report",
    "A page on a saved fit, to attach to a paper.",
    examples=[
        "askance report survey.fit -o report.html",
        'askance report survey.fit -o report.html --title "Smoking in three towns"',
    ],
)
@click.argument("fit", type=FILE)
@option("-o, --output FILE", "where the page goes (.html)", OutputFile("text", ".html"), required=True)
@option("--title WORDS", "of the page  [default: the formula]", default="")
@confidence_option()
@JSON_SUMMARY
def report_command(fit: Path, output: Path, title: str, confidence: float) -> None:
    """Write a page on the fit in the file FIT: design, privacy level, estimates, shares, checks and a figure.

    The page is one HTML file that needs nothing else and asks nothing of the network. Shares, effects and tests are
    those that `askance fit --save` kept; a file holds no respondents, from which others could be computed.
    """
    from askance.survey.report import write_report

    saved = read_fit(fit)
    write_report(saved, output, title, confidence)
    content = {"report": str(output), "fit": str(fit), "tables": [table.title for table in saved.kept_tables]}
    show(Text(f"report on {fit}: {output}", content))
